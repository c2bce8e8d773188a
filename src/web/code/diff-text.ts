import type { HttpBody } from '#gen/google/api/httpbody_pb.ts'

/** A line of a diff, with its numbers in the old and the new file. */
export interface DiffLine {
  readonly kind: 'added' | 'removed' | 'same' | 'hunk' | 'note'
  readonly text: string
  readonly oldNumber?: number
  readonly newNumber?: number
}

/** The changes of one file. */
export interface FileDiff {
  readonly path: string
  /** The path of before, if the file was renamed or copied. */
  readonly previousPath: string | undefined
  readonly change: 'added' | 'removed' | 'renamed' | 'changed'
  readonly isBinary: boolean
  readonly lines: readonly DiffLine[]
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

/** Reads a diff in Git's extended format (git-diff(1), "Generating patch text with -p"). */
export function readDiff(text: string): FileDiff[] {
  return text
    .split(/^(?=diff --git )/m)
    .filter((part) => part.startsWith('diff --git '))
    .map(readFile)
}

/** Returns the numbers at which a hunk begins, by its first line. */
export function hunkStarts(text: string): { oldStart: number; newStart: number } {
  const [, oldStart, newStart] = HUNK.exec(text) ?? []
  return { oldStart: Number(oldStart), newStart: Number(newStart) }
}

/** Returns how many lines a file gains and loses. */
export function countLines({ lines }: FileDiff): { added: number; removed: number } {
  return {
    added: lines.filter(({ kind }) => kind === 'added').length,
    removed: lines.filter(({ kind }) => kind === 'removed').length,
  }
}

/** The lines of a pointer file of Git LFS (git-lfs, docs/spec.md), without those of extensions. */
const POINTER =
  /^(version https:\/\/git-lfs\.github\.com\/spec\/v1|oid sha256:[0-9a-f]{64}|size \d{1,15})$/
const SIZE = /^size (\d+)$/

/** Sizes of a file in Git LFS before and after a change, in bytes. */
interface LfsSizes {
  readonly before: number | undefined
  readonly after: number | undefined
}

/** Returns the sizes of a file in Git LFS, if the lines that a change shows are those of a pointer. */
export function lfsSizes({ lines }: FileDiff): LfsSizes | undefined {
  const texts = lines.filter(({ kind }) => kind !== 'hunk')
  if (texts.length === 0 || !texts.every(({ text }) => POINTER.test(text))) return undefined
  const sizeOn = (side: 'removed' | 'added') => {
    const line = texts.find(({ kind, text }) => [side, 'same'].includes(kind) && SIZE.test(text))
    return line && Number(SIZE.exec(line.text)?.[1])
  }
  return { before: sizeOn('removed'), after: sizeOn('added') }
}

function readFile(part: string): FileDiff {
  const lines = part.replace(/\n$/, '').split('\n')
  const start = lines.findIndex((line) => HUNK.test(line))
  const header = start < 0 ? lines : lines.slice(0, start)
  const value = (name: string) => {
    const line = header.find((candidate) => candidate.startsWith(name))
    // Git ends a name that has a space with a tab.
    return line === undefined ? undefined : unquoted(line.slice(name.length).replace(/\t$/, ''))
  }
  const [renamedFrom, renamedTo] = [value('rename from '), value('rename to ')]
  const [copiedFrom, copiedTo] = [value('copy from '), value('copy to ')]
  const [before, after] = [withoutSide(value('--- ')), withoutSide(value('+++ '))]
  const isAdded = value('new file mode ') !== undefined
  const isRemoved = value('deleted file mode ') !== undefined
  return {
    path: renamedTo ?? copiedTo ?? after ?? before ?? pathInTitle(header[0] ?? ''),
    previousPath: renamedFrom ?? copiedFrom,
    change: isAdded ? 'added' : isRemoved ? 'removed' : renamedFrom ? 'renamed' : 'changed',
    isBinary: header.some((line) => /^(Binary files |GIT binary patch)/.test(line)),
    lines: start < 0 ? [] : readLines(lines.slice(start)),
  }
}

function readLines(lines: readonly string[]): DiffLine[] {
  let [oldNumber, newNumber] = [0, 0]
  return lines.map((line): DiffLine => {
    const text = line.slice(1)
    switch (line[0]) {
      case '+':
        return { kind: 'added', text, newNumber: newNumber++ }
      case '-':
        return { kind: 'removed', text, oldNumber: oldNumber++ }
      case '@': {
        const { oldStart, newStart } = hunkStarts(line)
        ;[oldNumber, newNumber] = [oldStart, newStart]
        return { kind: 'hunk', text: line }
      }
      case '\\':
        return { kind: 'note', text: text.trim() }
      default:
        return { kind: 'same', text, oldNumber: oldNumber++, newNumber: newNumber++ }
    }
  })
}

/** Removes the `a/` or `b/` of a path. A missing side is /dev/null. */
function withoutSide(path: string | undefined): string | undefined {
  return path === undefined || path === '/dev/null' ? undefined : path.replace(/^[ab]\//, '')
}

/** Without content, only the title has the path, twice the same. */
function pathInTitle(title: string): string {
  const names = title.slice('diff --git '.length)
  if (names.startsWith('"')) return withoutSide(unquoted(names.slice(0, names.length / 2))) ?? names
  return withoutSide(names.slice(0, (names.length - 1) / 2)) ?? names
}

const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
}

/** Reads a path that Git has quoted as in C, because of characters that are special or not ASCII. */
function unquoted(path: string): string {
  if (!/^".*"$/.test(path)) return path
  const encoder = new TextEncoder()
  const bytes = Array.from(
    path.slice(1, -1).matchAll(/\\([0-7]{3}|.)|[^\\]+/g),
    ([plain, code]) => {
      if (code === undefined) return [...encoder.encode(plain)]
      if (code.length === 3) return [Number.parseInt(code, 8)]
      return [ESCAPES[code] ?? code.charCodeAt(0)]
    },
  )
  return new TextDecoder().decode(Uint8Array.from(bytes.flat()))
}

/** A browser holds this much without a pause. The rest is for `git` and the API. */
const MAX_DIFF_BYTES = 16 * 1024 * 1024

/** Time between two looks at what has arrived. Each look draws the page anew. */
const LOOK_EVERY_MS = 200

const FILE_START = '\ndiff --git '

/** The changed files that have arrived. */
export interface DiffFiles {
  readonly files: readonly FileDiff[]
  /** Whether there are more files than a browser can hold. */
  readonly isCut: boolean
  /** Whether no more files follow. */
  readonly isComplete: boolean
}

/** Reads a streamed diff. The first files are there before the last ones arrive. */
export async function readDiffFiles(
  stream: AsyncIterable<HttpBody>,
  onArrival: (arrived: DiffFiles) => void,
): Promise<DiffFiles> {
  const decoder = new TextDecoder()
  let files: readonly FileDiff[] = []
  let rest = ''
  let bytes = 0
  let lookedAtMs = 0
  for await (const { data } of stream) {
    const known = Math.max(0, rest.length - FILE_START.length)
    rest += decoder.decode(data, { stream: true })
    bytes += data.length
    const start = rest.lastIndexOf(FILE_START)
    if (start >= known) {
      files = files.concat(readDiff(rest.slice(0, start + 1)))
      rest = rest.slice(start + 1)
      if (performance.now() - lookedAtMs > LOOK_EVERY_MS) {
        lookedAtMs = performance.now()
        onArrival({ files, isCut: false, isComplete: false })
      }
    }
    if (bytes >= MAX_DIFF_BYTES)
      return { files: files.concat(readDiff(rest)), isCut: true, isComplete: true }
  }
  rest += decoder.decode()
  return { files: files.concat(readDiff(rest)), isCut: false, isComplete: true }
}
