import { blockExists } from '../../../storage/accounts/user-blocks.ts'
import { insertActor } from '../../../storage/pulls/pull-participants.ts'
import { findPullRequestById, touchPull } from '../../../storage/pulls/pull-requests.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import { changeWatched } from '../../repos/events/repository-events.ts'
import type { ReposApp } from '../../repos/ports.ts'
import type { OpenPull } from '../access/open-pulls.ts'
import { recordPullChange } from '../heads/pull-changes.ts'

/** What watchers of the repository are told of a change. */
export type ReviewEventType =
  | 'PULL_REQUEST_REVIEWED'
  | 'PULL_REQUEST_REVIEW_REQUESTED'
  | 'PULL_REQUEST_COMMENTED'

/**
 * Makes a change of what is said of a pull request, which its participants would want to see.
 * Whoever makes it is one from then on.
 *
 * @param work is given the pull request as it is in the transaction.
 * @throws PULL_REQUEST_NOT_FOUND when it is gone.
 */
export async function changeReviews<T>(
  app: ReposApp,
  caller: SignedIn,
  { pull }: Pick<OpenPull, 'pull'>,
  type: ReviewEventType,
  work: (tx: Tx, pull: PullRequest, now: number) => Promise<T>,
): Promise<T> {
  const now = nowSeconds(app.clock)
  return changeWatched(app, async (tx) => {
    const present = await reread(tx, pull)
    const result = await work(tx, present, now)
    await insertActor(tx, pull.id, caller.user.id)
    await touchPull(tx, pull.id, now, caller.user.id)
    await recordPullChange(app, tx, caller.user.id, present, type)
    return result
  })
}

/**
 * A pull request as it is in a transaction.
 *
 * @throws PULL_REQUEST_NOT_FOUND when it is gone.
 */
export async function reread(tx: Tx, { id }: Pick<PullRequest, 'id'>): Promise<PullRequest> {
  const pull = await findPullRequestById(tx, id)
  if (!pull) throw new DomainError('PULL_REQUEST_NOT_FOUND')
  return pull
}

/**
 * Lets nobody say anything to whom they are blocked by: the owner of the repository, and whoever
 * opened the pull request. Those who administer the repository have to be able to.
 *
 * @throws USER_BLOCKED
 */
export async function checkNotBlocked(
  app: ReposApp,
  caller: SignedIn,
  { owner, pull, units }: OpenPull,
): Promise<void> {
  if (suffices(units.code, 'admin')) return
  const blockers = pull.poster_id === null ? [owner.id] : [owner.id, pull.poster_id]
  if (await blockExists(app.db, blockers, caller.user.id)) throw new DomainError('USER_BLOCKED')
}
