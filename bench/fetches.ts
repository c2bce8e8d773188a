import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type GitServers, git, gitReading, type Remote, remotesOf } from './git.ts'
import { median } from './measure.ts'
import { table } from './report.ts'
import { sized } from './sizes.ts'

const ROUNDS = sized(5, 1)

/** The system counts CPU time in hundredths of a second, which these share. */
const FETCHES_OF_ROUND = sized(100, 1)

const FEW = 10
const MANY = sized(2000, 20)

/** The server keeps refs in memory once their files are some seconds old. */
const SETTLING_MS = sized(3000, 0)

/** A command that finds nothing new, in a clone. */
interface Trial {
  readonly name: string
  readonly branches: number
  readonly args: readonly string[]
}

const TRIALS: readonly Trial[] = [
  { name: `git ls-remote, ${FEW} branches`, branches: FEW, args: ['ls-remote', '-q', 'origin'] },
  {
    name: `git ls-remote, ${FEW} branches, version 0`,
    branches: FEW,
    args: ['-c', 'protocol.version=0', 'ls-remote', '-q', 'origin'],
  },
  { name: `git fetch, ${FEW} branches`, branches: FEW, args: ['fetch', '-q', 'origin'] },
  { name: `git fetch, ${MANY} branches`, branches: MANY, args: ['fetch', '-q', 'origin'] },
]

interface Timing {
  readonly ms: number
  /** CPU time of the server and of its processes. */
  readonly cpuMs: number
}

/**
 * Asks both servers for refs of which the client has all, alternately, and prints the durations and
 * the CPU time of the servers.
 */
export async function measureFetches(servers: GitServers): Promise<string> {
  const remotes = remotesOf(servers)
  const clones = new Map<string, string>()
  for (const branches of [FEW, MANY])
    for (const remote of remotes)
      clones.set(cloneKey(remote, branches), await makeClone(servers, remote, branches))
  await new Promise((resolve) => setTimeout(resolve, SETTLING_MS))
  const rows: string[][] = []
  for (const trial of TRIALS) {
    process.stderr.write(`fetches: ${trial.name} …\n`)
    rows.push(...(await compare(trial, remotes, clones)))
  }
  return table(['Fetches of nothing new', 'ms', 'ratio', 'CPU ms', 'CPU ratio', 'of'], rows)
}

/** Returns a row for each of the two servers. */
async function compare(
  trial: Trial,
  [baseline, own]: readonly [Remote, Remote],
  clones: ReadonlyMap<string, string>,
): Promise<string[][]> {
  const rounds: [Timing, Timing][] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const timings: [Timing, Timing] = [
      await time(trial, baseline, clones),
      await time(trial, own, clones),
    ]
    // The first round warms up.
    if (round > 0) rounds.push(timings)
  }
  const medianOf = (figure: (round: [Timing, Timing]) => number) =>
    median(rounds.map(figure)).toFixed(2)
  const name = ({ name }: Remote) => `${trial.name}, ${name}`
  return [
    [name(baseline), medianOf(([it]) => it.ms), '', medianOf(([it]) => it.cpuMs), '', ''],
    [
      name(own),
      medianOf(([, it]) => it.ms),
      medianOf(([first, second]) => first.ms / second.ms),
      medianOf(([, it]) => it.cpuMs),
      medianOf(([first, second]) => first.cpuMs / second.cpuMs),
      baseline.name,
    ],
  ]
}

/** Runs the command one after the other. Returns the figures of one. */
async function time(
  { args, branches }: Trial,
  remote: Remote,
  clones: ReadonlyMap<string, string>,
): Promise<Timing> {
  const clone = clones.get(cloneKey(remote, branches)) ?? ''
  const cpuBeforeMs = remote.server.cpuMs() ?? Number.NaN
  const startedMs = performance.now()
  for (let i = 0; i < FETCHES_OF_ROUND; i++) await git(clone, ...args)
  const elapsedMs = performance.now() - startedMs
  const cpuMs = (remote.server.cpuMs() ?? Number.NaN) - cpuBeforeMs
  return { ms: elapsedMs / FETCHES_OF_ROUND, cpuMs: cpuMs / FETCHES_OF_ROUND }
}

function cloneKey({ name }: Remote, branches: number): string {
  return `${name} ${branches}`
}

/** Creates a repository with branches on a server. Returns the folder of a clone that has all. */
async function makeClone(
  { workFolder }: GitServers,
  remote: Remote,
  branches: number,
): Promise<string> {
  const url = await remote.create(`fetched-${branches}`)
  const clone = join(workFolder, `${remote.name.replaceAll(' ', '-')}-${branches}`)
  await mkdir(clone)
  await git(clone, 'init', '-q', '-b', 'main')
  const commits = Array.from({ length: branches }, (_, i) => {
    const name = i === 0 ? 'main' : `branch-${i}`
    const person = `Bench <bench@example.org> ${1_700_000_000 + i} +0000`
    return `commit refs/heads/${name}\ncommitter ${person}\ndata 5\nwork\n\n`
  })
  await gitReading(commits.join(''), clone, 'fast-import', '--quiet')
  await git(clone, 'remote', 'add', 'origin', url)
  await git(clone, 'push', '-q', 'origin', 'refs/heads/*')
  await git(clone, 'fetch', '-q', 'origin')
  return clone
}
