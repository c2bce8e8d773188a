import { readFileSync } from 'node:fs'
import { GitError } from '../core/errors.ts'
import { ProcessLimit } from './process-limits.ts'
import type { ProcessSpawner } from './process-spawner.ts'

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

/**
 * Processes that the server runs for itself at a time, such as to record moved refs.
 */
const MAX_OWN = 32

/** Default of `--git-memory`. */
const DEFAULT_MAX_BYTES = 2 * 1024 ** 3

/** Reports that a process was ended because all of them together had too much memory. */
export type WarnOfMemory = (
  facts: { readonly totalBytes: number; readonly endedBytes: number },
  message: string,
) => void

/** The Git processes of a server: their number, their memory, and the program that starts them. */
export class GitProcesses {
  /** In the order of their start. */
  readonly #running = new Set<RunningProcess>()
  readonly #own = new ProcessLimit(MAX_OWN, Number.POSITIVE_INFINITY)
  #maxBytes = DEFAULT_MAX_BYTES
  #warn: WarnOfMemory = () => {}
  #timer: NodeJS.Timeout | undefined
  /** Starts the processes. Undefined where this process starts them itself. */
  spawner: ProcessSpawner | undefined

  /** Sets the memory that all processes together may have. */
  limitMemory(bytes: number, warn: WarnOfMemory): void {
    this.#maxBytes = bytes
    this.#warn = warn
  }

  /** Maximum memory of all processes together. */
  get maxMemoryBytes(): number {
    return this.#maxBytes
  }

  /**
   * Waits for the limit of processes that the server runs for itself, such as to record moved refs.
   * These do not wait behind readers and are never refused. A caller that holds a slot must not ask
   * for another one.
   *
   * @returns a function that releases the slot.
   */
  enterOwn(): Promise<() => void> {
    return this.#own.enter()
  }

  /**
   * Counts a process that is about to start.
   *
   * @returns a function to call when the process has ended.
   * @throws GitError BUSY when too many processes run.
   */
  count(git: RunningProcess): () => void {
    if (this.#running.size >= MAX_RUNNING) throw new GitError('BUSY', 'too many processes')
    this.#running.add(git)
    this.#timer ??= setInterval(() => this.#measure(), MEASURE_INTERVAL_MS).unref()
    return () => {
      this.#running.delete(git)
      if (this.#running.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  /** Ends the youngest large processes, one by one, while all together have too much memory. */
  #measure(): void {
    const processes = [...this.#running].flatMap((git) => {
      const pid = git.pid()
      return pid === undefined
        ? []
        : familyOf(pid).map((member) => ({ git, pid: member, bytes: bytesOf(member) }))
    })
    let totalBytes = sum(processes)
    // The work of an older process is worth more.
    const victims = processes
      .filter(({ bytes }) => bytes >= this.#maxBytes * VICTIM_SHARE)
      .reverse()
    for (const { git, pid, bytes } of victims) {
      if (totalBytes <= this.#maxBytes) return
      this.#warn(
        { totalBytes, endedBytes: bytes },
        'a Git process was ended: all of them together took more memory than allowed',
      )
      git.onEnded(new GitError('BUSY', 'all Git processes together took more memory than allowed'))
      // Only the one process: a Git process that moves refs must clean up after an ended helper.
      endProcess(pid)
      totalBytes -= bytes
    }
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
