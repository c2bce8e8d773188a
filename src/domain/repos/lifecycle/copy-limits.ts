import { createLimited, type Limited } from '../../../concurrency/limited.ts'
import { DomainError } from '../../core/errors.ts'

/** Each copy takes two processes, some connections, and at most `maxPushBytes` of the disk. */
const MAX_COPIES = 16

/** Less than `MAX_COPIES`, so that slow servers of one account do not block all others. */
const MAX_COPIES_PER_ACCOUNT = 2

/** Creates the limits of copies. A copy that exceeds one fails at once with TOO_MANY_COPIES. */
export function createCopyLimits(): Limited {
  const perAccount = createLimited({
    maxRunningPerKey: MAX_COPIES_PER_ACCOUNT,
    ...refuseAbove(MAX_COPIES_PER_ACCOUNT),
  })
  const total = createLimited({ maxRunning: MAX_COPIES, ...refuseAbove(MAX_COPIES) })
  return (accountId, work) => perAccount(accountId, () => total('', work))
}

function refuseAbove(limit: number) {
  const full = () => new DomainError('TOO_MANY_COPIES', { limit: String(limit) })
  return { maxWaitingPerKey: 0, full }
}
