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

/** The reactions of one kind to a text. */
export interface ReactionCount {
  readonly content: string
  readonly count: number
}

/** Returns the numbers of the reactions to a text, by name. */
export function countReactionsByContent(db: Db, target: ReactionTarget): Promise<ReactionCount[]> {
  return selectReactions(db, target)
    .select((eb) => ['content', eb.fn.countAll<number>().as('count')])
    .groupBy('content')
    .orderBy('content')
    .execute()
}

/** The reactions of one kind to a text of a conversation. */
export interface ReactionCountOfText extends ReactionCount {
  /** 0 for the conversation itself. */
  readonly comment: number
  /** 0 or 1: whether a user is one of those who reacted. */
  readonly reacted: number
}

/** Counts the reactions to all texts of a conversation, by comment and name. */
export function countReactionsOfAll(
  db: Db,
  conversationId: number,
  userId: number | undefined,
  limit: number,
): Promise<ReactionCountOfText[]> {
  return db
    .selectFrom('issue_reactions')
    .where('issue_id', '=', conversationId)
    .select((eb) => [
      eb.fn.coalesce('comment_id', eb.lit(0)).as('comment'),
      'content',
      eb.fn.countAll<number>().as('count'),
      eb.fn
        .max<number>(
          eb
            .case()
            .when('user_id', '=', userId ?? 0)
            .then(1)
            .else(0)
            .end(),
        )
        .as('reacted'),
    ])
    .groupBy(['comment_id', 'content'])
    .orderBy('comment')
    .orderBy('content')
    .limit(limit)
    .execute()
}

/** Deletes a reaction. @returns false if there was none. */
export async function deleteReaction(
  db: Db,
  target: ReactionTarget,
  userId: number,
  content: string,
): Promise<boolean> {
  const found = selectReactions(db, target)
    .select('id')
    .where('content', '=', content)
    .where('user_id', '=', userId)
  const { numDeletedRows } = await db
    .deleteFrom('issue_reactions')
    .where('id', 'in', found)
    .executeTakeFirst()
  return numDeletedRows > 0
}

/** The condition has the form of the unique index. */
function selectReactions(db: Db, { conversationId, commentId }: ReactionTarget) {
  return db
    .selectFrom('issue_reactions')
    .where('issue_id', '=', conversationId)
    .where((eb) => eb(eb.fn.coalesce('comment_id', eb.lit(0)), '=', commentId ?? 0))
}
