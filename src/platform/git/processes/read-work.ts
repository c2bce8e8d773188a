import type { Holder } from '../../concurrency/holders.ts'
import { currentReader, type Reader } from './readers.ts'

// Whoever pushes a pack chooses what its objects cost to read: the deltas that lead to a tree of
// 200 bytes can take a second. Each read in this process therefore counts its work. The unit is the
// time to inflate one byte, about 1.6 ns.

/** Work to find an object, to read an entry of a pack and to begin its inflation: about 13 us. */
export const ENTRY_WORK = 8 * 1024

/** Work of a delta instruction. The most expensive ones copy about 30 bytes. */
export const INSTRUCTION_WORK = 16

/** Bytes that are copied or hashed as fast as one byte is inflated, with a margin. */
const BYTES_PER_WORK = 2

/** Work of an entry of a tree or of a line of a commit that becomes text. */
export const TEXT_WORK = 256

/**
 * Work of one object, with all deltas that lead to it: about 3 ms. A Git process costs more, and reads
 * what exceeds this.
 */
export const MAX_OBJECT_WORK = 2 * 1024 ** 2

/** Work of one request: about 100 ms. Git processes, whose number is limited, read the rest. */
export const MAX_REQUEST_WORK = 64 * 1024 ** 2

/** Work in one turn of the event loop, beside its last object. The rest waits for later turns. */
export const MAX_TURN_WORK = 1024 ** 2

/** Returns the work to copy or hash bytes. */
export function copyWork(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_WORK)
}

/** An object exceeds its work, or that of the request. */
class TooMuchWork extends Error {}

/** The work of all reads in the turns of the event loop. */
export class ReadTurns {
  #spent = 0
  #isScheduled = false
  /** Reads that wait, by holder. The holders take turns. */
  readonly #waiting = new Map<Holder, (() => void)[]>()
  readonly #budgets = new WeakMap<Reader, ReadBudget>()
  /** Work in the turn that had the most of it, and in all turns. */
  largest = 0
  total = 0

  /** Returns the budget of the present request. Outside of requests, each call gets its own. */
  budget(): ReadBudget {
    const reader = currentReader()
    const known = reader && this.#budgets.get(reader)
    if (known) return known
    const budget = new ReadBudget(this, reader?.holder)
    if (reader) this.#budgets.set(reader, budget)
    return budget
  }

  /** Counts work in this turn. */
  spend(work: number): void {
    this.#spent += work
    this.total += work
    this.largest = Math.max(this.largest, this.#spent)
    this.#schedule()
  }

  /** Runs a step of work in this turn if work is left, or in a later turn. */
  async run<T>(holder: Holder, step: () => T): Promise<T> {
    if (this.#spent >= MAX_TURN_WORK) await this.#turnOf(holder)
    // Without a wait in between, no other step can have used up the turn.
    return step()
  }

  #turnOf(holder: Holder): Promise<void> {
    this.#schedule()
    return new Promise<void>((resume) => {
      const others = this.#waiting.get(holder)
      if (others) others.push(resume)
      else this.#waiting.set(holder, [resume])
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#begin())
  }

  /** Begins a turn with one of the reads that wait. */
  #begin(): void {
    this.#spent = 0
    this.#isScheduled = false
    const [first] = this.#waiting
    if (!first) return
    const [holder, [resume, ...others]] = first
    this.#waiting.delete(holder)
    if (others.length > 0) this.#waiting.set(holder, others)
    if (this.#waiting.size > 0) this.#schedule()
    resume?.()
  }
}

/** The work that one request may still do. */
export class ReadBudget {
  readonly #turns: ReadTurns
  readonly #holder: Holder
  #left = MAX_REQUEST_WORK
  #objectLeft = 0

  constructor(turns: ReadTurns, holder: Holder = 'server') {
    this.#turns = turns
    this.#holder = holder
  }

  /** Begins the read of an object. */
  begin(): void {
    this.#objectLeft = Math.min(MAX_OBJECT_WORK, this.#left)
  }

  /** Returns the work that is left for the object. */
  get objectLeft(): number {
    return this.#objectLeft
  }

  /** Returns whether the request has used up its work. */
  get isSpent(): boolean {
    return this.#left <= 0
  }

  /**
   * Counts work on the object, before the work is done where that is possible.
   *
   * @throws an error when the object must be left to Git.
   */
  spend(work: number): void {
    this.note(work)
    this.#objectLeft -= work
    if (this.#objectLeft < 0) throw new TooMuchWork('the object costs too much work')
  }

  /** Counts work on what was read. */
  note(work: number): void {
    this.#left -= work
    this.#turns.spend(work)
  }

  /** Runs a step of work, which counts what it does, when the event loop has time. */
  run<T>(step: () => T): Promise<T> {
    return this.#turns.run(this.#holder, step)
  }
}
