import { checkLength } from '../../accounts/users/user-fields.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { PullName } from '../../core/names.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { dismissalEvent, recordTimeline } from '../conversation/pull-timeline.ts'
import { openPull } from '../heads/open-pulls.ts'
import type { PullRequest } from '../schema.ts'
import { MAX_TEXT_CHARACTERS } from './comment-lines.ts'
import { changeReviews } from './review-changes.ts'
import { isVote } from './review-rules.ts'
import { type ReviewView, viewReview } from './review-views.ts'
import * as rows from './reviews.rows.ts'
import { findReview, type OpenReview, present } from './reviews.ts'

export interface Dismissal {
  /** The reason. May be empty. */
  readonly message: string
  /** Whether to dismiss earlier reviews of the same reviewer, too. */
  readonly priors: boolean
}

/**
 * Dismisses an approval or a rejection, on behalf of an administrator of the repository.
 *
 * @throws as `openPull`; REVIEW_DISMISSAL_DENIED, REVIEW_NOT_FOUND, REVIEW_NOT_DISMISSIBLE,
 *   REVIEW_DISMISSAL_CLOSED, INVALID_FIELD
 */
export async function dismissReview(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  id: number,
  { message, priors }: Dismissal,
): Promise<ReviewView> {
  const open = await openDismissible(app, caller, name, id)
  checkLength('message', message, MAX_TEXT_CHARACTERS)
  const review = await changeReviews(
    app,
    caller,
    open,
    'PULL_REQUEST_REVIEWED',
    async (tx, pull, now) => {
      checkOpen(pull)
      const changes = { dismissal_message: message, update_time: now }
      const { reviewer_id } = open.review
      if (priors && reviewer_id !== null)
        await rows.dismissVotes(tx, pull.id, reviewer_id, open.review, changes)
      await recordTimeline(app, tx, caller.user.id, pull.id, dismissalEvent(id, message))
      return present(await rows.updateReview(tx, id, { ...changes, dismissed: 1 }))
    },
  )
  return viewReview(app, caller, open, review)
}

/**
 * Reverts a dismissal.
 *
 * @throws as `openPull`; REVIEW_DISMISSAL_DENIED, REVIEW_NOT_FOUND, REVIEW_NOT_DISMISSIBLE,
 *   REVIEW_DISMISSAL_CLOSED
 */
export async function undismissReview(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  id: number,
): Promise<ReviewView> {
  const open = await openDismissible(app, caller, name, id)
  const review = await changeReviews(
    app,
    caller,
    open,
    'PULL_REQUEST_REVIEWED',
    async (tx, pull, now) => {
      checkOpen(pull)
      return present(
        await rows.updateReview(tx, id, { dismissed: 0, dismissal_message: '', update_time: now }),
      )
    },
  )
  return viewReview(app, caller, open, review)
}

async function openDismissible(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  id: number,
): Promise<OpenReview> {
  const open = await openPull(app, caller, name, 'take part')
  // Checked first, so that other callers do not learn which reviews exist.
  if (!suffices(open.units.code, 'admin')) throw new DomainError('REVIEW_DISMISSAL_DENIED')
  const review = await findReview(app, caller, open, id)
  if (!isVote(review)) throw new DomainError('REVIEW_NOT_DISMISSIBLE')
  checkOpen(open.pull)
  return { ...open, review }
}

function checkOpen({ state }: PullRequest): void {
  if (state !== 'OPEN') throw new DomainError('REVIEW_DISMISSAL_CLOSED')
}
