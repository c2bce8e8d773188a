import type { Insertable } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'
import { takeNumber } from '../conversations/conversations.rows.ts'
import type { Conversation, ConversationColumns } from '../conversations/schema.ts'

/** An issue to store. The number is assigned then. */
export type NewIssue = Omit<Insertable<ConversationColumns>, 'id' | 'number' | 'is_pull'>

/** The columns of an issue that an edit changes. */
export type IssueChanges = Partial<
  Pick<
    Conversation,
    | 'title'
    | 'body'
    | 'content_version'
    | 'state'
    | 'close_time'
    | 'milestone_id'
    | 'due_time'
    | 'ref'
    | 'state_reason'
    | 'duplicate_of_id'
  >
>

/** The columns of pull requests, which are empty for issues. */
const NO_BRANCHES = {
  base_branch: '',
  head_branch: '',
  head_commit: '',
  head_ref_commit: '',
  allow_maintainer_edit: 0,
}

/**
 * Stores an issue under the next number of its repository.
 *
 * @param chosen a number in place of the next one.
 */
export async function insertIssue(tx: Tx, issue: NewIssue, chosen?: number): Promise<Conversation> {
  const number = chosen ?? (await takeNumber(tx, issue.repository_id))
  return tx
    .insertInto('issues')
    .values({ ...issue, ...NO_BRANCHES, number, is_pull: 0 })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function updateIssue(tx: Tx, id: number, changes: IssueChanges): Promise<void> {
  await tx.updateTable('issues').set(changes).where('id', '=', id).execute()
}

/** Moves the time of the last change of a conversation that another one names. */
export async function moveUpdateTime(tx: Tx, id: number, now: number): Promise<void> {
  await tx.updateTable('issues').set({ update_time: now }).where('id', '=', id).execute()
}

/** Closes or reopens an issue, without a reason. @returns false if the issue is in that state already. */
export async function setIssueState(
  tx: Tx,
  id: number,
  state: 'OPEN' | 'CLOSED',
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('issues')
    .set({
      state,
      close_time: state === 'CLOSED' ? now : null,
      state_reason: '',
      duplicate_of_id: null,
    })
    .where('id', '=', id)
    .where('state', '<>', state)
    .executeTakeFirst()
  return numUpdatedRows > 0
}

/** Deletes an issue with everything that belongs to it. */
export async function deleteIssue(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('issues').where('id', '=', id).execute()
}

/** Returns issues that a user has opened since a time in Unix seconds. */
export function issuesOf(
  tx: Tx,
  userId: number,
  since: number,
  limit: number,
): Promise<Conversation[]> {
  return tx
    .selectFrom('issues')
    .selectAll()
    .where('poster_id', '=', userId)
    .where('is_pull', '=', 0)
    .where('create_time', '>=', since)
    .limit(limit)
    .execute()
}
