import { createExclusive, type Exclusive } from '../../concurrency/exclusive.ts'
import { DomainError } from './errors.ts'

/**
 * Maximum number of callers that wait for one lock. A merge takes a moment, with hooks a minute or
 * two.
 */
const MAX_WAITING = 100

/** Locks by name. Servers that share a database must share these locks. */
export interface Coordination {
  /**
   * Runs work while holding the lock of a key, in the order of the calls. Work must read the data
   * that it depends on after it holds the lock.
   *
   * @throws SERVER_BUSY if too many callers wait for the key.
   */
  readonly exclusive: Exclusive
}

/** Creates locks that are local to this process. */
export function createCoordination(): Coordination {
  const full = () => new DomainError('SERVER_BUSY')
  return { exclusive: createExclusive({ maxWaitingPerKey: MAX_WAITING, full }) }
}
