import type { Tx } from '../../../platform/database/schema.ts'
import type { Concerns } from '../../conversations/concerns.ts'
import { type ConversationNeed, checkConversation } from '../../conversations/conversation-needs.ts'
import { insertActor } from '../../conversations/participants.rows.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { type OpenPull, rereadForChange } from '../heads/open-pulls.ts'
import { type PullHookEvent, recordPullChange } from '../heads/pull-changes.ts'
import { touchPull } from '../heads/pull-requests.rows.ts'
import type { PullRequest } from '../schema.ts'

/** The types of events that watchers of the repository receive. */
type ReviewEventType =
  | 'PULL_REQUEST_REVIEWED'
  | 'PULL_REQUEST_REVIEW_REQUESTED'
  | 'PULL_REQUEST_COMMENTED'

/** A change of reviews, and the events that its result has for webhooks of the forge. */
export interface ReviewChange<T> {
  readonly type: ReviewEventType
  readonly needs: ConversationNeed
  readonly told: (result: T) => readonly PullHookEvent[]
  /** Whom the change concerns; without, nobody is told. */
  readonly concerns?: (tx: Tx, result: T) => Concerns | Promise<Concerns>
}

/**
 * Changes reviews of a pull request, notifies its watchers, and makes the caller a participant.
 *
 * @param change a type alone stands for a change that needs nothing and that nobody is told of.
 * @param work receives the pull request as the transaction reads it.
 */
export async function changeReviews<T>(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  change: ReviewEventType | ReviewChange<T>,
  work: (tx: Tx, pull: PullRequest, now: number) => Promise<T>,
): Promise<T> {
  const now = nowSeconds(app.clock)
  return changeWatched(app, async (tx) => {
    const needs = typeof change === 'string' ? 'nothing' : change.needs
    const present = await rereadForReview(tx, caller, open, needs)
    const result = await work(tx, present, now)
    await insertActor(tx, present.id, caller.user.id)
    await touchPull(tx, present.id, now, caller.user.id)
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
 * Returns the current row of a pull request in the transaction of a change of its conversation, and
 * checks there what the change needs, as `rereadConversation` does.
 *
 * @throws PULL_REQUEST_NOT_FOUND, REPOSITORY_ARCHIVED, USER_BLOCKED, CONVERSATION_LOCKED
 */
export async function rereadForReview(
  tx: Tx,
  caller: SignedIn,
  open: OpenPull,
  needs: ConversationNeed,
): Promise<PullRequest> {
  const pull = await rereadForChange(tx, open)
  await checkConversation(tx, caller, open, pull, needs)
  return pull
}
