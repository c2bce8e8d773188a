import type { Db, Tx } from '../../platform/database/schema.ts'
import type { IssueReaction, NewIssueReaction } from './schema.ts'

/** A text that users react to: a conversation, or a comment on it. */
export interface ReactionTarget {
  readonly conversationId: number
  readonly commentId: number | null
}

/** Lists the reactions to a text, oldest first. */
export function listReactions(
  db: Db,
  target: ReactionTarget,
  offset: number,
  limit: number,
): Promise<IssueReaction[]> {
  return selectReactions(db, target).selectAll().orderBy('id').limit(limit).offset(offset).execute()
}

export async function countReactions(db: Db, target: ReactionTarget): Promise<number> {
  const { count } = await selectReactions(db, target)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

export function findReaction(
  db: Db,
  target: ReactionTarget,
  userId: number,
  content: string,
): Promise<IssueReaction | undefined> {
  return selectReactions(db, target)
    .selectAll()
    .where('content', '=', content)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/** @throws a unique violation if there is one already. */
export function insertReaction(tx: Tx, reaction: NewIssueReaction): Promise<IssueReaction> {
  return tx.insertInto('issue_reactions').values(reaction).returningAll().executeTakeFirstOrThrow()
}

/** Deletes a reaction, if there is one. */
export async function deleteReaction(
  db: Db,
  target: ReactionTarget,
  userId: number,
  content: string,
): Promise<void> {
  const found = selectReactions(db, target)
    .select('id')
    .where('content', '=', content)
    .where('user_id', '=', userId)
  await db.deleteFrom('issue_reactions').where('id', 'in', found).execute()
}

/** The condition has the form of the unique index. */
function selectReactions(db: Db, { conversationId, commentId }: ReactionTarget) {
  return db
    .selectFrom('issue_reactions')
    .where('issue_id', '=', conversationId)
    .where((eb) => eb(eb.fn.coalesce('comment_id', eb.lit(0)), '=', commentId ?? 0))
}
