import { createLimited, type Limited } from '../../../platform/concurrency/limited.ts'
import { DomainError } from '../../core/errors.ts'

/** Each copy takes two processes, some connections, and at most `maxPushBytes` of the disk. */
const MAX_COPIES = 16

/** Less than `MAX_COPIES`, so that slow servers of one account do not block all others. */
const MAX_COPIES_PER_ACCOUNT = 2

/** Creates a semaphore with a name, whose calls fail at once when they exceed its limit. */
export type CreateSlots = (name: string, limit: number, full: () => Error) => Limited

/**
 * Creates the limits of copies. A copy that exceeds one fails with TOO_MANY_COPIES.
 *
 * @param createSlots the semaphores of this process unless servers share others.
 */
export function createCopyLimits(createSlots: CreateSlots = createLocalSlots): Limited {
  const slots = (name: string, limit: number) =>
    createSlots(name, limit, () => new DomainError('TOO_MANY_COPIES', { limit: String(limit) }))
  const perAccount = slots('copies of account', MAX_COPIES_PER_ACCOUNT)
  const total = slots('copies', MAX_COPIES)
  return (accountId, work) => perAccount(accountId, () => total('', work))
}

const createLocalSlots: CreateSlots = (_name, limit, full) =>
  createLimited({ maxRunningPerKey: limit, maxWaitingPerKey: 0, full })
