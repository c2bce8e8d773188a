import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { DomainError } from '../core/errors.ts'
import { getPullComment, type PullCommentView } from '../pulls/conversation/pull-comments.ts'
import { findReadablePull } from '../pulls/heads/open-pulls.ts'
import type { PullFacts } from '../pulls/heads/pull-changes.ts'
import { type PullView, viewPulls } from '../pulls/lists/pull-views.ts'
import { findReviewById } from '../pulls/review/reviews.rows.ts'
import type { DeliveriesApp } from './payloads.ts'
import type { HookSubject } from './webhook-pushes.ts'

/** The types of reviews in the events of compatible systems. */
const REVIEW_TYPES: Readonly<Record<string, string>> = {
  APPROVED: 'pull_request_review_approved',
  REQUEST_CHANGES: 'pull_request_review_rejected',
  COMMENT: 'pull_request_review_comment',
}

/**
 * Returns the JSON object of an event of a pull request or a review; undefined when it cannot be
 * read.
 */
export async function pullPayload(
  app: DeliveriesApp,
  subject: HookSubject<PullFacts>,
): Promise<object | undefined> {
  const { facts, viewer, repository, sender } = subject
  const view = await viewOf(app, subject)
  if (!view) return undefined
  const reviewer =
    facts.reviewer === undefined ? undefined : await findOwnerById(app.db, facts.reviewer)
  const review = facts.review === undefined ? undefined : await findReviewById(app.db, facts.review)
  return {
    action: facts.action,
    number: view.pull.number,
    pull_request: JSON.parse(app.payloads.pullRequest(app, viewer, view)),
    requested_reviewer: reviewer ? JSON.parse(app.payloads.account(app, viewer, reviewer)) : null,
    repository,
    sender,
    commit_id: view.pull.merge_commit ?? '',
    review: review ? { type: REVIEW_TYPES[review.state] ?? '', content: review.body } : null,
  }
}

/**
 * Returns the JSON object of an event of a comment; undefined when the pull request cannot be read,
 * or the comment was deleted since. A deleted comment has its id only.
 */
export async function commentPayload(
  app: DeliveriesApp,
  subject: HookSubject<PullFacts>,
): Promise<object | undefined> {
  const { facts, viewer, repository, sender } = subject
  const view = await viewOf(app, subject)
  if (!view) return undefined
  const isDeletion = facts.action === 'deleted'
  const comment = isDeletion ? undefined : await commentOf(app, subject)
  if (!comment && !isDeletion) return undefined
  return {
    action: facts.action,
    issue: JSON.parse(app.payloads.issue(app, viewer, view)),
    pull_request: JSON.parse(app.payloads.pullRequest(app, viewer, view)),
    comment: comment
      ? JSON.parse(app.payloads.comment(app, viewer, comment))
      : { id: facts.comment, body: '' },
    repository,
    sender,
    is_pull: true,
  }
}

async function viewOf(
  app: DeliveriesApp,
  { facts, viewer }: HookSubject<PullFacts>,
): Promise<PullView | undefined> {
  const open = await findReadablePull(app, viewer, facts.pull)
  const [view] = open ? await viewPulls(app, viewer, open, [open.pull]) : []
  return view
}

async function commentOf(
  app: DeliveriesApp,
  { facts, viewer, open }: HookSubject<PullFacts>,
): Promise<PullCommentView | undefined> {
  const name = { owner: open.owner.name, repo: open.repository.name }
  try {
    return await getPullComment(app, viewer, name, facts.comment ?? 0)
  } catch (error) {
    if (error instanceof DomainError && error.reason === 'ISSUE_COMMENT_NOT_FOUND') return undefined
    throw error
  }
}
