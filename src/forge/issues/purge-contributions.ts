import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { findConversationsByIds } from '../conversations/conversations.rows.ts'
import { commentsOf, deleteIssueComment } from '../conversations/issue-comments.rows.ts'
import type { IssueComment } from '../conversations/schema.ts'
import {
  deletionSubject,
  issueSubject,
  pullSubject,
  recordEvent,
  wakeWatchers,
} from '../repositories/activity/repository-events.ts'
import { deleteDiscardedFiles } from '../repositories/attachments/storage-deletions.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { usersConcernedBy } from './concern-watches.rows.ts'
import { removePin } from './issue-pins.ts'
import { deleteIssue, issuesOf } from './issues.rows.ts'

/** Issues and comments that one transaction deletes. Other writes wait for it. */
const STEP = 50

/**
 * Deletes the issues and the comments of an account in all repositories, with everything that belongs
 * to them. Its pull requests and reviews stay. Those who watch are told; webhooks and users are not.
 *
 * @param since only what was made at this time or later, in Unix seconds.
 */
export async function purgeContributions(
  app: ReposApp,
  userId: number,
  since: number,
): Promise<void> {
  for (;;) {
    const deleted = await transaction(app.db, (tx) =>
      deleteContributions(app, tx, userId, since, STEP),
    )
    wakeWatchers(app)
    deleteDiscardedFiles(app)
    if (deleted < STEP) return
  }
}

/**
 * Deletes at most `limit` issues and at most `limit` comments of an account, in a transaction.
 *
 * @returns the larger one of the numbers of deleted issues and of comments.
 */
export async function deleteContributions(
  app: ReposApp,
  tx: Tx,
  userId: number,
  since: number,
  limit: number,
): Promise<number> {
  const issues = await issuesOf(tx, userId, since, limit)
  for (const issue of issues) {
    await recordEvent(app, tx, {
      repository_id: issue.repository_id,
      type: 'ISSUE_DELETED',
      audience: 'issues',
      subject_id: issue.id,
      subject: deletionSubject(issue.number, await usersConcernedBy(tx, issue)),
    })
    await removePin(tx, issue)
    await deleteIssue(tx, issue.id)
  }
  const comments = await commentsOf(tx, userId, since, limit)
  for (const comment of comments) {
    await deleteComment(app, tx, comment)
  }
  return Math.max(issues.length, comments.length)
}

async function deleteComment(app: ReposApp, tx: Tx, { id, issue_id }: IssueComment): Promise<void> {
  const conversation = (await findConversationsByIds(tx, [issue_id])).get(issue_id)
  await deleteIssueComment(tx, id)
  if (!conversation) return
  const comment = { commentId: id, change: 'deleted' } as const
  const isPull = conversation.is_pull === 1
  await recordEvent(app, tx, {
    repository_id: conversation.repository_id,
    type: isPull ? 'PULL_REQUEST_COMMENTED' : 'ISSUE_COMMENTED',
    audience: isPull ? 'pulls' : 'issues',
    subject_id: conversation.id,
    subject: isPull
      ? pullSubject(conversation, comment)
      : issueSubject(conversation.number, comment),
  })
}
