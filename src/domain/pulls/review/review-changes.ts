import { blockExists } from '../../../storage/accounts/user-blocks.ts'
import { insertActor } from '../../../storage/pulls/pull-participants.ts'
import { touchPull } from '../../../storage/pulls/pull-requests.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import { changeWatched } from '../../repos/events/repository-events.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { type OpenPull, rereadPull } from '../access/open-pulls.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import type { PullHookEvent } from '../heads/pull-hook-events.ts'
import type { Concerns } from '../heads/pull-notices.ts'
import { checkNotLocked } from './conversation-locks.ts'

/** The types of events that watchers of the repository receive. */
export type ReviewEventType =
  | 'PULL_REQUEST_REVIEWED'
  | 'PULL_REQUEST_REVIEW_REQUESTED'
  | 'PULL_REQUEST_COMMENTED'

/** A change of reviews, and the events that its result has for webhooks of the forge. */
export interface ReviewChange<T> {
  readonly type: ReviewEventType
  readonly told: (result: T) => readonly PullHookEvent[]
  /** Whom the change concerns; without, nobody is told. */
  readonly concerns?: (tx: Tx, result: T) => Concerns | Promise<Concerns>
}

/**
 * Changes reviews of a pull request, notifies its watchers, and makes the caller a participant.
 *
 * @param work receives the pull request as the transaction reads it.
 * @throws PULL_REQUEST_NOT_FOUND if the pull request was deleted.
 */
export async function changeReviews<T>(
  app: ReposApp,
  caller: SignedIn,
  { pull }: Pick<OpenPull, 'pull'>,
  change: ReviewEventType | ReviewChange<T>,
  work: (tx: Tx, pull: PullRequest, now: number) => Promise<T>,
): Promise<T> {
  const now = nowSeconds(app.clock)
  return changeWatched(app, async (tx) => {
    const present = await rereadPull(tx, pull)
    const result = await work(tx, present, now)
    await insertActor(tx, pull.id, caller.user.id)
    await touchPull(tx, pull.id, now, caller.user.id)
    const recorded =
      typeof change === 'string'
        ? change
        : {
            type: change.type,
            told: change.told(result),
            concerns: await change.concerns?.(tx, result),
          }
    await recordPullChange(app, tx, caller.user.id, present, recorded)
    return result
  })
}

/**
 * Checks that neither the owner of the repository nor the poster of the pull request blocks the
 * caller. Administrators of the repository are exempt.
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

/**
 * Checks that the caller may add to the conversation of a pull request.
 *
 * @throws USER_BLOCKED, CONVERSATION_LOCKED
 */
export async function checkMaySpeak(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
): Promise<void> {
  await checkNotBlocked(app, caller, open)
  checkNotLocked(open)
}
