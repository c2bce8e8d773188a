import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Duplex, Readable, Writable } from 'node:stream'
import { GitError } from './errors.ts'
import { type GitStart, gitStarter, signalGroup } from './git-starter.ts'
import { keepBeginning } from './kept-text.ts'

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

/** A git, by whomever it was started. */
export interface RunningGit extends Pick<GitProcess, 'stdin' | 'stdout' | 'hooks'> {
  /** Resolves when it and its output have ended. Rejects when it could not be started. */
  readonly exited: Promise<Exit>
  /**
   * Signals it and everything it started. Returns whether there was anything to signal: a group that is empty may not be, since its
   * id can be anybody's by now.
   */
  signal(name: NodeJS.Signals): boolean
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
  const start = {
    args: [...CONFIG.flatMap((entry) => ['-c', entry]), ...args],
    cwd: repository,
    // Named, lest git look for one in the folders above when this is none.
    env: { ...cleanEnvironment(), GIT_DIR: repository, ...env },
    hooks,
  }
  const git = gitStarter()?.start(start) ?? startHere(start)
  const exited = explainExit(git.exited, repository)
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

/** Starts git without a starter. */
function startHere({ args, cwd, env, hooks }: GitStart): RunningGit {
  const child = spawn('git', args, {
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

/** @throws GitError NO_REPOSITORY when that is why it failed: the folder may have gone before git was in it, or had read what it needs. */
async function explainExit(exited: Promise<Exit>, repository: string): Promise<Exit> {
  const isMissing = () => !existsSync(repository)
  const missing = () => new GitError('NO_REPOSITORY', `there is no repository ${repository}`)
  const exit = await exited.catch((error: unknown) => {
    throw isMissing() ? missing() : error
  })
  if (exit.code !== 0 && isMissing()) throw missing()
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
