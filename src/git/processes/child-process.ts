import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { GitError } from '../core/errors.ts'
import { limitedCommand } from './git-command.ts'
import { keepBeginning } from './pooled-text.ts'
import { type GitStart, signalGroup } from './process-spawner.ts'
import type { Exit, GitProcess, RunningGit } from './running-git.ts'
import type { GitProcesses } from './running-processes.ts'

export interface SpawnOptions {
  readonly processes: GitProcesses
  /** Path of the bare repository to work in. */
  readonly repository: string
  /** Added to the clean environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Gives the process, and so every hook of it, descriptor 3, a stream in both directions. */
  readonly hooks?: boolean
  /** After which it is stopped; `DEFAULT_TIMEOUT_MS` unless it is said otherwise. */
  readonly timeoutMs?: number
  /**
   * Memory of each of its processes; `DEFAULT_MAX_MEMORY_BYTES` unless it is said otherwise. Never
   * more than all gits may have.
   */
  readonly maxMemoryBytes?: number
}

/** For a git that answers about some refs or objects. */
const DEFAULT_TIMEOUT_MS = 60_000

/**
 * More than comparing two files of `MAX_TEXT_BYTES` takes that have nothing but line ends, and more
 * than a walk through a history of a million commits.
 */
const DEFAULT_MAX_MEMORY_BYTES = 512 * 1024 ** 2

/** Descriptor that hooks talk to the server over; `push-review.ts` has the other end. */
const HOOKS_DESCRIPTOR = 3

/**
 * Most that git allocates in one piece: a pack of a few KiB can have deltas that grow to many GiB.
 * Larger objects that come whole are read in parts, and lists of objects are smaller than this.
 */
const MAX_ALLOCATION = '1g'

/**
 * What git may take to remove its temporary files and locks after SIGTERM (its own signal handlers
 * do so).
 */
const STOP_GRACE_MS = 5_000

/**
 * Configuration of every git. Neither the machine's nor its user's is read, so that this is all
 * there is besides that of the repository; the sources are git-config(1).
 */
const CONFIG = [
  // As in `repository-handles.ts`.
  'safe.directory=*',
  // What was acknowledged stays; the default leaves loose objects and refs to the kernel. `batch`
  // costs one flush for all of them.
  'core.fsync=committed',
  'core.fsyncMethod=batch',
  // Maintenance in the background would outlive the process that we bound.
  'gc.auto=0',
  'maintenance.auto=false',
  'receive.autogc=false',
  'core.hooksPath=/dev/null',
  // Whoever pushes below `refs/replace/` must not decide what others are shown for an object.
  'core.useReplaceRefs=false',
  // A larger blob is read in parts and stored without deltas: nobody looks for what two of them
  // have in common.
  'core.bigFileThreshold=16m',
  // For each thread. The defaults have no limit, and a quarter of a gibibyte.
  'pack.windowMemory=64m',
  'pack.deltaCacheSize=64m',
]

/**
 * What git says when it cannot allocate (wrapper.c and usage.c of Git 2.39; `LC_ALL` is C), or who
 * runs a part of it.
 */
const OUT_OF_MEMORY = /fatal: Out of memory|attempting to allocate \d+ over limit|out of memory/

/**
 * Starts git with nothing of our environment and a process group of its own.
 *
 * Every git of the server comes from here: it has a deadline and a limit of its memory, and counts
 * among those that run.
 *
 * @param args the command and its arguments, which git takes as they are.
 * @throws GitError BUSY when more run than may.
 */
export function spawnGit(args: readonly string[], options: SpawnOptions): GitProcess {
  const { processes, repository, env, hooks = false, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  let running: RunningGit | undefined
  let cause: GitError | undefined
  const uncount = processes.count({
    pid: () => running?.pid(),
    onEnded: (reason) => {
      cause ??= reason
    },
  })
  const start = {
    maxMemoryBytes: Math.min(
      options.maxMemoryBytes ?? DEFAULT_MAX_MEMORY_BYTES,
      processes.maxMemoryBytes,
    ),
    args: [...CONFIG.flatMap((entry) => ['-c', entry]), ...args],
    cwd: repository,
    // Named, lest git look for one in the folders above when this is none.
    env: { ...cleanEnvironment(), GIT_DIR: repository, ...env },
    hooks,
  }
  let git: RunningGit
  try {
    git = processes.spawner?.start(start) ?? startHere(start)
  } catch (error) {
    uncount()
    throw error
  }
  running = git
  const deadline = setTimeout(() => {
    cause ??= new GitError('TIMEOUT', 'a git took longer than it may')
    stop(git)
  }, timeoutMs)
  const end = () => {
    clearTimeout(deadline)
    uncount()
  }
  git.exited.then(end, end)
  const exited = explainExit(git.exited, repository, () => cause)
  // Who does not ask how it ended has stopped it.
  exited.catch(() => {})
  // A process that ends before it has read everything is no fault; that it ended says enough.
  git.stdin.on('error', () => {})
  git.hooks?.on('error', () => {})
  const { stdin, stdout } = git
  return { stdin, stdout, hooks: git.hooks, exited, stop: () => stop(git) }
}

/** What git printed, when it has ended. For commands with little output. */
export interface Printed extends Exit {
  readonly stdout: string
}

/** Runs git to its end, for the server itself. */
export async function runGit(
  args: readonly string[],
  options: SpawnOptions,
  input = '',
): Promise<Printed> {
  const leave = await options.processes.enterOwn()
  try {
    const git = spawnGit(args, options)
    git.stdin.end(input)
    let stdout = ''
    git.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    return { ...(await git.exited), stdout }
  } finally {
    leave()
  }
}

/**
 * The same for what prints much, which is given out as it comes. Leaving the iteration early ends
 * the process.
 */
export async function* printedByGit(
  args: readonly string[],
  options: SpawnOptions,
  input = '',
): AsyncGenerator<Buffer, void, undefined> {
  const leave = await options.processes.enterOwn()
  let git: GitProcess | undefined
  try {
    git = spawnGit(args, options)
    git.stdin.end(input)
    yield* git.stdout
    const { code, stderr } = await git.exited
    if (code !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  } finally {
    git?.stop()
    leave()
  }
}

/** Nothing of our own environment but where programs are. */
export function cleanEnvironment(): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    // Messages are read by programs.
    LC_ALL: 'C',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    // Read by `memory_limit_check` in git's wrapper.c.
    GIT_ALLOC_LIMIT: MAX_ALLOCATION,
  }
}

/**
 * The configuration of every git as variables, for what others start (git-config(1), ENVIRONMENT).
 */
export function configEnvironment(): Record<string, string> {
  const entries = CONFIG.map((entry) => entry.split('='))
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(entries.length)],
    ...entries.flatMap(([key = '', value = ''], i) => [
      [`GIT_CONFIG_KEY_${i}`, key],
      [`GIT_CONFIG_VALUE_${i}`, value],
    ]),
  ])
}

/** Starts git without a starter. */
function startHere({ args, cwd, env, hooks, maxMemoryBytes }: GitStart): RunningGit {
  const child = spawn(...limitedCommand(maxMemoryBytes, args), {
    cwd,
    env,
    stdio: hooks ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
    // Its own group, so that a signal reaches the helpers it starts.
    detached: true,
  })
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('git was started without pipes')
  const channel = child.stdio[HOOKS_DESCRIPTOR] as Duplex | null | undefined
  return {
    stdin,
    stdout,
    hooks: channel ?? undefined,
    exited: exitOf(child),
    pid: () => child.pid,
    signal: (name) => signalChild(child, name),
  }
}

function exitOf(child: ChildProcess): Promise<Exit> {
  const stderr = keepBeginning(child.stderr)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stderr: stderr.text }))
  })
}

function signalChild(child: ChildProcess, signal: NodeJS.Signals): boolean {
  // A helper that survives the leader of the group holds its output open.
  const gone = child.exitCode !== null || child.signalCode !== null
  if (child.pid === undefined || (gone && child.stdout?.destroyed !== false)) return false
  return signalGroup(child.pid, signal)
}

/**
 * @param causeOf why it was ended, if it was.
 * @throws GitError NO_REPOSITORY when that is why it failed: the folder may have gone before git
 *   was in it, or had read what it needs; the cause, OUT_OF_MEMORY.
 */
async function explainExit(
  exited: Promise<Exit>,
  repository: string,
  causeOf: () => GitError | undefined,
): Promise<Exit> {
  const isMissing = () => !existsSync(repository)
  const missing = () => new GitError('NO_REPOSITORY', `there is no repository ${repository}`)
  const exit = await exited.catch((error: unknown) => {
    throw isMissing() ? missing() : error
  })
  if (exit.code === 0) return exit
  const cause = causeOf()
  if (cause) throw cause
  if (isMissing()) throw missing()
  if (OUT_OF_MEMORY.test(exit.stderr)) throw new GitError('OUT_OF_MEMORY', exit.stderr)
  return exit
}

function stop(git: RunningGit): void {
  if (!git.signal('SIGTERM')) return
  const impatience = setTimeout(() => git.signal('SIGKILL'), STOP_GRACE_MS)
  const end = () => clearTimeout(impatience)
  git.exited.then(end, end)
  // Nobody reads on, and an unread pipe would keep the process from being seen as closed.
  git.stdout.resume()
}
