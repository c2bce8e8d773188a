import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { GitError } from '../core/errors.ts'
import { limitedCommand } from './git-command.ts'
import type { Priority } from './priority.ts'
import { type SpawnRequest, signalGroup } from './process-spawner.ts'
import type { Exit, GitProcess, RunningGit } from './running-git.ts'
import type { GitProcesses } from './running-processes.ts'
import { collectStderr } from './stderr-text.ts'

export interface SpawnOptions {
  readonly processes: GitProcesses
  /** Path of the bare repository to work in. */
  readonly repository: string
  /** Added to the clean environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether the process and its hooks get descriptor 3, a stream in both directions. */
  readonly hooks?: boolean
  /** Time after which the process is stopped. Default: `DEFAULT_TIMEOUT_MS`. */
  readonly timeoutMs?: number
  /**
   * Memory limit of the process and of each helper. Default: `DEFAULT_MAX_MEMORY_BYTES`. Never more
   * than the limit of all Git processes together.
   */
  readonly maxMemoryBytes?: number
  /** Kind of work, which the priority depends on. Default: `call`. */
  readonly priority?: Priority
}

/** Enough to read some refs or objects. */
const DEFAULT_TIMEOUT_MS = 60_000

/**
 * Enough to compare two files of `MAX_TEXT_BYTES` that consist of empty lines, and to walk through
 * a history of a million commits.
 */
const DEFAULT_MAX_MEMORY_BYTES = 512 * 1024 ** 2

/** Descriptor over which hooks talk to the server (`push-review.ts`). */
const HOOKS_DESCRIPTOR = 3

/**
 * Largest single allocation of Git: a pack of a few KiB can contain deltas that expand to many GiB.
 * Git reads larger objects without deltas in parts, and lists of objects are smaller.
 */
const MAX_ALLOCATION = '1g'

/** Time that Git gets after SIGTERM. Its signal handlers remove temporary files and locks. */
const STOP_GRACE_MS = 5_000

/**
 * Configuration of all Git processes (git-config(1)). Git does not read the configuration of the
 * system or the user, so only the repository's own configuration is added.
 */
const CONFIG = [
  // The reason is in `repository-handles.ts`.
  'safe.directory=*',
  // Acknowledged changes survive a crash. The default does not flush loose objects and refs.
  // `batch` flushes all of them at once.
  'core.fsync=committed',
  'core.fsyncMethod=batch',
  // Background maintenance would outlive the process and its limits.
  'gc.auto=0',
  'maintenance.auto=false',
  // A writer of refs waits for this time while `git pack-refs` writes all of them. The default is a
  // second.
  'core.packedRefsTimeout=10000',
  // The same for a single ref, whose lock `git pack-refs` holds for a moment. The default of 100 ms is
  // shorter than a process waits for a busy core.
  'core.filesRefLockTimeout=2000',
  'receive.autogc=false',
  'core.hooksPath=/dev/null',
  // A push to `refs/replace/` must not change the objects that other users see.
  'core.useReplaceRefs=false',
  // Git reads larger blobs in parts and stores them without searching for deltas.
  'core.bigFileThreshold=16m',
  // For each thread. The default of the window is no limit, that of the cache is 256 MiB.
  'pack.windowMemory=64m',
  'pack.deltaCacheSize=64m',
]

/** Messages of Git and its helpers about failed allocations (wrapper.c, usage.c of Git 2.39). */
const OUT_OF_MEMORY = /fatal: Out of memory|attempting to allocate \d+ over limit|out of memory/

/**
 * Starts a Git process with a clean environment, a process group, a time limit and a memory limit.
 * The server starts all its Git processes by this function.
 *
 * @param args the Git command and its arguments.
 * @throws GitError BUSY when too many processes run.
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
    // Without GIT_DIR, Git would search the parent folders when this is not a repository.
    env: { ...cleanEnvironment(), GIT_DIR: repository, ...env },
    hooks,
    priority: options.priority ?? 'call',
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
    cause ??= new GitError('TIMEOUT', 'a Git process exceeded its time limit')
    stop(git)
  }, timeoutMs)
  const end = () => {
    clearTimeout(deadline)
    uncount()
  }
  git.exited.then(end, end)
  const exited = explainExit(git.exited, repository, () => cause)
  // A caller that does not wait for the end has stopped the process.
  exited.catch(() => {})
  // A process may end before it has read all its input. `exited` reports the failure, if any.
  git.stdin.on('error', () => {})
  git.hooks?.on('error', () => {})
  const { stdin, stdout } = git
  return { stdin, stdout, hooks: git.hooks, exited, stop: () => stop(git) }
}

/** The end and the complete output of a Git process. For commands with little output. */
export interface Printed extends Exit {
  readonly stdout: string
}

/** Runs a background Git process to its end. */
export async function runGit(
  args: readonly string[],
  options: SpawnOptions,
  input = '',
): Promise<Printed> {
  const release = await options.processes.acquireBackgroundSlot()
  try {
    const git = spawnGit(args, options)
    git.stdin.end(input)
    let stdout = ''
    git.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    return { ...(await git.exited), stdout }
  } finally {
    release()
  }
}

/**
 * Runs a background Git process and yields its output. Leaving the iteration early ends the
 * process.
 */
export async function* printedByGit(
  args: readonly string[],
  options: SpawnOptions,
  input = '',
): AsyncGenerator<Buffer, void, undefined> {
  const release = await options.processes.acquireBackgroundSlot()
  let git: GitProcess | undefined
  try {
    git = spawnGit(args, options)
    git.stdin.end(input)
    yield* git.stdout
    const { code, stderr } = await git.exited
    if (code !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  } finally {
    git?.stop()
    release()
  }
}

/** Returns an environment that contains only PATH of the server's environment. */
export function cleanEnvironment(): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    // The server parses messages, which must not be translated.
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
 * Returns the configuration of all Git processes as environment variables, for Git processes that
 * hooks start (git-config(1), ENVIRONMENT).
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

/** Starts a Git process without the process spawner. */
function startHere(request: SpawnRequest): RunningGit {
  const { args, cwd, env, hooks } = request
  const child = spawn(...limitedCommand(request, args), {
    cwd,
    env,
    stdio: hooks ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
    // A process group, so a signal reaches the helpers of the process.
    detached: true,
  })
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('Git was started without pipes')
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
  const stderr = collectStderr(child.stderr)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stderr: stderr.text }))
  })
}

function signalChild(child: ChildProcess, signal: NodeJS.Signals): boolean {
  // A helper that outlives the group leader keeps the output open.
  const gone = child.exitCode !== null || child.signalCode !== null
  if (child.pid === undefined || (gone && child.stdout?.destroyed !== false)) return false
  return signalGroup(child.pid, signal)
}

/**
 * Waits for the end of a process and explains a failure.
 *
 * @param causeOf returns the reason why the server ended the process, if it did.
 * @throws GitError the reason of the server; NO_REPOSITORY when the folder was deleted before Git
 *   had read it; OUT_OF_MEMORY
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
  const kill = setTimeout(() => git.signal('SIGKILL'), STOP_GRACE_MS)
  const end = () => clearTimeout(kill)
  git.exited.then(end, end)
  // No one reads the rest, and Node reports the end only after all output has been read.
  git.stdout.resume()
}
