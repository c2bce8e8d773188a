import { createExclusive, type Exclusive } from '../../concurrency/exclusive.ts'
import { createOnce, type Once } from '../../concurrency/once.ts'
import { DomainError } from './errors.ts'

/**
 * Maximum number of callers that wait for one lock. A merge takes a moment, with hooks a minute or
 * two.
 */
const MAX_WAITING = 100

/** Locks and shared runs by key. Servers over one database will have to share them. */
export interface Coordination {
  /**
   * Runs work while holding the lock of a key, in the order of the calls. Work must read the data
   * that it depends on after it holds the lock.
   *
   * @throws SERVER_BUSY if too many callers wait for the key.
   */
  readonly exclusive: Exclusive
  /** Shares one run of work among all callers with the same key that ask while it runs. */
  readonly once: Once
}

/** Coordinates work within this process. */
export function createCoordination(): Coordination {
  const full = () => new DomainError('SERVER_BUSY')
  return {
    exclusive: createExclusive({ maxWaitingPerKey: MAX_WAITING, full }),
    once: createOnce(),
  }
}
