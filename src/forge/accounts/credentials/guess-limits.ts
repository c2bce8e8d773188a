import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { withoutDeadline } from '../../../platform/concurrency/call-deadlines.ts'
import { FailureLog } from '../../../platform/concurrency/failure-log.ts'
import { Turns } from '../../../platform/concurrency/fair-slots.ts'
import { accountHolder, type Holder, peerHolder } from '../../../platform/concurrency/holders.ts'
import { type ShareLimits, Shares } from '../../../platform/concurrency/shares.ts'
import type {
  GuessCounter,
  GuessEnding,
  SharedGuesses,
} from '../../../platform/database/coordination/ports.ts'
import { transaction, transactionOf } from '../../../platform/database/database.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Clock } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { GuessLimits } from '../ports.ts'
import * as rows from './failed-guesses.rows.ts'

const PASSWORD_WINDOW_MS = 10 * 60 * 1000
const MAX_WRONG_PASSWORDS_PER_ACCOUNT = 10
const MAX_WRONG_PASSWORDS_PER_PEER = 50

/**
 * Three of a million passcodes are valid at any time. At five guesses in five minutes, guessing one
 * takes eight months on average.
 */
const SECOND_FACTOR_WINDOW_MS = 5 * 60 * 1000
const MAX_WRONG_SECOND_FACTORS = 5

/**
 * Maximum number of guesses of one peer that wait for results. Its last one waits some four seconds, at
 * 25 ms of two cores for each password.
 */
const MAX_WAITING_PER_PEER = 300

/**
 * The places of the guesses that wait, which peers share. With the first places, these are twice as
 * many. A waiting guess takes a few hundred bytes.
 */
const PLACES: ShareLimits = { max: 1000, maxPerHolder: MAX_WAITING_PER_PEER }

/** The places of those that wait for the same account, peer or second factor. */
const PLACES_PER_KEY: ShareLimits = {
  max: 2 * MAX_WAITING_PER_PEER,
  maxPerHolder: MAX_WAITING_PER_PEER,
}
const RETRY_AFTER_SECONDS = 5

/**
 * Creates limits with empty counters.
 *
 * @param shared the wrong guesses, if other servers count them too. Each server still has its own
 *   queue of guesses.
 */
export function createGuessLimits(clock: Clock, shared?: SharedGuesses): GuessLimits {
  const accounts = new FailureLog('account', MAX_WRONG_PASSWORDS_PER_ACCOUNT, PASSWORD_WINDOW_MS)
  const peers = new FailureLog('peer', MAX_WRONG_PASSWORDS_PER_PEER, PASSWORD_WINDOW_MS)
  const secondFactors = new FailureLog(
    'second-factor',
    MAX_WRONG_SECOND_FACTORS,
    SECOND_FACTOR_WINDOW_MS,
  )
  const counted = createCounting(clock, shared)
  return {
    attempt(account, peerAddress, check) {
      const counters = [
        { log: accounts, key: accountKey(account), forgives: true },
        { log: peers, key: networkOf(peerAddress), forgives: false },
      ]
      return counted(peerHolder(networkOf(peerAddress)), counters, check)
    },
    attemptSecondFactor(userId, check) {
      const counter = { log: secondFactors, key: String(userId), forgives: true }
      return counted(accountHolder(userId), [counter], check)
    },
    attemptCode(peerAddress, check) {
      const counter = { log: peers, key: networkOf(peerAddress), forgives: false }
      return counted(peerHolder(counter.key), [counter], check)
    },
  }
}

/** A log and the key in it that a guess counts towards. */
interface Counter {
  readonly log: FailureLog
  readonly key: string
  /** Whether a correct guess clears earlier wrong ones. */
  readonly forgives: boolean
}

/** A guess that waits for the results of others. */
interface Waiting {
  /** The peer, or the account that has given its password already. */
  readonly holder: Holder
  readonly counters: readonly Counter[]
  readonly admit: () => void
  readonly refuse: (error: DomainError) => void
}

/** The guesses that wait. Holders share the places, and have their turns alternately. */
class WaitingGuesses {
  readonly #places = new Shares(PLACES)
  /** The places of each key, and the guesses that wait for it. */
  readonly #keys = new Map<string, { readonly places: Shares; waiting: number }>()
  /** In the order of arrival. */
  readonly #guesses = new Set<Waiting>()
  readonly #turns = new Turns<Holder>()

  /** Returns whether a guess finds a place. */
  admits(holder: Holder, counters: readonly Counter[]): boolean {
    return (
      this.#places.admits(holder) &&
      counters.every((counter) => this.#keys.get(subjectOf(counter))?.places.admits(holder) ?? true)
    )
  }

  /** Notes that a holder had its turn without waiting. */
  passed(holder: Holder): void {
    this.#turns.take(holder)
  }

  add(guess: Waiting): void {
    this.#guesses.add(guess)
    this.#places.take(guess.holder)
    for (const subject of guess.counters.map(subjectOf)) {
      const entry = this.#keys.get(subject) ?? { places: new Shares(PLACES_PER_KEY), waiting: 0 }
      entry.places.take(guess.holder)
      entry.waiting += 1
      this.#keys.set(subject, entry)
    }
  }

  /** Removes and returns the guesses for which a condition is true. */
  takeWhere(condition: (guess: Waiting) => boolean): readonly Waiting[] {
    const taken = [...this.#guesses].filter(condition)
    for (const guess of taken) this.#remove(guess)
    return taken
  }

  /** Removes and returns the guess that is next of those for which a condition is true. */
  takeNext(condition: (guess: Waiting) => boolean): Waiting | undefined {
    let next: Waiting | undefined
    for (const guess of this.#guesses) {
      if (next && this.#turns.of(guess.holder) >= this.#turns.of(next.holder)) continue
      if (condition(guess)) next = guess
    }
    if (!next) return undefined
    this.#turns.take(next.holder)
    this.#remove(next)
    return next
  }

  #remove(guess: Waiting): void {
    this.#guesses.delete(guess)
    this.#places.release(guess.holder)
    for (const subject of guess.counters.map(subjectOf)) {
      const entry = this.#keys.get(subject)
      entry?.places.release(guess.holder)
      if (entry && --entry.waiting === 0) this.#keys.delete(subject)
    }
  }
}

/**
 * Returns a function that runs each check once its counters allow one more failure.
 *
 * A semaphore does not do the same: a slot becomes free when a check succeeds, but not when it
 * fails, and one check needs a slot of each of its counters.
 */
function createCounting(clock: Clock, shared: SharedGuesses | undefined) {
  const waiting = new WaitingGuesses()

  /** Starts or refuses guesses that need not wait any longer. */
  const wake = () => {
    const now = clock.now()
    for (const guess of waiting.takeWhere(({ counters }) => refusalOf(counters, now) !== undefined))
      guess.refuse(refusalOf(guess.counters, now) ?? rateLimited(RETRY_AFTER_SECONDS))
    const next = () => waiting.takeNext(({ counters }) => hasCapacity(counters, now))
    for (let guess = next(); guess; guess = next()) {
      begin(guess.counters)
      guess.admit()
    }
  }

  const admission = (holder: Holder, counters: readonly Counter[]): Promise<void> | undefined => {
    const now = clock.now()
    const refusal = refusalOf(counters, now)
    if (refusal) throw refusal
    if (hasCapacity(counters, now)) {
      waiting.passed(holder)
      begin(counters)
      return undefined
    }
    if (!waiting.admits(holder, counters)) throw rateLimited(RETRY_AFTER_SECONDS)
    return new Promise((admit, refuse) => waiting.add({ holder, counters, admit, refuse }))
  }

  return async function counted<T>(
    holder: Holder,
    counters: readonly Counter[],
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    await admission(holder, counters)
    let failed = false
    try {
      const result = shared
        ? await shared.counted(counters.map(sharedCounter), check, (waitMs) =>
            rateLimited(Math.ceil(waitMs / 1000)),
          )
        : await check()
      failed = result === undefined && !shared
      if (!failed) for (const { log, key, forgives } of counters) if (forgives) log.clear(key)
      return result
    } finally {
      for (const { log, key } of counters) log.end(key, failed ? clock.now() : undefined)
      wake()
    }
  }
}

function sharedCounter({ log, key, forgives }: Counter): GuessCounter {
  const { limit, windowMs } = log
  return { subject: subjectOf({ log, key }), limit, windowMs, forgives }
}

/** Returns a text that differs between counters. */
function subjectOf({ log, key }: Pick<Counter, 'log' | 'key'>): string {
  return `${log.name} ${key}`
}

function begin(counters: readonly Counter[]): void {
  for (const { log, key } of counters) log.begin(key)
}

function hasCapacity(counters: readonly Counter[], now: number): boolean {
  return counters.every(({ log, key }) => log.hasCapacity(key, now))
}

function refusalOf(counters: readonly Counter[], now: number): DomainError | undefined {
  const waitMs = Math.max(...counters.map(({ log, key }) => log.waitMs(key, now)))
  return waitMs > 0 ? rateLimited(Math.ceil(waitMs / 1000)) : undefined
}

function rateLimited(seconds: number): DomainError {
  return new DomainError('RATE_LIMITED', { retry_after_seconds: String(seconds) })
}

/** Hashes the name, which may be as long as a request. */
function accountKey(account: string): string {
  return createHash('sha256').update(account).digest('base64')
}

/**
 * Returns the first 64 bits of an IPv6 address (RFC 4291 section 2.2), and other addresses
 * unchanged.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [head = [], tail = []] = address
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''))
  // The last group may be an IPv4 address, which counts as two groups.
  const written = head.length + tail.length + (address.includes('.') ? 1 : 0)
  const zeros = Array.from({ length: 8 - written }, () => '0')
  const groups = [...head, ...zeros, ...tail].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** The pause before a guess asks again whether checks on other servers have ended. */
const WAIT_MS = 100

/** A killed server cannot end its checks, which then count as wrong. */
const MAX_WAITS = 50

/** How long expired guesses are kept at most. */
const PRUNE_INTERVAL_MS = 60_000

/**
 * Wrong guesses that the servers of a PostgreSQL database count together, in rows. To count is no change
 * of the call: a deadline that passes during the check still refuses what the call would change, and a
 * check that has begun is always counted to its end.
 */
export class SharedFailures implements SharedGuesses {
  readonly #db: Db
  readonly #clock: Clock
  #prunedAt = 0

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  async counted<T>(
    counters: readonly GuessCounter[],
    check: () => Promise<T | undefined>,
    refuse: (waitMs: number) => Error,
  ): Promise<T | undefined> {
    const ids = await withoutDeadline(() => this.#begin(counters, refuse))
    let ending: GuessEnding = 'unknown'
    try {
      const result = await check()
      ending = result === undefined ? 'wrong' : 'right'
      return result
    } finally {
      await withoutDeadline(() => this.#end(counters, ids, ending))
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
    ending: GuessEnding,
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
