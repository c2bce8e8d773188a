import { readFileSync } from 'node:fs'
import { GitError } from '../core/errors.ts'
import { createProcessSlots } from './process-slots.ts'
import type { ProcessSpawner } from './process-spawner.ts'
import { currentHolder } from './readers.ts'

/** A Git process that is counted. */
export interface RunningProcess {
  /** Returns the process id. Undefined until the process runs. */
  pid(): number | undefined
  /** Receives the reason why the process or a descendant was ended. */
  onEnded(cause: GitError): void
}

/** The memory of a process. */
interface Measured {
  readonly git: RunningProcess
  readonly pid: number
  readonly bytes: number
}

/**
 * More than all process limits of the server allow together. Protects the machine from a fault in
 * one of them.
 */
const MAX_RUNNING = 512

/** A Git process fills about 100 MiB in this time. Most processes end earlier. */
const MEASURE_INTERVAL_MS = 100

/** Smallest share of the memory limit at which a process can be ended. */
const VICTIM_SHARE = 1 / 16

/** Git starts helpers at most three levels deep. */
const MAX_DEPTH = 4

/** Background processes at a time. */
const MAX_BACKGROUND = 32

/** Default of `--git-memory`. */
const DEFAULT_MAX_BYTES = 2 * 1024 ** 3

/** Reports that a process was ended because all processes together took too much memory. */
export type WarnOfMemory = (
  facts: { readonly totalBytes: number; readonly endedBytes: number },
  message: string,
) => void

/** The memory of Git processes where several servers on this machine share one limit. */
export interface SharedGitMemory {
  /** The part of the limit that this server may use whatever the others need, up to 1. */
  readonly share: number
  /** Memory of the Git processes of the others. */
  readonly bytesOfOthers: number
  /** Tells the others about the Git processes of this server. */
  report(bytes: number): void
}

/**
 * The Git processes of a server: their number, their memory and the program that starts them.
 *
 * The kernel enforces a memory limit for each process (`limitedCommand`). The sum of these limits
 * exceeds the memory of any machine, while most processes need a few megabytes. The server
 * therefore measures the sum and ends processes when it exceeds the limit.
 */
export class GitProcesses {
  /** In the order of their start. */
  readonly #running = new Set<RunningProcess>()
  readonly #background = createProcessSlots({
    max: MAX_BACKGROUND,
    maxWaiting: Number.POSITIVE_INFINITY,
  })
  #maxBytes = DEFAULT_MAX_BYTES
  #shared: SharedGitMemory | undefined
  #warn: WarnOfMemory = () => {}
  #timer: NodeJS.Timeout | undefined
  /** Memory of the processes at the last measurement. */
  #usedBytes = 0
  /** Starts the processes. Undefined where this process starts them itself. */
  spawner: ProcessSpawner | undefined

  /** Sets the memory that all processes together may have, those of other servers included. */
  limitMemory(bytes: number, warn: WarnOfMemory, shared?: SharedGitMemory): void {
    this.#maxBytes = bytes
    this.#shared = shared
    this.#warn = warn
  }

  /** Limit of the memory of all processes together. */
  get maxMemoryBytes(): number {
    return this.#maxBytes
  }

  /** Memory that processes may still take, as far as it is known. */
  get freeMemoryBytes(): number {
    return this.#maxBytes - this.#usedBytes - (this.#shared?.bytesOfOthers ?? 0)
  }

  /**
   * Waits for a slot for a background process, such as one that records moved refs. These processes
   * do not wait behind readers and are never refused. A caller that holds a slot must not ask for
   * another one.
   *
   * @returns a function that releases the slot.
   */
  acquireBackgroundSlot(): Promise<() => void> {
    return this.#background.acquire({ holder: currentHolder() })
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
      this.#usedBytes = 0
      this.#shared?.report(0)
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
    let ownBytes = sum(processes)
    this.#usedBytes = ownBytes
    const bytesOfOthers = this.#shared?.bytesOfOthers ?? 0
    this.#shared?.report(ownBytes)
    // When each server has either its share or what the others leave, all have the limit at most.
    const maxOwnBytes = Math.max(
      this.#maxBytes - bytesOfOthers,
      this.#maxBytes * (this.#shared?.share ?? 1),
    )
    // The work of an older process is worth more.
    const victims = processes
      .filter(({ bytes }) => bytes >= this.#maxBytes * VICTIM_SHARE)
      .reverse()
    for (const { git, pid, bytes } of victims) {
      if (ownBytes <= maxOwnBytes) return
      this.#warn(
        { totalBytes: ownBytes + bytesOfOthers, endedBytes: bytes },
        'a Git process was ended: all of them together took more memory than allowed',
      )
      git.onEnded(new GitError('BUSY', 'all Git processes together took more memory than allowed'))
      // Not the process group: a Git process that moves refs must clean up after an ended helper.
      endProcess(pid)
      ownBytes -= bytes
    }
  }
}

function sum(processes: readonly Measured[]): number {
  return processes.reduce((total, { bytes }) => total + bytes, 0)
}

/** Returns a process and its descendants (proc(5), `children`). */
function familyOf(pid: number, depth = 0): number[] {
  if (depth === MAX_DEPTH) return [pid]
  const children = readProc(`${pid}/task/${pid}/children`).split(' ').filter(Boolean)
  return [pid, ...children.flatMap((child) => familyOf(Number(child), depth + 1))]
}

/**
 * Returns the anonymous memory of a process, which the kernel cannot reclaim (proc(5), `RssAnon`).
 * Mapped packs do not count.
 */
function bytesOf(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readProc(`${pid}/status`))?.[1] ?? 0) * 1024
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended.
  }
}

/** Returns a file of /proc. Empty when the process has ended. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1')
  } catch {
    return ''
  }
}
