import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Duplex, Readable, Writable } from 'node:stream'
import { GitError } from './errors.ts'

/** How a child process ended. */
export interface Exit {
  /** Exit status; null when a signal ended it. */
  readonly code: number | null
  /** What it wrote to stderr, as far as it is kept. For the log: it may name paths of this machine. */
  readonly stderr: string
}

/** A running git. */
export interface GitProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** The other end of the hooks' descriptor, on a process that runs hooks. */
  readonly hooks: Duplex | undefined
  /**
   * Resolves when it and its output have ended. Rejects when it could not be started, by GitError NO_REPOSITORY when it, or its
   * failure, comes of there being no repository.
   */
  readonly exited: Promise<Exit>
  /** Ends it and everything it started. */
  stop(): void
}

export interface SpawnOptions {
  /** Path of the bare repository to work in. */
  readonly repository: string
  /** Added to the clean environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Gives the process, and so every hook of it, descriptor 3, a stream in both directions. */
  readonly hooks?: boolean
}

/** Descriptor that hooks talk to the server over; `push-review.ts` has the other end. */
const HOOKS_DESCRIPTOR = 3

/** Kept of stderr: enough for the reason, whatever a client makes Git complain about. */
const MAX_STDERR_CHARACTERS = 8 * 1024

/**
 * Most that git allocates in one piece: a pack of a few KiB can have deltas that grow to many GiB. Objects that come whole are read
 * in parts beyond 512 MiB (`core.bigFileThreshold` of git-config(1)), and lists of objects are smaller than this.
 */
const MAX_ALLOCATION = '1g'

/** What git may take to remove its temporary files and locks after SIGTERM (its own signal handlers do so). */
const STOP_GRACE_MS = 5_000

/**
 * Configuration of every git. Neither the machine's nor its user's is read, so that this is all there is besides that of the
 * repository; the sources are git-config(1).
 */
const CONFIG = [
  // As in `repository-handles.ts`.
  'safe.directory=*',
  // What was acknowledged stays; the default leaves loose objects and refs to the kernel. `batch` costs one flush for all of them.
  'core.fsync=committed',
  'core.fsyncMethod=batch',
  // Maintenance in the background would outlive the process that we bound.
  'gc.auto=0',
  'maintenance.auto=false',
  'receive.autogc=false',
  'core.hooksPath=/dev/null',
  // Whoever pushes below `refs/replace/` must not decide what others are shown for an object.
  'core.useReplaceRefs=false',
]

/**
 * Starts git with nothing of our environment and a process group of its own.
 *
 * @param args the command and its arguments, which git takes as they are: there is no shell.
 */
export function spawnGit(args: readonly string[], { repository, env, hooks = false }: SpawnOptions): GitProcess {
  const child = spawn('git', [...CONFIG.flatMap((entry) => ['-c', entry]), ...args], {
    cwd: repository,
    // Named, lest git look for one in the folders above when this is none.
    env: { ...cleanEnvironment(), GIT_DIR: repository, ...env },
    stdio: hooks ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
    // Its own group, so that a signal reaches the helpers it starts.
    detached: true,
  })
  const exited = exitOf(child, repository)
  // Who does not ask how it ended has stopped it.
  exited.catch(() => {})
  // A process that ends before it has read everything is no fault; that it ended says enough.
  child.stdin?.on('error', () => {})
  const channel = child.stdio[HOOKS_DESCRIPTOR] as Duplex | null | undefined
  channel?.on('error', () => {})
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('git was started without pipes')
  return { stdin, stdout, hooks: channel ?? undefined, exited, stop: () => stop(child) }
}

/** What git printed, when it has ended. For commands with little output. */
export interface Printed extends Exit {
  readonly stdout: string
}

/** Runs git to its end. */
export async function runGit(args: readonly string[], options: SpawnOptions, input = ''): Promise<Printed> {
  const git = spawnGit(args, options)
  git.stdin.end(input)
  let stdout = ''
  git.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  return { ...(await git.exited), stdout }
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

/** The configuration of every git as variables, for what others start (git-config(1), ENVIRONMENT). */
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

function exitOf(child: ChildProcess, repository: string): Promise<Exit> {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < MAX_STDERR_CHARACTERS) stderr = (stderr + text).slice(0, MAX_STDERR_CHARACTERS)
  })
  return new Promise((resolve, reject) => {
    // The folder may have gone before git was in it, or before git has read what it needs.
    const isMissing = () => !existsSync(repository)
    const missing = () => new GitError('NO_REPOSITORY', `there is no repository ${repository}`)
    child.once('error', (error) => reject(isMissing() ? missing() : error))
    child.once('close', (code) => {
      if (code !== 0 && isMissing()) reject(missing())
      else resolve({ code, stderr })
    })
  })
}

function stop(child: ChildProcess): void {
  if (!signalGroup(child, 'SIGTERM')) return
  const impatience = setTimeout(() => signalGroup(child, 'SIGKILL'), STOP_GRACE_MS)
  child.once('close', () => clearTimeout(impatience))
  // Nobody reads on, and an unread pipe would keep the process from being seen as closed.
  child.stdout?.resume()
}

/** Returns whether there was anything to signal. A group that is empty may not be signalled: its id can be anybody's by now. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): boolean {
  // A helper that survives the leader of the group holds its output open.
  const gone = child.exitCode !== null || child.signalCode !== null
  if (child.pid === undefined || (gone && child.stdout?.destroyed !== false)) return false
  try {
    return process.kill(-child.pid, signal)
  } catch {
    return false
  }
}
