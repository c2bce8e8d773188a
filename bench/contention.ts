import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createRepository, git } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import { mergePull, openPull, prepareMerges, type Source } from './merges.ts'
import { table } from './report.ts'
import { get } from './requests.ts'

const run = promisify(execFile)

/** Light calls start at this interval, whether earlier ones are answered or not. */
const INTERVAL_MS = 10
const MIN_CALLS = 300

const PUSH_BYTES = 2 ** 30
const CLONES = 10
const DIFF_FILES = 10_000
const MERGES = 32

/** Each load runs alone and together with the others. */
const RUNS = 2

/** Heavy work. */
interface Load {
  readonly name: string
  run(round: number): Promise<unknown>
}

/**
 * Measures light calls while heavy work runs. The latency of a call is from the time at which it was
 * due, so that calls that wait for a stalled server all count.
 *
 * @param folder for the pushed repositories.
 */
export async function measureContention(servers: Servers, folder: string): Promise<string> {
  await mkdir(folder)
  const loads = [
    await largePush(servers, folder),
    ...(await readsOfManyFiles(servers, folder)),
    await merges(servers, folder),
  ]
  const rows = [rowOf('nothing', await latenciesDuring(servers, sleep(MIN_CALLS * INTERVAL_MS)))]
  for (const { name, run } of loads) rows.push(rowOf(name, await latenciesDuring(servers, run(0))))
  const all = Promise.all(loads.map((load) => load.run(1)))
  rows.push(rowOf('all of these', await latenciesDuring(servers, all)))
  return table(['GetUser during', 'calls', 'p50 ms', 'p99 ms', 'longest ms'], rows)
}

function rowOf(name: string, latenciesMs: readonly number[]): string[] {
  const sorted = latenciesMs.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return [name, String(sorted.length), ...[0.5, 0.99, 1].map((share) => at(share).toFixed(1))]
}

async function latenciesDuring({ branchline }: Servers, work: Promise<unknown>): Promise<number[]> {
  const agent = new http.Agent({ keepAlive: true })
  const url = new URL('/api/v1/users/ada', branchline.url)
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  const startedMs = performance.now()
  const calls: Promise<number>[] = []
  while (!isOver || calls.length < MIN_CALLS) {
    const dueMs = startedMs + calls.length * INTERVAL_MS
    await sleep(Math.max(0, dueMs - performance.now()))
    calls.push(callOnce(agent, url).then(() => performance.now() - dueMs))
  }
  await over
  const latenciesMs = await Promise.all(calls)
  agent.destroy()
  return latenciesMs
}

function callOnce(agent: http.Agent, url: URL): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`a call is ${response.statusCode}`))
      text(response).then(() => resolve(), reject)
    })
    request.on('error', reject)
  })
}

/** Runs Git with a low priority: clients are elsewhere in practice. */
function politely(folder: string, ...args: readonly string[]): Promise<unknown> {
  return run('nice', ['-n', '19', 'git', '-C', folder, ...args], { maxBuffer: 2 ** 20 })
}

async function largePush({ branchline, credentials }: Servers, folder: string): Promise<Load> {
  const work = join(folder, 'large')
  await mkdir(work)
  await git(work, 'init', '-q', '-b', 'main')
  await git(work, 'config', 'core.compression', '0')
  const identity = ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.org']
  for (let round = 0; round < RUNS; round++) {
    await git(work, 'checkout', '-q', '--orphan', `round-${round}`)
    await writeFile(join(work, 'data'), randomBytes(PUSH_BYTES))
    await git(work, 'add', 'data')
    await git(work, ...identity, 'commit', '-qm', 'large')
  }
  const url = await createRepository(branchline, credentials.personalAccessToken, 'large')
  return {
    name: 'a push of 1 GiB',
    run: (round) => politely(work, 'push', '-q', url, `round-${round}`),
  }
}

/** Clones and diffs of a repository of many files. */
async function readsOfManyFiles(servers: Servers, folder: string): Promise<Load[]> {
  const { branchline, credentials } = servers
  const { name, folder: source } = await prepareMerges(servers, folder, 'many', {
    files: DIFF_FILES,
    branches: 1,
  })
  const url = await createRepository(branchline, credentials.personalAccessToken, 'cloned')
  await git(source, 'push', '-q', url, 'refs/heads/*')
  const { stdout } = await run('git', ['-C', source, 'rev-parse', 'main'])
  const commitId = stdout.trim()
  const path = `/api/v1/repos/ada/${name}/git/commits/${commitId}.diff`
  const clone = async (round: number, index: number) => {
    const target = join(folder, `clone-${round}-${index}`)
    await politely(folder, 'clone', '-q', '--bare', url, target)
    await rm(target, { recursive: true })
  }
  return [
    {
      name: `${CLONES} clones`,
      run: (round) => Promise.all(Array.from({ length: CLONES }, (_, i) => clone(round, i))),
    },
    {
      name: `a diff of ${DIFF_FILES.toLocaleString('en')} files`,
      async run() {
        const { status } = await http1.ask(
          branchline.url,
          get(path, credentials.personalAccessToken),
        )
        if (status !== 200) throw new Error(`the diff is answered ${status}`)
      },
    },
  ]
}

async function merges(servers: Servers, folder: string): Promise<Load> {
  const sources: Source[] = []
  for (let round = 0; round < RUNS; round++) {
    const source = await prepareMerges(servers, folder, `contended-${round}`, {
      files: 1000,
      branches: MERGES,
    })
    for (let i = 0; i < MERGES; i++) await openPull(servers, source, i)
    sources.push(source)
  }
  return {
    name: `${MERGES} merges`,
    async run(round) {
      const source = sources[round]
      if (source === undefined) return
      for (let i = 0; i < MERGES; i++) await mergePull(servers, source, i)
    },
  }
}
