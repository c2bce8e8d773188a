import { FailureLog } from '../../concurrency/failure-log.ts'
import type { GuessCounter, GuessEnding } from './ports.ts'

/** A counter in its log. */
interface LoggedCounter {
  readonly log: FailureLog
  readonly key: string
  readonly forgives: boolean
}

/** A guess of a process that is checked, or waits for the results of others. */
interface Guess<Owner> {
  readonly owner: Owner
  readonly id: number
  readonly counters: readonly LoggedCounter[]
}

/**
 * The wrong guesses of a group of processes, counted together in the memory of one of them.
 *
 * A guess is checked once its counters allow one more failure, even if all running checks fail. Until
 * then the guess waits, in the order of arrival. Each process limits the guesses that it sends here.
 */
export class GroupGuesses<Owner> {
  readonly #now: () => number
  readonly #answer: (owner: Owner, id: number, waitMs: number) => void
  /** By the name of the kind of counters. */
  readonly #logs = new Map<string, FailureLog>()
  readonly #running = new Map<Owner, Map<number, Guess<Owner>>>()
  readonly #waiting = new Set<Guess<Owner>>()

  /** @param answer tells a process that its guess may be checked, or is refused for a time. */
  constructor(now: () => number, answer: (owner: Owner, id: number, waitMs: number) => void) {
    this.#now = now
    this.#answer = answer
  }

  /** Admits or refuses a guess, or lets the guess wait. */
  begin(owner: Owner, id: number, counters: readonly GuessCounter[]): void {
    const guess = { owner, id, counters: counters.map((counter) => this.#logged(counter)) }
    if (!this.#decide(guess)) this.#waiting.add(guess)
  }

  /** Ends a guess that was admitted. */
  end(owner: Owner, id: number, ending: GuessEnding): void {
    const guesses = this.#running.get(owner)
    const guess = guesses?.get(id)
    if (!guesses || !guess) return
    guesses.delete(id)
    if (guesses.size === 0) this.#running.delete(owner)
    this.#finish(guess, ending)
    this.#decideWaiting()
  }

  /** Ends the guesses of a process that has ended. Those that ran count as wrong. */
  remove(owner: Owner): void {
    for (const guess of this.#waiting) if (guess.owner === owner) this.#waiting.delete(guess)
    const running = this.#running.get(owner)
    this.#running.delete(owner)
    for (const guess of running?.values() ?? []) this.#finish(guess, 'wrong')
    this.#decideWaiting()
  }

  /** Returns whether a guess was admitted or refused now. */
  #decide(guess: Guess<Owner>): boolean {
    const { owner, id, counters } = guess
    const now = this.#now()
    const waitMs = Math.max(...counters.map(({ log, key }) => log.waitMs(key, now)))
    if (waitMs > 0) {
      this.#answer(owner, id, waitMs)
      return true
    }
    if (!counters.every(({ log, key }) => log.hasCapacity(key, now))) return false
    for (const { log, key } of counters) log.begin(key)
    const guesses = this.#running.get(owner) ?? new Map()
    this.#running.set(owner, guesses.set(id, guess))
    this.#answer(owner, id, 0)
    return true
  }

  #decideWaiting(): void {
    for (const guess of this.#waiting) if (this.#decide(guess)) this.#waiting.delete(guess)
  }

  #finish({ counters }: Guess<Owner>, ending: GuessEnding): void {
    const failedAt = ending === 'wrong' ? this.#now() : undefined
    for (const { log, key, forgives } of counters) {
      log.end(key, failedAt)
      if (ending === 'right' && forgives) log.clear(key)
    }
  }

  #logged({ subject, limit, windowMs, forgives }: GuessCounter): LoggedCounter {
    const end = subject.indexOf(' ')
    const name = subject.slice(0, end)
    const log = this.#logs.get(name) ?? new FailureLog(name, limit, windowMs)
    this.#logs.set(name, log)
    return { log, key: subject.slice(end + 1), forgives }
  }
}
