import type { Lease } from '../../concurrency/leases.ts'

/** A lock of all servers. */
export interface SharedLock {
  readonly lease: Lease
  release(): void
}

/**
 * The locks of the servers of one database, by key. All servers must choose different keys for
 * different subjects.
 */
export interface Locks {
  /**
   * Takes a lock if nobody holds it, this process included.
   *
   * @throws DatabaseUnavailableError
   */
  tryTake(key: string): Promise<SharedLock | undefined>
  /**
   * Takes a lock as soon as nobody holds it.
   *
   * @throws DatabaseUnavailableError
   */
  take(key: string): Promise<SharedLock>
  /**
   * Takes a lock that this process wants to hold for long. A caller that gets none tries again after a
   * time.
   *
   * @param until ends a wait. Implementations need not wait.
   * @returns undefined while another process holds the lock.
   * @throws DatabaseUnavailableError
   */
  standBy(key: string, until: AbortSignal): Promise<SharedLock | undefined>
  /** Runs work under a lock. The work can change the database for as long as the lock is held. */
  exclusive<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** The membership of a process in the group of servers of one database. */
export interface Membership {
  /** The number of this server. No two servers of a database have the same one, at any time. */
  readonly serverId: number
  /** Whether the membership is lost and not replaced yet. */
  readonly isLost: boolean
  /** Waits a moment for the replacement of a lost membership. */
  ready(): Promise<void>
  /** Returns a lease of the locks of a server number. Default: of the present one. */
  lease(serverId?: number): Lease & { release(): void }
  /** Returns which of some servers are running. */
  running(serverIds: readonly number[]): Promise<ReadonlySet<number>>
  /** Tells other servers something. Does nothing while the membership is lost. */
  tell(message: string): void
  /** Calls a function with what other servers tell, until the returned function is called. */
  onMessage(listener: (message: string) => void): () => void
  /** Calls a function every few seconds. */
  onBeat(listener: () => void): () => void
  /** Calls a function when the membership is lost. */
  onLoss(listener: () => void): () => void
  /** Calls a function after a lost membership was replaced. Messages may be lost meanwhile. */
  onRenewal(listener: () => void): () => void
}

/** A process that can work on the database while no other one uses it. */
export interface Alone {
  /**
   * Runs work while no other process uses the database.
   *
   * @param isNeeded returns whether the work must still be done. Another process may have done it.
   * @throws an error with a message for the operator, when others do not end in time.
   */
  alone(isNeeded: () => Promise<boolean>, work: () => Promise<unknown>): Promise<void>
}

/** A counter of wrong guesses, and its limit. */
export interface GuessCounter {
  /** A text that differs between counters: the name of a kind of counters, a space, and a key. */
  readonly subject: string
  readonly limit: number
  readonly windowMs: number
  /** Whether a correct guess clears earlier wrong ones. */
  readonly forgives: boolean
}

/** The end of a check of a guess: unknown if the check threw an error. */
export type GuessEnding = 'right' | 'wrong' | 'unknown'

/** The wrong guesses that several servers count together. */
export interface SharedGuesses {
  /**
   * Runs a check once its counters allow one more wrong guess, even if all running checks fail. A
   * check that throws does not count.
   *
   * @param check returns undefined for a wrong guess.
   * @param refuse creates the error of a guess that is refused for some milliseconds.
   */
  counted<T>(
    counters: readonly GuessCounter[],
    check: () => Promise<T | undefined>,
    refuse: (waitMs: number) => Error,
  ): Promise<T | undefined>
}

/** The turns of the processes of one SQLite database to write. */
export interface Turns {
  /** Waits until this process may write. */
  begin(): Promise<void>
  /** Ends the writing that `begin` has begun. Further calls have no effect. */
  end(): void
}
