import { type Selectable, sql } from 'kysely'
import { prepareFirst } from '../../platform/database/prepared.ts'
import type { Schema, Tx } from '../../platform/database/schema.ts'
import type { Conversation } from '../conversations/schema.ts'

/** Where a transferred issue goes. */
export type NewPlace = Pick<Conversation, 'repository_id' | 'number' | 'milestone_id'>

/** Returns the issue that had a number of a repository before its transfer, as it is now. */
export const findTransferred = prepareFirst((db, repositoryId: number, number: number) =>
  db
    .selectFrom('issue_transfers')
    .innerJoin('issues', 'issues.id', 'issue_transfers.issue_id')
    .selectAll('issues')
    .where('issue_transfers.repository_id', '=', repositoryId)
    .where('issue_transfers.number', '=', number),
)

/**
 * Moves an issue that is not pinned, with all that belongs to it, and keeps its former number. The
 * counters of both repositories follow; triggers count in milestones.
 *
 * @returns the issue after the move.
 */
export async function moveIssue(
  tx: Tx,
  issue: Conversation,
  place: NewPlace,
): Promise<Selectable<Schema['issues']>> {
  const { id, repository_id, number } = issue
  await tx.insertInto('issue_transfers').values({ repository_id, number, issue_id: id }).execute()
  await count(tx, repository_id, issue, sql`-`)
  await count(tx, place.repository_id, issue, sql`+`)
  const inRepository = { repository_id: place.repository_id }
  await tx.updateTable('issue_comments').set(inRepository).where('issue_id', '=', id).execute()
  await tx.updateTable('issue_attachments').set(inRepository).where('issue_id', '=', id).execute()
  await tx.updateTable('issue_references').set(inRepository).where('source_id', '=', id).execute()
  await tx
    .updateTable('notification_threads')
    .set(inRepository)
    .where('issue_id', '=', id)
    .execute()
  return tx
    .updateTable('issues')
    .set(place)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function count(
  tx: Tx,
  repositoryId: number,
  { state, comment_count }: Conversation,
  sign: ReturnType<typeof sql>,
): Promise<void> {
  await sql`update repositories set
    issues_count = issues_count ${sign} 1,
    open_issues_count = open_issues_count ${sign} ${state === 'OPEN' ? 1 : 0},
    comments_count = comments_count ${sign} ${comment_count}
    where id = ${repositoryId}`.execute(tx)
}
