import { setTimeout as sleep } from 'node:timers/promises'
import { transaction, transactionOf } from '../../../platform/database/database.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Clock } from '../../core/core.ts'
import * as rows from './failed-guesses.rows.ts'

/** A counter of wrong guesses, and its limit. */
export interface GuessCounter {
  /** A text that differs between counters. */
  readonly subject: string
  readonly limit: number
  readonly windowMs: number
  /** Whether a correct guess clears earlier wrong ones. */
  readonly forgives: boolean
}

/** The pause before a guess asks again whether checks on other servers have ended. */
const WAIT_MS = 100

/** A killed server cannot end its checks, which then count as wrong. */
const MAX_WAITS = 50

/** How long expired guesses are kept at most. */
const PRUNE_INTERVAL_MS = 60_000

/** Wrong guesses that several servers count together, in rows. */
export class SharedFailures {
  readonly #db: Db
  readonly #clock: Clock
  #prunedAt = 0

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Runs a check once its counters allow one more wrong guess, even if all running checks fail. A
   * check that throws does not count.
   *
   * @param check returns undefined for a wrong guess.
   * @param refuse creates the error of a guess that is refused for some milliseconds.
   */
  async counted<T>(
    counters: readonly GuessCounter[],
    check: () => Promise<T | undefined>,
    refuse: (waitMs: number) => Error,
  ): Promise<T | undefined> {
    const ids = await this.#begin(counters, refuse)
    let ending: 'right' | 'wrong' | 'unknown' = 'unknown'
    try {
      const result = await check()
      ending = result === undefined ? 'wrong' : 'right'
      return result
    } finally {
      await this.#end(counters, ids, ending)
    }
  }

  /** Stores the guess as a running one, which other servers count from now on. */
  async #begin(
    counters: readonly GuessCounter[],
    refuse: (waitMs: number) => Error,
  ): Promise<number[]> {
    await this.#prune()
    for (let waits = 0; ; waits++) {
      const now = this.#clock.now()
      const started = await transactionOf(this.#db, subjectsOf(counters), async (tx) => {
        const states = await Promise.all(counters.map((counter) => stateOf(tx, counter, now)))
        const waitMs = Math.max(...states.map((state) => state.waitMs))
        if (waitMs > 0) return { waitMs }
        if (states.some(({ isFull }) => isFull)) return { waitMs: 0 }
        const ids = await rows.insertGuesses(
          tx,
          counters.map(({ subject, windowMs }) => ({
            subject,
            time: now,
            expire_time: now + windowMs,
            is_running: 1,
          })),
        )
        return { ids }
      })
      if (started.ids) return started.ids
      if (started.waitMs > 0) throw refuse(started.waitMs)
      if (waits === MAX_WAITS) throw refuse(WAIT_MS * MAX_WAITS)
      await sleep(WAIT_MS)
    }
  }

  async #end(
    counters: readonly GuessCounter[],
    ids: readonly number[],
    ending: 'right' | 'wrong' | 'unknown',
  ): Promise<void> {
    const forgiven = counters.filter(({ forgives }) => forgives).map(({ subject }) => subject)
    await transactionOf(this.#db, subjectsOf(counters), async (tx) => {
      if (ending === 'wrong') return rows.recordWrongGuesses(tx, ids, this.#clock.now())
      await rows.deleteGuesses(tx, ids)
      if (ending === 'right') await rows.forgiveGuesses(tx, forgiven)
    })
  }

  async #prune(): Promise<void> {
    const now = this.#clock.now()
    if (now - this.#prunedAt < PRUNE_INTERVAL_MS) return
    this.#prunedAt = now
    await transaction(this.#db, (tx) => rows.deleteExpiredGuesses(tx, now))
  }
}

/** Guesses about one subject are counted one after the other. */
function subjectsOf(counters: readonly GuessCounter[]): string[] {
  return counters.map(({ subject }) => subject)
}

/**
 * Returns the milliseconds until a subject may fail once more, and whether the running checks may
 * use up its limit.
 */
async function stateOf(tx: Tx, { subject, limit, windowMs }: GuessCounter, now: number) {
  const guesses = await rows.listGuesses(tx, subject, now - windowMs)
  const wrong = guesses.filter(({ is_running }) => is_running === 0)
  const oldest = wrong.at(-limit)
  return {
    waitMs: oldest === undefined ? 0 : oldest.time + windowMs - now,
    isFull: guesses.length >= limit,
  }
}
