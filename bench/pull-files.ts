import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createRepository, git, gitReading } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import { get, postJson } from './requests.ts'
import { sized } from './sizes.ts'

/** Numbers of changed files: a diff of one page and one of many, in the same repository. */
const FEW = 30
const MANY = sized(10_000, 40)

const FILES_OF_DIRECTORY = 100

const NAME = 'pull-files'

/** As in `branches`: Git processes read each page. */
const IN_FLIGHT = 4

/**
 * Pages of the files of two pull requests, each of which adds a line to a number of files.
 *
 * @param folder for the pushed repositories.
 */
export async function pullFileLists(
  { branchline, credentials }: Servers,
  folder: string,
): Promise<Group> {
  const token = credentials.personalAccessToken
  const changes = [FEW, MANY].map((files) => ({
    branch: headOf(files),
    files,
    line: 'one more line\n',
  }))
  const url = await createRepository(branchline, token, NAME)
  await pushCommits(url, join(folder, NAME), MANY, changes)
  const numbers = new Map<number, number>()
  for (const count of [FEW, MANY]) {
    const body = { head: headOf(count), base: 'main', title: headOf(count) }
    const request = postJson(`/api/v1/repos/ada/${NAME}/pulls`, body, {
      authorization: `Bearer ${token}`,
    })
    const answer = await http1.ask(branchline.url, request)
    if (answer.status !== 201)
      throw new Error(`a pull request is answered ${answer.status}: ${answer.body}`)
    numbers.set(count, JSON.parse(answer.body.toString()).number)
  }
  const page = (name: string, count: number, first: number): Case => ({
    name,
    client: http1,
    server: branchline,
    requests: [
      get(
        `/api/v1/repos/ada/${NAME}/pulls/${numbers.get(count)}/files?limit=${FEW}&page=${first / FEW + 1}`,
      ),
    ],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      const files: { filename: string; additions: number }[] = JSON.parse(body.toString())
      const expected = Array.from({ length: Math.min(FEW, count - first) }, (_, i) => [
        pathOf(first + i),
        1,
      ])
      assert.deepEqual(
        files.map(({ filename, additions }) => [filename, additions]),
        expected,
      )
    },
  })
  const few = page(`${FEW} files`, FEW, 0)
  const text: Case = {
    ...few,
    name: `${FEW} files, their differences as text`,
    requests: [get(`/api/v1/repos/ada/${NAME}/pulls/${numbers.get(FEW)}.diff`)],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      assert.equal(body.toString().match(/^diff --git /gm)?.length, FEW)
    },
    baseline: few.name,
  }
  return {
    name: NAME,
    title: 'Changes of a pull request over REST, page of',
    rounds: 5,
    durationMs: 1000,
    inFlight: IN_FLIGHT,
    cases: [
      few,
      text,
      { ...page('a diff of 10,000 files, first 30', MANY, 0), baseline: few.name },
      { ...page('a diff of 10,000 files, last 10', MANY, MANY - (MANY % FEW)), baseline: few.name },
    ],
  }
}

function headOf(count: number): string {
  return `files-${count}`
}

/** Returns a path. The order of paths is that of their numbers. */
function pathOf(index: number): string {
  const digits = (number: number, length: number) => String(number).padStart(length, '0')
  return `directory-${digits(Math.floor(index / FILES_OF_DIRECTORY), 4)}/file-${digits(index % FILES_OF_DIRECTORY, 2)}`
}

/** A branch of `main` that adds a line to each of the first files. */
interface Change {
  readonly branch: string
  readonly files: number
  readonly line: string
}

/**
 * Pushes a branch `main` of a number of files, and branches that change it.
 *
 * @param folder for the pushed repository, which must not exist.
 */
export async function pushCommits(
  url: string,
  folder: string,
  files: number,
  changes: readonly Change[],
): Promise<void> {
  await mkdir(folder)
  await git(folder, 'init', '-q', '--bare')
  const commits = [
    commitOf('main', undefined, files, ''),
    ...changes.map((change) =>
      commitOf(change.branch, 'refs/heads/main', change.files, change.line),
    ),
  ]
  await gitReading(commits.join(''), folder, 'fast-import', '--quiet')
  await git(folder, 'push', '-q', url, 'refs/heads/*')
}

/** Returns a commit of a number of files, for git-fast-import(1). */
function commitOf(branch: string, from: string | undefined, count: number, more: string): string {
  const files = Array.from({ length: count }, (_, index) => {
    const lines = Array.from({ length: 40 }, (_, line) => `line ${line} of file ${index}\n`).join(
      '',
    )
    return `M 100644 inline ${pathOf(index)}\n${data(lines + more)}`
  })
  const committer = 'committer Bench <bench@example.org> 1700000000 +0000'
  const parent = from === undefined ? '' : `from ${from}\n`
  return `commit refs/heads/${branch}\n${committer}\n${data('work\n')}${parent}${files.join('')}\n`
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`
}
