import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createRepository, git, gitReading } from './git.ts'
import { restGetUser, type Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { table } from './report.ts'
import { type Answer, get, type Request } from './requests.ts'
import { sized } from './sizes.ts'

/** A request for something of a repository. */
interface Read {
  readonly name: string
  readonly target: string
  /** The read to compare with. Default: GetUser. */
  readonly baseline?: string
}

const COMMITS = 40
const FILES = 8

/** 14 November 2023. Each commit is a minute younger than the previous one. */
const FIRST_COMMIT_TIME_S = 1_700_000_000
const INTERVAL_S = 60

const READS: readonly Read[] = [
  { name: 'one branch', target: 'branches/main' },
  { name: 'one commit', target: 'git/commits/main' },
  { name: 'small file', target: 'contents/src/f1.txt' },
  { name: 'small folder', target: 'contents/src' },
  { name: 'raw file', target: 'raw/src/f1.txt', baseline: 'small file' },
  { name: 'recursive tree', target: 'git/trees/main?recursive=true' },
  { name: '30 branches', target: 'branches?limit=30' },
  { name: '30 commits', target: 'commits?limit=30' },
  { name: 'compare of three commits', target: 'compare/main~3...main' },
]

/** The server keeps what it read from packs and folders of refs once these are some seconds old. */
const SETTLING_MS = sized(3000, 0)

/** Repositories that each cold read asks once. The system counts CPU time in hundredths. */
const COLD_REPOSITORIES = sized(20, 1)

/** Requests to the baseline of cold reads. */
const BASELINE_REQUESTS = sized(3000, 1)

/**
 * Reads of one repository by REST, whose answers the server has given before.
 *
 * @param folder for the pushed repository.
 */
export async function warmReads(servers: Servers, folder: string): Promise<Group> {
  const { branchline, credentials } = servers
  const source = await makeSource(join(folder, 'warm-reads'))
  await push(branchline, credentials.personalAccessToken, source, 'reads')
  await settle()
  const baseline = 'GetUser'
  const cases = READS.map(({ name, target, baseline: own = baseline }): Case => {
    const requests = [get(targetIn('reads', target))]
    return { name, server: branchline, client: http1, requests, baseline: own, check: isFound }
  })
  return {
    name: 'reads',
    title: 'Reads of a repository, warm',
    rounds: 5,
    durationMs: 800,
    inFlight: 4,
    cases: [
      {
        name: baseline,
        server: branchline,
        client: http1,
        requests: restGetUser,
        check: isFound,
      },
      ...cases,
    ],
  }
}

/**
 * Asks several repositories once for each kind of read, and prints the CPU time beside that of the
 * bare server for one account.
 *
 * @param folder for the pushed repository.
 */
export async function measureColdReads(servers: Servers, folder: string): Promise<string> {
  const { branchline, http, credentials } = servers
  const source = await makeSource(join(folder, 'cold-reads'))
  const nameOf = (read: number, i: number) => `cold-${read}-${i}`
  for (const read of [...READS.keys(), READS.length])
    for (let i = 0; i < COLD_REPOSITORIES; i++)
      await push(branchline, credentials.personalAccessToken, source, nameOf(read, i))
  await settle()
  const [user] = restGetUser
  assert(user)
  const baselineMicros = await cpuMicrosOf(http, Array(BASELINE_REQUESTS).fill(user))
  const requestsOf = (read: number, { target }: Read) =>
    Array.from({ length: COLD_REPOSITORIES }, (_, i) => get(targetIn(nameOf(read, i), target)))
  // The code is warm, the repositories are not.
  for (const read of READS) await cpuMicrosOf(branchline, requestsOf(READS.length, read))
  const rows: string[][] = []
  for (const [i, read] of READS.entries()) {
    const micros = await cpuMicrosOf(branchline, requestsOf(i, read))
    rows.push([read.name, micros.toFixed(0), (micros / baselineMicros).toFixed(0)])
  }
  return table(['First read of a repository', 'CPU µs', 'times node:http'], rows)
}

/** Sends requests one after the other. Returns the CPU time of one. */
async function cpuMicrosOf(server: ServerProcess, requests: readonly Request[]): Promise<number> {
  const beforeMs = server.cpuMs() ?? Number.NaN
  for (const request of requests) isFound(await http1.ask(server.url, request))
  return (((server.cpuMs() ?? Number.NaN) - beforeMs) * 1000) / requests.length
}

function isFound({ status }: Answer): void {
  assert.equal(status, 200)
}

function targetIn(repository: string, target: string): string {
  return `/api/v1/repos/ada/${repository}/${target}`
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLING_MS))
}

/** Creates a repository on the server and pushes all branches of the source. */
async function push(
  server: ServerProcess,
  token: string,
  source: string,
  name: string,
): Promise<void> {
  const url = await createRepository(server, token, name)
  await git(source, 'push', '-q', url, 'refs/heads/*')
}

/** Makes a repository with a branch at each commit, and returns its folder. */
async function makeSource(source: string): Promise<string> {
  await mkdir(source)
  await git(source, 'init', '-q', '--bare', '-b', 'main')
  const commits = Array.from({ length: COMMITS }, (_, i) => {
    const person = `Bench <bench@example.org> ${FIRST_COMMIT_TIME_S + i * INTERVAL_S} +0000`
    const text = `line ${String(i).padStart(2, '0')}\n`
    const files = [`src/f${i % FILES}.txt`, `src/deep/g${i}`]
      .map((path) => `M 644 inline ${path}\ndata ${text.length}\n${text}\n`)
      .join('')
    const commit = `commit refs/heads/main\ncommitter ${person}\ndata 5\nwork\n${files}\n`
    return `${commit}reset refs/heads/b${i}\nfrom refs/heads/main\n\n`
  })
  await gitReading(commits.join(''), source, 'fast-import', '--quiet')
  return source
}
