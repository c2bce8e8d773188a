import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRepository, git, gitReading } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import { median } from './measure.ts'
import { table } from './report.ts'
import { postJson } from './requests.ts'
import { sized } from './sizes.ts'

const run = promisify(execFile)

/** Number of merges in each repository. The first one warms up. */
const ROUNDS = sized(16, 2)

/** Number of changed files, the same in both repositories. */
const FEW_FILES = 50
const MANY_FILES = sized(50_000, 60)
const CHANGED_FILES = 3
const FILES_OF_DIRECTORY = 10

/** Number of consecutive merges, by Branchline and by a shell. */
const MERGES = sized(200, 2)
const MERGES_AT_A_TIME = sized(50, 1)

/** Merges into as many branches at once, and how often. The first time warms up. */
const AT_ONCE = sized(32, 2)
const ROUNDS_AT_ONCE = sized(5, 2)

const PERSON = 'Bench <bench@example.org> 1700000000 +0000'

/** The configuration of the server's repositories: acknowledged changes are on the disk. */
const DURABLE = {
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'core.fsync',
  GIT_CONFIG_VALUE_0: 'committed',
}
const BATCHED = { GIT_CONFIG_KEY_1: 'core.fsyncMethod', GIT_CONFIG_VALUE_1: 'batch' }

/** Merges branches into others, pairs of which come on stdin, with a process for each step. */
const SHELL_LOOP = `
while read -r base branch; do
  tree=$(git merge-tree --write-tree "$base" "$branch") || exit 1
  commit=$(git commit-tree "$tree" -p "$base" -p "$branch" -m "Merge $branch") || exit 1
  git update-ref "refs/heads/$base" "$commit" || exit 1
done`

/** A server on which pull requests are merged. */
export type MergeServer = Pick<Servers, 'branchline' | 'credentials'>

/** A repository of Branchline and the clone that it was pushed from. */
export interface Source {
  readonly name: string
  readonly folder: string
}

/**
 * Opens pull requests and merges them, alternately in a large repository and in a small one, and
 * alternately with a shell loop in a repository of its own.
 *
 * @param folder for the pushed repositories.
 */
export async function measureMerges(servers: MergeServer, folder: string): Promise<string> {
  await mkdir(folder)
  const rates = table(
    ['Merges', 'per s', 'ratio', 'of'],
    [...(await compareWithShell(servers, folder)), ...(await compareAtOnce(servers, folder))],
  )
  return [await compareSizes(servers, folder), rates].join('\n\n')
}

/** Opening a pull request includes the mergeability check, which takes most of the time. */
async function compareSizes(servers: MergeServer, folder: string): Promise<string> {
  const few = await prepareMerges(servers, folder, `merges-${FEW_FILES}`, {
    files: FEW_FILES,
    branches: ROUNDS,
  })
  const many = await prepareMerges(servers, folder, `merges-${MANY_FILES}`, {
    files: MANY_FILES,
    branches: ROUNDS,
  })
  const rounds: Readonly<Record<'opened' | 'merged', readonly [number, number]>>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const opened = [
      await timed(() => openPull(servers, few, round)),
      await timed(() => openPull(servers, many, round)),
    ] as const
    const merged = [
      await timed(() => mergePull(servers, few, round)),
      await timed(() => mergePull(servers, many, round)),
    ] as const
    if (round > 0) rounds.push({ opened, merged })
  }
  const rowsOf = (what: 'opened' | 'merged', name: string) => {
    const [fewMs, manyMs] = [0, 1].map((i) => median(rounds.map((round) => round[what][i] ?? 0)))
    const ratio = median(rounds.map(({ [what]: [first, second] }) => second / first))
    const fewName = `${name}, ${FEW_FILES} files`
    return [
      [fewName, (fewMs ?? 0).toFixed(1), '', ''],
      [`${name}, 50,000 files`, (manyMs ?? 0).toFixed(1), ratio.toFixed(2), fewName],
    ]
  }
  const title = `Pull request of ${CHANGED_FILES} files`
  return table(
    [title, 'ms', 'ratio', 'of'],
    [...rowsOf('opened', 'opened and checked'), ...rowsOf('merged', 'merged')],
  )
}

/** Merges into one branch, one after the other. */
async function compareWithShell(servers: MergeServer, folder: string): Promise<string[][]> {
  const source = await prepareMerges(servers, folder, 'merges', {
    files: MERGES * CHANGED_FILES,
    branches: MERGES,
  })
  for (let i = 0; i < MERGES; i++) await openPull(servers, source, i)
  const shell = join(folder, 'shell')
  await git(folder, 'clone', '-q', '--mirror', source.folder, shell)
  const rounds: [number, number][] = []
  for (let start = 0; start < MERGES; start += MERGES_AT_A_TIME) {
    const indexes = Array.from({ length: MERGES_AT_A_TIME }, (_, i) => start + i)
    const shellMs = await timed(() => mergeByShell(shell, indexes.map(branchOf)))
    const ownMs = await timed(async () => {
      for (const index of indexes) await mergePull(servers, source, index)
    })
    if (start > 0) rounds.push([shellMs, ownMs])
  }
  return rowsOfRates('one behind the other', MERGES_AT_A_TIME, rounds)
}

/** Merges into different branches at the same time, where the shell merges one after the other. */
async function compareAtOnce(servers: MergeServer, folder: string): Promise<string[][]> {
  const branches = AT_ONCE * ROUNDS_AT_ONCE
  const sizes = { files: branches * CHANGED_FILES, branches, bases: branches }
  const source = await prepareMerges(servers, folder, 'merges-at-once', sizes)
  for (let i = 0; i < branches; i++) await openPull(servers, source, i, baseOf(i))
  const shell = join(folder, 'shell-at-once')
  await git(folder, 'clone', '-q', '--mirror', source.folder, shell)
  const rounds: [number, number][] = []
  for (let start = 0; start < branches; start += AT_ONCE) {
    const indexes = Array.from({ length: AT_ONCE }, (_, i) => start + i)
    const shellMs = await timed(() =>
      mergeByShell(shell, indexes.map(branchOf), indexes.map(baseOf)),
    )
    const ownMs = await timed(() =>
      Promise.all(indexes.map((index) => mergePull(servers, source, index))),
    )
    if (start > 0) rounds.push([shellMs, ownMs])
  }
  return rowsOfRates(`into ${AT_ONCE} branches at once`, AT_ONCE, rounds)
}

/** Returns the rows of the shell and of Branchline. */
function rowsOfRates(
  name: string,
  merges: number,
  rounds: readonly [number, number][],
): string[][] {
  const rate = (side: 0 | 1) => (1000 * merges) / median(rounds.map((round) => round[side]))
  const ratio = median(rounds.map(([shellMs, ownMs]) => shellMs / ownMs))
  const shell = `${name}, git merge-tree, commit-tree, update-ref`
  return [
    [shell, rate(0).toFixed(1), '', ''],
    [`${name}, Branchline`, rate(1).toFixed(1), ratio.toFixed(2), 'the three commands'],
  ]
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

/**
 * Creates a repository of some files, and branches that each change several files without
 * conflicts.
 */
export async function prepareMerges(
  { branchline, credentials }: MergeServer,
  folder: string,
  name: string,
  {
    files,
    branches,
    bases = 0,
  }: { readonly files: number; readonly branches: number; readonly bases?: number },
): Promise<Source> {
  const url = await createRepository(branchline, credentials.personalAccessToken, name)
  const path = join(folder, name)
  await mkdir(path)
  await git(path, 'init', '-q', '--bare', '-b', 'main')
  const commit = (ref: string, from: string) =>
    `commit ${ref}\ncommitter ${PERSON}\ndata 4\nwork${from}\n`
  const file = (index: number, content: string) =>
    `M 100644 inline ${pathOf(index)}\ndata ${content.length}\n${content}\n`
  const script = [
    commit('refs/heads/main', ''),
    ...Array.from({ length: files }, (_, i) => file(i, `file ${i}`)),
    ...Array.from({ length: branches }, (_, branch) => [
      commit(`refs/heads/${branchOf(branch)}`, '\nfrom refs/heads/main'),
      ...Array.from({ length: CHANGED_FILES }, (_, i) => {
        const index = branch * CHANGED_FILES + i
        return file(index, `changed ${index}`)
      }),
    ]).flat(),
    ...Array.from(
      { length: bases },
      (_, i) => `reset refs/heads/${baseOf(i)}\nfrom refs/heads/main\n\n`,
    ),
  ]
  await gitReading(script.join(''), path, 'fast-import', '--quiet')
  await git(path, 'push', '-q', url, 'refs/heads/*')
  return { name, folder: path }
}

function branchOf(index: number): string {
  return `branch-${index}`
}

/** Returns one of the branches beside `main` that others are merged into. */
function baseOf(index: number): string {
  return `base-${index}`
}

function pathOf(index: number): string {
  return `directory-${Math.floor(index / FILES_OF_DIRECTORY)}/file-${index % FILES_OF_DIRECTORY}`
}

async function ask(
  { branchline, credentials }: MergeServer,
  path: string,
  body: object,
  expected: number,
): Promise<string> {
  const headers = { authorization: `Bearer ${credentials.personalAccessToken}` }
  const answer = await http1.ask(
    branchline.url,
    postJson(`/api/v1/repos/ada/${path}`, body, headers),
  )
  if (answer.status !== expected)
    throw new Error(`${path} is answered ${answer.status}: ${answer.body}`)
  return answer.body.toString()
}

export async function openPull(
  servers: MergeServer,
  { name }: Source,
  index: number,
  base = 'main',
): Promise<void> {
  const branch = branchOf(index)
  const made = JSON.parse(
    await ask(servers, `${name}/pulls`, { head: branch, base, title: branch }, 201),
  )
  if (made.number !== index + 1 || made.mergeable !== true)
    throw new Error(`${branch} is no pull request to merge`)
}

export async function mergePull(
  servers: MergeServer,
  { name }: Source,
  index: number,
): Promise<void> {
  await ask(servers, `${name}/pulls/${index + 1}/merge`, { Do: 'merge' }, 200)
}

/** Merges branches into others, by default into `main`. */
async function mergeByShell(
  folder: string,
  branches: readonly string[],
  bases: readonly string[] = [],
): Promise<void> {
  const [name, email] = ['Bench', 'bench@example.org']
  const person = {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  }
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    ...person,
    ...DURABLE,
    ...BATCHED,
  }
  const running = run('/bin/sh', ['-c', SHELL_LOOP], { cwd: folder, env })
  running.child.stdin?.end(
    branches.map((branch, i) => `${bases[i] ?? 'main'} ${branch}\n`).join(''),
  )
  await running
}
