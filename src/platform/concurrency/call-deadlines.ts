import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The deadline of a call, and whether the call has changed the database. A call is refused at its
 * first transaction or not at all: a change that is half done would be worse than a late one.
 */
export class CallDeadline {
  readonly #expiresAtMs: number
  #state: 'untouched' | 'refused' | 'begun' | 'committed' | 'ended' = 'untouched'

  /** @param expiresAtMs in the time of `performance.now()`. */
  constructor(expiresAtMs: number) {
    this.#expiresAtMs = expiresAtMs
  }

  /** Returns the time that is left, 0 after the deadline. */
  remainingMs(): number {
    return Math.max(0, this.#expiresAtMs - performance.now())
  }

  /** Whether the call has changed nothing and can no longer change anything. */
  get changesNothing(): boolean {
    return this.#state === 'refused' || (this.#state === 'untouched' && this.remainingMs() === 0)
  }

  /** Whether the call has committed a change. */
  get committed(): boolean {
    return this.#state === 'committed'
  }

  /**
   * Records that the call begins its first transaction.
   *
   * @throws DeadlinePassed when the deadline passed before.
   */
  begin(): void {
    if (this.#state === 'untouched') this.#state = this.remainingMs() > 0 ? 'begun' : 'refused'
    if (this.#state === 'refused') throw new DeadlinePassed()
  }

  commit(): void {
    if (this.#state === 'begun') this.#state = 'committed'
  }

  /** Ends the deadline. Work that the call has left in the background is no longer refused. */
  end(): void {
    this.#state = 'ended'
  }
}

/** A call tried to begin a change after its deadline. */
class DeadlinePassed extends Error {
  constructor() {
    super('the deadline of the call has passed')
    this.name = 'DeadlinePassed'
  }
}

const deadlines = new AsyncLocalStorage<CallDeadline>()

/** Runs a call, whose transactions are refused after the deadline. */
export function withDeadline<T>(deadline: CallDeadline, work: () => T): T {
  return deadlines.run(deadline, work)
}

/** Runs background work, which has no deadline even when a call starts the work. */
export function withoutDeadline<T>(work: () => T): T {
  return deadlines.exit(work)
}

/** Returns the deadline of the current call, or undefined when there is none. */
export function currentDeadline(): CallDeadline | undefined {
  return deadlines.getStore()
}
