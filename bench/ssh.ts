import { execFile, spawn } from 'node:child_process'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeAdministrator } from './accounts.ts'
import { createRepository, git, makeRepository } from './git.ts'
import { http1 } from './http1-load.ts'
import { lightCallsDuring } from './light-calls.ts'
import { median, quantile } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { table } from './report.ts'
import { get, postJson } from './requests.ts'
import { sized } from './sizes.ts'

const run = promisify(execFile)

const ROUNDS = sized(5, 1)

/** Incompressible data, which has to be encrypted and sent as it is. */
const REPOSITORY = { files: sized(2000, 2), bytesOfFile: 50 * 1024 }

/** The system counts CPU time in hundredths of a second, which these share. */
const LISTINGS_OF_ROUND = sized(20, 1)
const FETCHES_OF_ROUND = sized(10, 1)

/** Commits that a fetch lacks. */
const FETCHED_COMMITS = 50

const CLONES_AT_ONCE = sized(4, 1)
const CALL_EVERY_MS = 10
const IDLE_MS = sized(3_000, 50)

/** Starts the servers. */
export interface SshServers {
  start(...options: readonly string[]): Promise<ServerProcess>
  startBackend(folder: string): Promise<ServerProcess>
}

/** A way to a repository. */
interface Way {
  readonly name: string
  readonly server: ServerProcess
  /** Options of Git before its command. */
  readonly options: readonly string[]
  /** Returns the URL of a new empty repository. */
  create(name: string): Promise<string>
}

interface Trial {
  readonly name: string
  /** Commands in the measured time, whose figures are divided by this. */
  readonly commands: number
  /** Prepares the commands, which is not timed, and returns the timed part. */
  prepare(way: Way): Promise<() => Promise<unknown>>
}

interface Timing {
  readonly ms: number
  readonly cpuMs: number
}

/**
 * Compares Git over SSH with Git over HTTP, and both with `git http-backend`, alternately. CPU time is
 * that of the server, of its SSH program, and of all Git processes of either.
 */
export async function measureSsh(servers: SshServers, folder: string): Promise<string> {
  if (!(await hasSsh())) return 'Not measured: `ssh` is not installed.'
  const own = join(folder, 'work')
  await mkdir(own, { recursive: true })
  const ways = await openWays(servers, folder)
  const source = await makeRepository(own, 'source', REPOSITORY)
  const small = await makeRepository(own, 'small', { files: 10, bytesOfFile: 1024 })
  for (let i = 0; i < FETCHED_COMMITS; i++)
    await git(small, 'commit', '-q', '--allow-empty', '-m', `commit ${i}`)
  const rows: string[][] = []
  for (const trial of [
    await listingOf(ways, small),
    await fetchOf(ways, small, own),
    cloneOf(ways, source, own),
    pushOf(source),
  ]) {
    process.stderr.write(`ssh: ${trial.name} …\n`)
    rows.push(...(await compare(trial, ways)))
  }
  const times = table(['Git over SSH and HTTP', 'ms', 'ratio', 'CPU ms', 'CPU ratio', 'of'], rows)
  return `${times}\n\n${await measureCalls(ways, source, own)}`
}

function hasSsh(): Promise<boolean> {
  return run('ssh', ['-V']).then(
    () => true,
    () => false,
  )
}

/** Starts both servers. The ways are `git http-backend`, HTTP and SSH. */
async function openWays(
  { start, startBackend }: SshServers,
  folder: string,
): Promise<readonly [Way, Way, Way]> {
  const backendFolder = join(folder, 'backend')
  await mkdir(backendFolder, { recursive: true })
  const backend = await startBackend(backendFolder)
  const options = ['--data', join(folder, 'data'), '--ssh-listen', '127.0.0.1:0']
  const server = await start(...options)
  const { personalAccessToken: token } = await makeAdministrator(server.url)
  const create = (name: string) => createRepository(server, token, name)
  const ssh = await openSsh(server, token, folder)
  return [
    {
      name: 'git http-backend',
      server: backend,
      options: [],
      async create(name) {
        await git(backendFolder, 'init', '-q', '--bare', '-b', 'main', `${name}.git`)
        return new URL(`/${name}.git`, backend.url).href
      },
    },
    { name: 'Branchline, HTTP', server, options: [], create },
    {
      name: 'Branchline, SSH',
      server,
      options: ssh.options,
      create: async (name) => ssh.origin + new URL(await create(name)).pathname,
    },
  ]
}

/** Registers a new key. Returns how Git uses the key, and the beginning of URLs. */
async function openSsh(server: ServerProcess, token: string, folder: string) {
  const key = join(folder, 'key')
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  const registration = { title: 'bench', key: await readFile(`${key}.pub`, 'utf8') }
  const headers = { authorization: `Bearer ${token}` }
  await http1.ask(server.url, postJson('/api/v1/user/keys', registration, headers))
  const { body } = await http1.ask(server.url, get('/api/v1/meta/ssh-host-keys'))
  const { port, user } = JSON.parse(body.toString())
  const checks = '-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR'
  const command = `ssh -F none -i ${key} -o IdentitiesOnly=yes ${checks}`
  return {
    options: ['-c', `core.sshCommand=${command}`],
    origin: `ssh://${user}@127.0.0.1:${port}`,
  }
}

/** Creates a repository with all commits for each way. */
async function publish(ways: readonly Way[], source: string, name: string) {
  const urls = new Map<Way, string>()
  for (const [i, way] of ways.entries()) {
    const url = await way.create(`${name}-${i}`)
    await git(source, ...way.options, 'push', '-q', url, 'main')
    urls.set(way, url)
  }
  return (way: Way) => urls.get(way) ?? ''
}

async function listingOf(ways: readonly Way[], source: string): Promise<Trial> {
  const urlOf = await publish(ways, source, 'listed')
  return {
    name: 'ls-remote',
    commands: LISTINGS_OF_ROUND,
    prepare: async (way) => async () => {
      for (let i = 0; i < LISTINGS_OF_ROUND; i++)
        await git(source, ...way.options, 'ls-remote', '-q', urlOf(way))
    },
  }
}

async function fetchOf(ways: readonly Way[], source: string, folder: string): Promise<Trial> {
  const urlOf = await publish(ways, source, 'fetched')
  const behind = join(folder, 'behind')
  await git(folder, 'init', '-q', '--bare', behind)
  await git(source, 'push', '-q', behind, `HEAD~${FETCHED_COMMITS}:refs/heads/main`)
  const clones = Array.from({ length: FETCHES_OF_ROUND }, (_, i) => join(folder, `behind-${i}`))
  return {
    name: `fetch of ${FETCHED_COMMITS} commits`,
    commands: FETCHES_OF_ROUND,
    // Git does not fetch objects that are there, so each fetch needs a new clone.
    async prepare(way) {
      for (const clone of clones) {
        await rm(clone, { recursive: true, force: true })
        await git(folder, 'clone', '-q', '--bare', behind, clone)
      }
      return async () => {
        for (const clone of clones) await git(clone, ...way.options, 'fetch', '-q', urlOf(way))
      }
    },
  }
}

function cloneOf(ways: readonly Way[], source: string, folder: string): Trial {
  const urls = publish(ways, source, 'cloned')
  const target = join(folder, 'clone')
  return {
    name: 'clone of 100 MiB',
    commands: 1,
    async prepare(way) {
      const url = (await urls)(way)
      await rm(target, { recursive: true, force: true })
      return () => git(folder, ...way.options, 'clone', '-q', '--bare', url, target)
    },
  }
}

function pushOf(source: string): Trial {
  let number = 0
  return {
    name: 'push of 100 MiB',
    commands: 1,
    async prepare(way) {
      number += 1
      const url = await way.create(`pushed-${number}`)
      return () => git(source, ...way.options, 'push', '-q', url, 'main')
    },
  }
}

/** Returns a row for each way. SSH is compared with HTTP, and both with `git http-backend`. */
async function compare(trial: Trial, ways: readonly [Way, Way, Way]): Promise<string[][]> {
  const rounds: Timing[][] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const timings: Timing[] = []
    for (const way of ways) timings.push(await time(trial, way))
    // The first round warms up.
    if (round > 0) rounds.push(timings)
  }
  const figure = (value: (round: readonly Timing[]) => number) =>
    median(rounds.map(value)).toFixed(2)
  const at = (round: readonly Timing[], way: number) => round[way] ?? { ms: 0, cpuMs: 0 }
  const row = (way: number, of?: number) => [
    `${trial.name}, ${ways[way]?.name}`,
    figure((round) => at(round, way).ms),
    of === undefined ? '' : figure((round) => at(round, of).ms / at(round, way).ms),
    figure((round) => at(round, way).cpuMs),
    of === undefined ? '' : figure((round) => at(round, of).cpuMs / at(round, way).cpuMs),
    of === undefined ? '' : (ways[of]?.name ?? ''),
  ]
  return [row(0), row(1, 0), row(2, 0), row(2, 1)]
}

async function time(trial: Trial, way: Way): Promise<Timing> {
  const work = await trial.prepare(way)
  const cpuBeforeMs = way.server.cpuMs() ?? Number.NaN
  const startedMs = performance.now()
  await work()
  const elapsedMs = performance.now() - startedMs
  const cpuMs = (way.server.cpuMs() ?? Number.NaN) - cpuBeforeMs
  return { ms: elapsedMs / trial.commands, cpuMs: cpuMs / trial.commands }
}

/**
 * Compares light calls beside clones with those of an idle server, and with those beside processes that only
 * compute: on a machine with few cores, the clients of the clones compute as much as the server.
 */
async function measureCalls(
  [, http, ssh]: readonly [Way, Way, Way],
  source: string,
  folder: string,
): Promise<string> {
  const probe = { name: 'REST', protocol: 'REST', url: ssh.server.url.origin } as const
  const options = { probes: [probe], intervalMs: CALL_EVERY_MS, username: 'ada' }
  const p99 = async (work: () => Promise<unknown>) => {
    const [calls] = await lightCallsDuring(options, work)
    return quantile(Float64Array.from(calls?.latenciesMs ?? []).sort(), 0.99)
  }
  const clonesBy = async (way: Way) => {
    const url = await way.create(way === http ? 'beside-http' : 'beside-ssh')
    await git(source, ...way.options, 'push', '-q', url, 'main')
    const targets = Array.from({ length: CLONES_AT_ONCE }, (_, i) => join(folder, `beside-${i}`))
    return async () => {
      const clone = ['clone', '-q', '--bare', url]
      await Promise.all(targets.map((target) => git(folder, ...way.options, ...clone, target)))
      for (const target of targets) await rm(target, { recursive: true })
    }
  }
  const idle = () => new Promise((resolve) => setTimeout(resolve, IDLE_MS))
  const idleMs = await p99(idle)
  const rows = [['nothing', idleMs.toFixed(1), '']]
  for (const [name, work] of [
    [`${CLONES_AT_ONCE} clones over SSH`, await clonesBy(ssh)],
    [`${CLONES_AT_ONCE} clones over HTTP`, await clonesBy(http)],
    [`${CLONES_AT_ONCE} processes that compute`, () => besideProcesses(idle)],
  ] as const) {
    const busyMs = await p99(work)
    rows.push([name, busyMs.toFixed(1), (busyMs / idleMs).toFixed(2)])
  }
  return table(['GetUser during', 'p99 ms', 'ratio'], rows)
}

/** Does some work beside processes that only compute. */
async function besideProcesses(work: () => Promise<unknown>): Promise<void> {
  const processes = Array.from({ length: CLONES_AT_ONCE }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  try {
    await work()
  } finally {
    for (const child of processes) child.kill('SIGKILL')
  }
}
