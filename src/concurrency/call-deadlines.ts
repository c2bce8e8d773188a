import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * What a call with a deadline has done to the database so far. A call is refused at its first
 * transaction, or not at all: what it has begun, it finishes, since half of a change would be worse
 * than a late one.
 */
export class CallDeadline {
  readonly #expiresAtMs: number
  #state: 'untouched' | 'refused' | 'begun' | 'committed' | 'ended' = 'untouched'

  /** @param expiresAtMs by `performance.now()`. */
  constructor(expiresAtMs: number) {
    this.#expiresAtMs = expiresAtMs
  }

  /** Time left, not negative. */
  remainingMs(): number {
    return Math.max(0, this.#expiresAtMs - performance.now())
  }

  /** Whether the call has changed nothing so far, and is to change nothing any more. */
  get changesNothing(): boolean {
    return this.#state === 'refused' || (this.#state === 'untouched' && this.remainingMs() === 0)
  }

  /** Whether something that the call changed is there to stay. */
  get committed(): boolean {
    return this.#state === 'committed'
  }

  /** @throws DeadlinePassed when the call may not begin to change anything. */
  begin(): void {
    if (this.#state === 'untouched') this.#state = this.remainingMs() > 0 ? 'begun' : 'refused'
    if (this.#state === 'refused') throw new DeadlinePassed()
  }

  commit(): void {
    if (this.#state === 'begun') this.#state = 'committed'
  }

  /** Lets what the call leaves behind go on without it. */
  end(): void {
    this.#state = 'ended'
  }
}

/** A call whose deadline has passed wanted to change something. */
export class DeadlinePassed extends Error {
  constructor() {
    super('the deadline of the call has passed')
    this.name = 'DeadlinePassed'
  }
}

const deadlines = new AsyncLocalStorage<CallDeadline>()

/** Runs a call, whose transactions then know of its deadline. */
export function withDeadline<T>(deadline: CallDeadline, work: () => T): T {
  return deadlines.run(deadline, work)
}

/** Runs work that belongs to no call, whoever starts it. */
export function withoutDeadline<T>(work: () => T): T {
  return deadlines.exit(work)
}

/** The deadline of the call that this is part of; undefined where there is none. */
export function currentDeadline(): CallDeadline | undefined {
  return deadlines.getStore()
}
