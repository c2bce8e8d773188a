import { execFileSync } from './programs.ts'

/**
 * A file of a tree: its content, or mode and content, or mode and the id of an object; null removes
 * it.
 */
export type ScriptedFile =
  | string
  | Buffer
  | null
  | { readonly mode: string; readonly content: string }
  | { readonly mode: string; readonly id: string }

/** A commit of a history that a test writes. */
export interface ScriptedCommit {
  /** Full name of the ref that it is put on, `refs/heads/main` by default. */
  readonly on?: string
  readonly message: string | Buffer
  /** Of the message, as the commit names it; none for UTF-8. */
  readonly encoding?: string
  /** By path; `\xff` in a path is that byte, which no UTF-8 has. */
  readonly files?: Readonly<Record<string, ScriptedFile>>
  /** Refs or ids; by default what the ref holds, if anything. */
  readonly parents?: readonly string[]
  readonly author?: string
  /** Unix seconds; by default one more than that of the commit before. */
  readonly time?: number
}

/** When the histories of tests begin, in Unix seconds. */
export const HISTORY_START = 1_770_000_000

/** Stores a history in the repository of a folder, by one git-fast-import(1). */
export function importHistory(folder: string, commits: readonly ScriptedCommit[]): void {
  let time = HISTORY_START
  const script = commits.flatMap((commit) => {
    const { on = 'refs/heads/main', message, encoding, files = {}, parents = [] } = commit
    const { author = 'Ada <ada@example.org>' } = commit
    time = commit.time ?? time + 1
    const [first, ...others] = parents
    return [
      `commit ${on}\ncommitter ${author} ${time} +0100\n`,
      ...(encoding === undefined ? [] : [`encoding ${encoding}\n`]),
      data(message),
      ...(first === undefined || first === on ? [] : [`from ${first}\n`]),
      ...others.map((parent) => `merge ${parent}\n`),
      ...Object.entries(files).map(([path, file]) => fileLine(path, file)),
      '\n',
    ]
  })
  const input = Buffer.concat(script.map((part) => Buffer.from(part)))
  execFileSync('git', ['-C', folder, 'fast-import', '--quiet', '--force'], { input })
}

function fileLine(path: string, file: ScriptedFile): string | Buffer {
  const quoted = JSON.stringify(path).replaceAll('\xff', '\\377')
  if (file === null) return `D ${quoted}\n`
  if (typeof file === 'object' && 'id' in file) return `M ${file.mode} ${file.id} ${quoted}\n`
  const [mode, content] =
    typeof file === 'object' && 'mode' in file ? [file.mode, file.content] : ['100644', file]
  return Buffer.concat([Buffer.from(`M ${mode} inline ${quoted}\n`), data(content)])
}

function data(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.from(`data ${bytes.length}\n`), bytes, Buffer.from('\n')])
}
