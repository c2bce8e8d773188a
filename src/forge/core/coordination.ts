import { createExclusive, type Exclusive } from '../../platform/concurrency/exclusive.ts'
import type { Lease } from '../../platform/concurrency/leases.ts'
import { createOnce, type Once } from '../../platform/concurrency/once.ts'
import { DomainError } from './errors.ts'

/**
 * Maximum number of callers that wait for one lock. A merge takes a moment, with hooks a minute or
 * two.
 */
const MAX_WAITING = 100

/** Coordination of the servers of one database. A worker process is a server. */
export interface Coordination {
  /**
   * Runs work while holding the lock of a key, in the order of the calls of this server. Work must
   * read the data that it depends on after it holds the lock.
   */
  readonly exclusive: Exclusive
  /**
   * Shares one run of work among all callers of this server with the same key that ask while it
   * runs. Two servers may run the work at the same time.
   */
  readonly once: Once
  /**
   * Returns a check that this server has run without a break since now: the others have not taken
   * its work over. Waits a moment for a server that has just lost its locks and gets a new number.
   */
  lease(): Promise<Pick<Lease, 'check'>>
  /** The number of this server, which changes when it loses its locks; null if it is alone. */
  readonly serverId: number | null
  /** Returns which of some servers are running. */
  runningServers(serverIds: readonly number[]): Promise<ReadonlySet<number>>
  /** Runs a worker on one server at a time. Another server goes on when this one fails. */
  onOneServer(name: string, start: () => Worker | Promise<Worker>): Worker | Promise<Worker>
}

/** A background worker. */
export interface Worker {
  /** Resolves when the work in progress has ended. */
  stop(): unknown
}

/** The limits of the callers that wait for a lock of `Coordination.exclusive`. */
export const LOCK_LIMITS = {
  maxWaitingPerKey: MAX_WAITING,
  full: () => new DomainError('SERVER_BUSY'),
}

/** Coordinates work within this process. */
export function createCoordination(): Coordination {
  return {
    exclusive: createExclusive(LOCK_LIMITS),
    once: createOnce(),
    lease: async () => ({ check() {} }),
    serverId: null,
    runningServers: async () => new Set(),
    onOneServer: (_name, start) => start(),
  }
}
