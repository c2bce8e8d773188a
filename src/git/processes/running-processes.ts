import { readFileSync } from 'node:fs'
import { GitError } from '../core/errors.ts'

/**
 * All gits of this process together: how many run, and how much memory they have.
 *
 * Each git has a limit of its own, which the kernel enforces (`limitedCommand`). The limits of all
 * of them together would be more than any machine has, and mostly a git needs some megabytes. So
 * the sum is measured while gits run, and brought down where it is more than it may be.
 */

/** A git that runs. */
export interface RunningProcess {
  /** Undefined until it has one. */
  pid(): number | undefined
  /** Is told why the git, or a process that it has started, was ended. */
  onEnded(cause: GitError): void
}

/** The memory of a process. */
interface Measured {
  readonly git: RunningProcess
  readonly pid: number
  readonly bytes: number
}

/**
 * As many as all gates of the server let through together, and some more: a fault in one of them
 * must not take the machine.
 */
const MAX_RUNNING = 512

/** A git fills about 100 MiB in this time, and most gits end before it. */
const MEASURE_INTERVAL_MS = 100

/** Of the memory of all gits. Smaller processes are not what takes the memory. */
const VICTIM_SHARE = 1 / 16

/** Helpers of git have helpers at most three levels deep. */
const MAX_DEPTH = 4

/** What `--git-memory` is unless it is set. */
const DEFAULT_MAX_BYTES = 2 * 1024 ** 3

/** In the order of their start. */
const running = new Set<RunningProcess>()
let maxBytes = DEFAULT_MAX_BYTES
let warn: (
  facts: { readonly totalBytes: number; readonly endedBytes: number },
  message: string,
) => void = () => {}
let timer: NodeJS.Timeout | undefined

/**
 * Sets how much memory all gits of this process may have together.
 *
 * @param log is told when a git is ended because they have more.
 */
export function limitGitMemory(bytes: number, log: typeof warn): void {
  maxBytes = bytes
  warn = log
}

/** Most memory that all gits may have together. */
export function maxGitMemoryBytes(): number {
  return maxBytes
}

/**
 * Counts a git that is about to start.
 *
 * @returns what to call when it has ended.
 * @throws GitError BUSY when more run than may.
 */
export function countGit(git: RunningProcess): () => void {
  if (running.size >= MAX_RUNNING) throw new GitError('BUSY', 'too many processes')
  running.add(git)
  timer ??= setInterval(measure, MEASURE_INTERVAL_MS).unref()
  return () => {
    running.delete(git)
    if (running.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/**
 * Ends the youngest of the large processes, one after the other, as long as all together have more
 * than they may.
 */
function measure(): void {
  const processes = [...running].flatMap((git) => {
    const pid = git.pid()
    return pid === undefined
      ? []
      : familyOf(pid).map((member) => ({ git, pid: member, bytes: bytesOf(member) }))
  })
  let totalBytes = sum(processes)
  // What has worked longest is worth most.
  const victims = processes.filter(({ bytes }) => bytes >= maxBytes * VICTIM_SHARE).reverse()
  for (const { git, pid, bytes } of victims) {
    if (totalBytes <= maxBytes) return
    warn(
      { totalBytes, endedBytes: bytes },
      'a git was ended: all of them took more memory than they may',
    )
    git.onEnded(new GitError('BUSY', 'all gits together took more memory than they may'))
    // Only the one process: a git that moves refs has to clear up after a helper that was ended.
    endProcess(pid)
    totalBytes -= bytes
  }
}

function sum(processes: readonly Measured[]): number {
  return processes.reduce((total, { bytes }) => total + bytes, 0)
}

/** A process and its descendants (proc(5), `children`). */
function familyOf(pid: number, depth = 0): number[] {
  if (depth === MAX_DEPTH) return [pid]
  const children = readProc(`${pid}/task/${pid}/children`).split(' ').filter(Boolean)
  return [pid, ...children.flatMap((child) => familyOf(Number(child), depth + 1))]
}

/**
 * Memory of a process that is in no file and so cannot be taken back: not the packs that it reads
 * (proc(5), `RssAnon`).
 */
function bytesOf(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readProc(`${pid}/status`))?.[1] ?? 0) * 1024
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** Empty for what is not there any more. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1')
  } catch {
    return ''
  }
}
