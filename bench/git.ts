import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { http1 } from './http1-load.ts'
import { median } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { mebibytes, table } from './report.ts'
import { postJson } from './requests.ts'
import { sized } from './sizes.ts'

const run = promisify(execFile)

/** The servers of the measured repositories. */
export interface GitServers {
  readonly branchline: ServerProcess
  /** A token of the administrator of `branchline`. */
  readonly token: string
  /** `git http-backend`. */
  readonly backend: ServerProcess
  /** The folder of the repositories of `backend`. */
  readonly backendFolder: string
  /** The folder of clones. */
  readonly workFolder: string
}

const ROUNDS = sized(5, 1)

/** 100 MiB of incompressible data, in files of the size of a large source file. */
const REPOSITORY = { files: sized(2000, 2), bytesOfFile: 50 * 1024 }

const CONCURRENT_CLONES = sized(50, 2)

/** A tenth of the size, so that fifty clones fit into memory. */
const CLONED_REPOSITORY = { files: sized(200, 1), bytesOfFile: 50 * 1024 }

/** Rounds of clones of one commit, each of which waits for the refs to settle. */
const HERD_ROUNDS = sized(3, 1)

/** The server keeps refs in memory once their files are some seconds old. */
const SETTLING_MS = sized(3000, 0)

const LARGE_PUSH_BYTES = sized(2 ** 30, 2 ** 20)

const SAMPLE_MS = 50

/** One of the two servers. */
export interface Remote {
  readonly name: string
  readonly server: ServerProcess
  /** Creates an empty repository and returns its URL for Git. */
  create(name: string): Promise<string>
}

/** An operation that is measured on both servers. */
interface Trial {
  readonly name: string
  /** Prepares the operation, which is not timed, and returns the timed part. */
  prepare(remote: Remote): Promise<() => Promise<unknown>>
}

interface Timing {
  readonly seconds: number
  /** Peak memory of the server process during the operation, without its Git processes. */
  readonly peakBytes: number | undefined
}

/** Clones from both servers and pushes to them, alternately, and prints the durations. */
export async function measureGit(servers: GitServers): Promise<string> {
  const remotes = remotesOf(servers)
  const { workFolder } = servers
  const large = await makeRepository(workFolder, 'large', REPOSITORY)
  const small = await makeRepository(workFolder, 'small', CLONED_REPOSITORY)
  const rows: string[][] = []
  for (const trial of [
    pushOf(large),
    clonesOf(large, 1, workFolder, 'clone of 100 MiB'),
    clonesOf(small, CONCURRENT_CLONES, workFolder, `${CONCURRENT_CLONES} clones of 10 MiB at once`),
    besideBusyProcesses(clonesOf(small, 1, workFolder, 'clone of 10 MiB')),
  ]) {
    process.stderr.write(`git: ${trial.name} …\n`)
    rows.push(...(await compare(trial, remotes)))
  }
  process.stderr.write('git: push of 1 GiB …\n')
  rows.push(await measureLargePush(remotes[1], workFolder))
  const transfers = table(['Git over HTTP', 's', 'ratio', 'of', 'MiB at most'], rows)
  return [transfers, await compareHerds(remotes, small, workFolder)].join('\n\n')
}

/**
 * Compares the processor time of many clones of one commit with that of one clone, as when a push
 * starts the jobs of a build. Each measurement has a commit of its own, of which the server knows no
 * pack.
 */
async function compareHerds(
  remotes: readonly Remote[],
  source: string,
  folder: string,
): Promise<string> {
  process.stderr.write('git: clones of one commit …\n')
  const counts = [1, CONCURRENT_CLONES]
  const rows: string[][] = []
  for (const remote of remotes) {
    const rounds: number[][] = []
    const trials = counts.map((count) => clonesOf(source, count, folder, ''))
    for (let round = 0; round <= HERD_ROUNDS; round++) {
      const cpuMs: number[] = []
      for (const trial of trials) cpuMs.push(await cpuMsOfNewCommit(trial, remote, source))
      // The first round warms up.
      if (round > 0) rounds.push(cpuMs)
    }
    for (const [i, count] of counts.entries())
      rows.push([
        `${count === 1 ? 'one clone' : `${count} clones at once`}, ${remote.name}`,
        median(rounds.map((cpuMs) => cpuMs[i] ?? Number.NaN)).toFixed(0),
        i === 0 ? '' : median(rounds.map(([one = 0, all = 0]) => all / one)).toFixed(1),
      ])
  }
  return table(['Clones of a new commit', 'CPU ms', 'times one'], rows)
}

/** Pushes a commit, and returns the processor time of the server for clones of it. */
async function cpuMsOfNewCommit(trial: Trial, remote: Remote, source: string): Promise<number> {
  await git(source, 'commit', '-q', '--allow-empty', '-m', 'another one')
  const work = await trial.prepare(remote)
  await new Promise((resolve) => setTimeout(resolve, SETTLING_MS))
  const beforeMs = remote.server.cpuMs() ?? Number.NaN
  await work()
  return (remote.server.cpuMs() ?? Number.NaN) - beforeMs
}

function pushOf(source: string): Trial {
  return {
    name: 'push of 100 MiB',
    async prepare(remote) {
      const url = await remote.create(uniqueName())
      return () => git(source, 'push', '-q', url, 'main')
    },
  }
}

function clonesOf(source: string, count: number, folder: string, name: string): Trial {
  const urls = new Map<Remote, string>()
  return {
    name,
    async prepare(remote) {
      const url = urls.get(remote) ?? (await remote.create(uniqueName()))
      urls.set(remote, url)
      await git(source, 'push', '-q', url, 'main')
      const targets = Array.from({ length: count }, () => join(folder, uniqueName()))
      return async () => {
        await Promise.all(
          targets.map((target) => git(folder, 'clone', '-q', '--bare', url, target)),
        )
        // The removal is timed too, on both servers. Otherwise the disk would fill up.
        await Promise.all(targets.map((target) => rm(target, { recursive: true })))
      }
    },
  }
}

/**
 * An operation beside one busy process for each core. Each has a session of its own, as another
 * service of the machine has (sched(7), "The autogroup feature").
 */
function besideBusyProcesses(trial: Trial): Trial {
  return {
    name: `${trial.name} beside busy processes`,
    async prepare(remote) {
      const work = await trial.prepare(remote)
      return async () => {
        const busy = Array.from({ length: availableParallelism() }, () =>
          spawn(process.execPath, ['-e', 'for (;;);'], { detached: true, stdio: 'ignore' }),
        )
        try {
          await work()
        } finally {
          for (const process of busy) process.kill('SIGKILL')
        }
      }
    },
  }
}

/** Returns a row for each of the two. The ratio is of speeds, in the same round. */
async function compare(
  trial: Trial,
  [baseline, own]: readonly [Remote, Remote],
): Promise<string[][]> {
  const rounds: [Timing, Timing][] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const timings: [Timing, Timing] = [await time(trial, baseline), await time(trial, own)]
    // The first round warms up.
    if (round > 0) rounds.push(timings)
  }
  const medianOf = (figure: (round: [Timing, Timing]) => number) => median(rounds.map(figure))
  return [
    [
      `${trial.name}, ${baseline.name}`,
      medianOf(([first]) => first.seconds).toFixed(2),
      '',
      '',
      '',
    ],
    [
      `${trial.name}, ${own.name}`,
      medianOf(([, second]) => second.seconds).toFixed(2),
      medianOf(([first, second]) => first.seconds / second.seconds).toFixed(2),
      baseline.name,
      mebibytes(Math.max(...rounds.map(([, { peakBytes = 0 }]) => peakBytes))),
    ],
  ]
}

async function time(trial: Trial, remote: Remote): Promise<Timing> {
  const work = await trial.prepare(remote)
  let peakBytes: number | undefined
  const sample = () => {
    const bytes = remote.server.residentBytes()
    if (bytes !== undefined) peakBytes = Math.max(peakBytes ?? 0, bytes)
  }
  const sampling = setInterval(sample, SAMPLE_MS)
  const startedMs = performance.now()
  try {
    await work()
    return { seconds: (performance.now() - startedMs) / 1000, peakBytes }
  } finally {
    clearInterval(sampling)
  }
}

/** Measures a push that no process can hold in memory. */
async function measureLargePush(remote: Remote, folder: string): Promise<string[]> {
  const source = await makeRepository(folder, 'huge', {
    files: 4,
    bytesOfFile: LARGE_PUSH_BYTES / 4,
  })
  const { seconds, peakBytes } = await time({ ...pushOf(source), name: 'push of 1 GiB' }, remote)
  await rm(source, { recursive: true })
  return [`push of 1 GiB, ${remote.name}`, seconds.toFixed(2), '', '', mebibytes(peakBytes)]
}

/** Creates a repository with a commit of random files. Returns its path. */
export async function makeRepository(
  folder: string,
  name: string,
  { files, bytesOfFile }: { files: number; bytesOfFile: number },
): Promise<string> {
  const path = join(folder, name)
  await mkdir(path, { recursive: true })
  await git(path, 'init', '-q', '-b', 'main')
  for (let i = 0; i < files; i++)
    await writeFile(join(path, `file${i}.bin`), randomBytes(bytesOfFile))
  await git(path, 'add', '.')
  await git(path, 'commit', '-q', '-m', 'everything')
  // One pack, so that the bench measures the transfer.
  await git(path, 'repack', '-a', '-d', '-q')
  return path
}

/** Returns the baseline and Branchline. */
export function remotesOf(servers: GitServers): readonly [baseline: Remote, own: Remote] {
  return [backendOf(servers), branchlineOf(servers)]
}

function backendOf({ backend, backendFolder }: GitServers): Remote {
  return {
    name: 'git http-backend',
    server: backend,
    async create(name) {
      await git(backendFolder, 'init', '-q', '--bare', '-b', 'main', `${name}.git`)
      return new URL(`/${name}.git`, backend.url).href
    },
  }
}

function branchlineOf({ branchline, token }: GitServers): Remote {
  return {
    name: 'Branchline',
    server: branchline,
    create: (name) => createRepository(branchline, token, name),
  }
}

/**
 * Creates an empty repository on a Branchline and returns its URL for Git, which contains the
 * token.
 */
export async function createRepository(
  server: ServerProcess,
  token: string,
  name: string,
): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await http1.ask(server.url, postJson('/api/v1/user/repos', { name }, headers))
  if (answer.status !== 201)
    throw new Error(`a repository is answered ${answer.status}: ${answer.body}`)
  const url = new URL(JSON.parse(answer.body.toString()).clone_url)
  return Object.assign(url, { username: token, password: 'x-oauth-basic' }).href
}

let names = 0

function uniqueName(): string {
  names += 1
  return `repository-${names}`
}

/** Runs Git in a folder, which is also its home folder. */
export function git(folder: string, ...args: string[]): Promise<void> {
  return gitReading('', folder, ...args)
}

/** Runs Git with an input. */
export async function gitReading(input: string, folder: string, ...args: string[]): Promise<void> {
  const identity = [
    '-c',
    'user.name=Bench',
    '-c',
    'user.email=bench@example.org',
    '-c',
    'core.fsync=none',
  ]
  // Random content: trying to compress it would take the client longer than sending it.
  const config = [
    '-c',
    'core.compression=0',
    '-c',
    'core.bigFileThreshold=1m',
    '-c',
    'http.postBuffer=1m',
  ]
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
  }
  const running = run('git', ['-C', folder, ...identity, ...config, ...args], { env })
  // A process that reads no input may end before the input is written. Its exit status says enough.
  running.child.stdin?.on('error', () => {}).end(input)
  await running
}
