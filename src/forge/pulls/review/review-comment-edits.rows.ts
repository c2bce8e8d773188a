import type { Insertable } from 'kysely'
import type { Db, Schema, Tx } from '../../../platform/database/schema.ts'
import type { ReviewCommentEdit } from '../schema.ts'

/** Returns the edits of a comment, oldest first. */
export function listReviewCommentEdits(db: Db, commentId: number): Promise<ReviewCommentEdit[]> {
  return db
    .selectFrom('review_comment_edits')
    .selectAll()
    .where('comment_id', '=', commentId)
    .orderBy('id')
    .execute()
}

/** Stores an edit of a comment, and forgets all but the latest ones. */
export async function insertReviewCommentEdit(
  tx: Tx,
  edit: Insertable<Schema['review_comment_edits']>,
  kept: number,
): Promise<void> {
  await tx.insertInto('review_comment_edits').values(edit).execute()
  const outdated = (await listReviewCommentEdits(tx, edit.comment_id)).slice(0, -kept)
  for (const { id } of outdated) await deleteReviewCommentEdit(tx, edit.comment_id, id)
}

/** Deletes an edit of a comment. @returns false if the comment has no such edit. */
export async function deleteReviewCommentEdit(
  tx: Tx,
  commentId: number,
  id: number,
): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('review_comment_edits')
    .where('comment_id', '=', commentId)
    .where('id', '=', id)
    .executeTakeFirst()
  return numDeletedRows > 0
}
