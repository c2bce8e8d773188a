import { execFile } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { usernameOf } from './accounts.ts'
import { createRepository, git, makeRepository } from './git.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import { type LightCalls, lightCallsDuring } from './light-calls.ts'
import { quantile } from './measure.ts'
import { mergePull, openPull, prepareMerges } from './merges.ts'
import { pushCommits } from './pull-files.ts'
import { table } from './report.ts'
import { postJson } from './requests.ts'
import { sized } from './sizes.ts'

const run = promisify(execFile)

const INTERVAL_MS = 10

/** Short work is repeated for this time, so that hundreds of light calls run meanwhile. */
const MIN_DURATION_MS = sized(5000, 0)

/** A push that no process can hold in memory. */
const PUSHED = { files: 4, bytesOfFile: sized(2 ** 28, 2 ** 12) }

const CLONES = sized(10, 2)
const CLONED = { files: sized(680, 2), bytesOfFile: 50 * 1024 }

const DIFF_FILES = sized(10_000, 50)
const MIN_DIFF_BYTES = 10_000

const MERGES_IN_FLIGHT = sized(32, 2)
const MERGES = sized(5, 1) * MERGES_IN_FLIGHT

/** Each work runs alone and together with the others. */
const RUNS = ['alone', 'together'] as const
type Run = (typeof RUNS)[number]

/** Heavy work. */
interface Load {
  readonly name: string
  /** Whether the work can be done again. */
  readonly isRepeatable: boolean
  run(run: Run): Promise<unknown>
}

/**
 * Measures light calls while heavy work runs, alone and all at once. The bare server answers the
 * same calls meanwhile: what it is late by is due to the machine.
 *
 * @param folder for the pushed repositories.
 */
export async function measureContention(servers: Servers, folder: string): Promise<string> {
  await mkdir(folder)
  const loads = [
    await pushes(servers, folder),
    await clones(servers, folder),
    await diffs(servers, folder),
    await merges(servers, folder),
  ]
  const rows = await measure('nothing', servers, () => sleep(MIN_DURATION_MS))
  for (const load of loads) {
    const work = () => repeat(load, 'alone', performance.now() + MIN_DURATION_MS)
    rows.push(...(await measure(load.name, servers, work)))
  }
  rows.push(...(await measure('all of these', servers, () => runTogether(loads))))
  const head = ['GetUser during', 'by', 'calls', 'p50 ms', 'p99 ms', 'longest ms', 'client ms']
  return `A call every ${INTERVAL_MS} ms by each protocol.\n\n${table(head, rows)}`
}

async function measure(
  name: string,
  { branchline, http: bare }: Servers,
  work: () => Promise<unknown>,
): Promise<string[][]> {
  process.stderr.write(`contention: ${name} …\n`)
  const probes = [
    { name: 'REST', protocol: 'REST', url: branchline.url.href },
    { name: 'gRPC', protocol: 'gRPC', url: branchline.url.href },
    { name: 'node:http', protocol: 'REST', url: bare.url.href },
  ] as const
  const options = { probes, intervalMs: INTERVAL_MS, username: usernameOf(0) }
  const results = await lightCallsDuring(options, work)
  return results.map((calls) => rowOf(name, calls))
}

function rowOf(work: string, { name, latenciesMs, clientLateMs }: LightCalls): string[] {
  const sorted = Float64Array.from(latenciesMs).sort()
  const figures = [0.5, 0.99, 1].map((part) => quantile(sorted, part).toFixed(1))
  return [work, name, String(sorted.length), ...figures, clientLateMs.toFixed(1)]
}

/** Does work once, and again until a time. */
async function repeat({ run, isRepeatable }: Load, when: Run, untilMs: number): Promise<void> {
  do await run(when)
  while (isRepeatable && performance.now() < untilMs)
}

/** Does all work at once. What can be done again is done until the rest has ended. */
async function runTogether(loads: readonly Load[]): Promise<void> {
  let isOver = false
  const once = Promise.all(
    loads.filter(({ isRepeatable }) => !isRepeatable).map(({ run }) => run('together')),
  ).finally(() => {
    isOver = true
  })
  const repeated = loads
    .filter(({ isRepeatable }) => isRepeatable)
    .map(async ({ run }) => {
      do await run('together')
      while (!isOver)
    })
  await Promise.all([once, ...repeated])
}

/** Runs Git with the lowest priority, since clients are on other machines in practice. */
function politely(folder: string, ...args: readonly string[]): Promise<unknown> {
  const config = ['core.compression=0', 'core.bigFileThreshold=1m', 'http.postBuffer=1m']
  const flags = config.flatMap((entry) => ['-c', entry])
  return run('nice', ['-n', '19', 'git', '-C', folder, ...flags, ...args])
}

async function pushes({ branchline, credentials }: Servers, folder: string): Promise<Load> {
  const urls = new Map<Run, string>()
  for (const when of RUNS) {
    const url = await createRepository(branchline, credentials.personalAccessToken, `push-${when}`)
    urls.set(when, url)
  }
  const source = await makeRepository(folder, 'large', PUSHED)
  return {
    name: 'a push of 1 GiB',
    isRepeatable: false,
    run: (when) => politely(source, 'push', '-q', urls.get(when) ?? '', 'main'),
  }
}

async function clones({ branchline, credentials }: Servers, folder: string): Promise<Load> {
  const url = await createRepository(branchline, credentials.personalAccessToken, 'cloned')
  await git(await makeRepository(folder, 'cloned', CLONED), 'push', '-q', url, 'main')
  const clone = async (index: number) => {
    const target = join(folder, `clone-${index}`)
    await politely(folder, 'clone', '-q', '--bare', url, target)
    await rm(target, { recursive: true })
  }
  return {
    name: `${CLONES} clones of 34 MB`,
    isRepeatable: true,
    run: () => Promise.all(Array.from({ length: CLONES }, (_, index) => clone(index))),
  }
}

/** The diff and the list of files of a pull request. Nothing of it is cached at first. */
async function diffs({ branchline, credentials }: Servers, folder: string): Promise<Load> {
  const name = 'diffs'
  const token = credentials.personalAccessToken
  const changes = RUNS.map((when) => ({ branch: when, files: DIFF_FILES, line: `${when}\n` }))
  const url = await createRepository(branchline, token, name)
  await pushCommits(url, join(folder, name), DIFF_FILES, changes)
  const numbers = new Map<Run, number>()
  for (const [index, when] of RUNS.entries()) {
    const body = { head: when, base: 'main', title: when }
    const authorization = `Bearer ${token}`
    const request = postJson(`/api/v1/repos/ada/${name}/pulls`, body, { authorization })
    const { status, body: answer } = await http1.ask(branchline.url, request)
    if (status !== 201) throw new Error(`a pull request is answered ${status}: ${answer}`)
    numbers.set(when, index + 1)
  }
  const read = async (path: string) => {
    const bytes = await bytesOf(new URL(`/api/v1/repos/ada/${name}/pulls/${path}`, branchline.url))
    if (bytes < MIN_DIFF_BYTES) throw new Error(`${path} has only ${bytes} bytes`)
  }
  return {
    name: `a diff of ${DIFF_FILES.toLocaleString('en')} files`,
    isRepeatable: true,
    async run(when) {
      const number = numbers.get(when)
      await Promise.all([read(`${number}.diff`), read(`${number}/files?limit=50`)])
    },
  }
}

/** Reads a response without keeping it, since it may be large. Returns its length. */
async function bytesOf(url: URL): Promise<number> {
  return new Promise((resolve, reject) => {
    const onResponse = (response: http.IncomingMessage) => {
      if (response.statusCode !== 200) reject(new Error(`${url} is ${response.statusCode}`))
      let bytes = 0
      response.on('data', ({ length }: Buffer) => {
        bytes += length
      })
      finished(response).then(() => resolve(bytes), reject)
    }
    http.get(url, { agent: false }, onResponse).on('error', reject)
  })
}

/** Merges into one branch. Each merge finds that its base has moved. */
async function merges(servers: Servers, folder: string): Promise<Load> {
  const sources = new Map<Run, Awaited<ReturnType<typeof prepareMerges>>>()
  for (const when of RUNS) {
    const source = await prepareMerges(servers, folder, `merged-${when}`, {
      files: 3 * MERGES,
      branches: MERGES,
    })
    for (let i = 0; i < MERGES; i++) await openPull(servers, source, i)
    sources.set(when, source)
  }
  return {
    name: `merges, ${MERGES_IN_FLIGHT} at a time`,
    isRepeatable: false,
    async run(when) {
      const source = sources.get(when)
      if (source === undefined) throw new Error('each run has a repository')
      const indexes = Array.from({ length: MERGES }, (_, index) => index).values()
      const worker = async () => {
        for (const index of indexes) await mergePull(servers, source, index)
      }
      await Promise.all(Array.from({ length: MERGES_IN_FLIGHT }, worker))
    },
  }
}
