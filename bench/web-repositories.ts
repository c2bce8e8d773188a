import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Credentials } from './accounts.ts'
import { createRepository, git, gitReading } from './git.ts'
import { http1 } from './http1-load.ts'
import type { ServerProcess } from './processes.ts'
import { postJson } from './requests.ts'
import { sized } from './sizes.ts'

/** A repository with a pull request, whose web pages are measured. */
export interface WebRepository {
  readonly repository: string
  readonly pull: number
  readonly changedFiles: number
  /** The first folder. The pull request changes its first file. */
  readonly folder: string
}

/** What a repository consists of: folders of a hundred files, and one folder of many. */
interface Size {
  readonly folders: number
  readonly filesOfFolder: number
  readonly flatFiles: number
  /** Commits of one file each, so that entries of a folder have different last changes. */
  readonly commits: number
  readonly changedFiles: number
}

const SIZES: Readonly<Record<'small' | 'large', Size>> = {
  small: { folders: 4, filesOfFolder: 10, flatFiles: 10, commits: 10, changedFiles: 10 },
  large: {
    folders: sized(450, 4),
    filesOfFolder: sized(100, 30),
    flatFiles: sized(5000, 1010),
    commits: sized(1000, 10),
    changedFiles: sized(10_000, 100),
  },
}

export const FLAT_FOLDER = 'flat'

/** Behind the commits of the first folders, so that the last one has kept its first commit. */
const FIRST_TIME_S = 1_700_000_000

const README = `# Large

## What it is

${'A repository of many files, with a text that says so. '.repeat(20)}
`

/** Creates a repository on a server, pushes its branches, and opens the pull request. */
export async function prepareWebRepository(
  branchline: ServerProcess,
  { personalAccessToken }: Credentials,
  folder: string,
  name: keyof typeof SIZES,
): Promise<WebRepository> {
  const size = SIZES[name]
  const repository = `web-${name}`
  const url = await createRepository(branchline, personalAccessToken, repository)
  const path = join(folder, repository)
  await mkdir(path)
  await git(path, 'init', '-q', '--bare', '-b', 'main')
  await gitReading([...commitsOf(size)].join(''), path, 'fast-import', '--quiet')
  await git(path, 'push', '-q', url, 'refs/heads/*')
  const request = postJson(
    `/api/v1/repos/ada/${repository}/pulls`,
    { head: 'topic', base: 'main', title: 'Change many files' },
    { authorization: `Bearer ${personalAccessToken}` },
  )
  const { status, body } = await http1.ask(branchline.url, request)
  if (status !== 201) throw new Error(`a pull request is answered ${status}: ${body}`)
  const pull = Number(JSON.parse(body.toString()).number)
  return { repository, pull, changedFiles: size.changedFiles, folder: folderOf(0) }
}

/** Yields the commits of both branches, for git-fast-import(1). */
function* commitsOf({ folders, filesOfFolder, flatFiles, commits, changedFiles }: Size) {
  const pathOf = (index: number) =>
    `${folderOf(Math.floor(index / filesOfFolder))}/file-${digits(index % filesOfFolder, 2)}`
  const [all, flat] = [folders * filesOfFolder, flatFiles].map((count) =>
    Array.from({ length: count }, (_, i) => i),
  ) as [number[], number[]]
  yield commitOf('main', 0, [
    ['README.md', README],
    ...all.map((index) => [pathOf(index), textOf(index)] as const),
    ...flat.map((index) => [`${FLAT_FOLDER}/file-${digits(index, 4)}`, textOf(index)] as const),
  ])
  for (let i = 1; i <= commits; i++) {
    // Each second commit is in the flat folder.
    const path =
      i % 2 === 0
        ? `${FLAT_FOLDER}/file-${digits(i % flatFiles, 4)}`
        : pathOf((i * 37) % all.length)
    yield commitOf('main', i, [[path, textOf(all.length + i)]])
  }
  const changed = all.slice(0, changedFiles)
  yield `reset refs/heads/topic\nfrom refs/heads/main\n\n${commitOf(
    'topic',
    commits + 1,
    changed.map((index) => [pathOf(index), `${textOf(index)}one more line\n`]),
  )}`
}

function commitOf(
  branch: string,
  number: number,
  files: readonly (readonly [path: string, text: string])[],
): string {
  const committer = `committer Bench <bench@example.org> ${FIRST_TIME_S + number * 3600} +0000`
  const changes = files.map(([path, text]) => `M 100644 inline ${path}\n${data(text)}`)
  return `commit refs/heads/${branch}\n${committer}\n${data(`work ${number}\n`)}${changes.join('')}\n`
}

/** The lines that a file begins with. */
function textOf(index: number): string {
  return Array.from({ length: 20 }, (_, line) => `line ${line} of file ${index}\n`).join('')
}

function folderOf(index: number): string {
  return `folder-${digits(index, 3)}`
}

function digits(number: number, length: number): string {
  return String(number).padStart(length, '0')
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`
}
