import { getIssueComment, type IssueCommentView } from '../conversations/issue-comments.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import type { HookFacts } from '../webhooks/outbox/webhook-queue.ts'
import type { DeliveriesApp } from './ports.ts'

/** Sources of an event about a repository. */
export interface HookSubject<Facts> {
  readonly facts: Facts
  /** The account for which the webhook acts. */
  readonly viewer: SignedIn
  readonly open: OpenRepository
  /** The JSON objects of the repository and of the account that caused the event. */
  readonly repository: object
  readonly sender: object
}

/** Returns a comment as the account of a webhook reads it; undefined for a deleted comment. */
export async function commentOf(
  app: DeliveriesApp,
  { viewer, open }: Pick<HookSubject<HookFacts>, 'viewer' | 'open'>,
  id: number | undefined,
): Promise<IssueCommentView | undefined> {
  const name = { owner: open.owner.name, repo: open.repository.name }
  try {
    return await getIssueComment(app, viewer, name, id ?? 0)
  } catch (error) {
    if (error instanceof DomainError && error.reason === 'ISSUE_COMMENT_NOT_FOUND') return undefined
    throw error
  }
}
