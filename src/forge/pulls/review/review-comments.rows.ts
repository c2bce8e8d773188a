import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { NewReviewComment, ReviewComment } from '../schema.ts'

/** Lists the comments of reviews. The comments of each review are sorted, oldest first. */
export function listReviewComments(
  db: Db,
  reviewId: number,
  offset: number,
  limit: number,
): Promise<ReviewComment[]> {
  return db
    .selectFrom('review_comments')
    .selectAll()
    .where('review_id', '=', reviewId)
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the comment with an id. */
export function findReviewComment(db: Db, id: number): Promise<ReviewComment | undefined> {
  return db.selectFrom('review_comments').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the number of the pull request of a repository that a comment belongs to. */
export async function findNumberOfComment(
  db: Db,
  repositoryId: number,
  id: number,
): Promise<number | undefined> {
  const found = await db
    .selectFrom('review_comments')
    .innerJoin('reviews', 'reviews.id', 'review_comments.review_id')
    .innerJoin('pull_requests', 'pull_requests.id', 'reviews.pull_request_id')
    .select('pull_requests.number')
    .where('review_comments.id', '=', id)
    .where('pull_requests.repository_id', '=', repositoryId)
    .executeTakeFirst()
  return found?.number
}

/** Stores a comment. */
export function insertReviewComment(tx: Tx, comment: NewReviewComment): Promise<ReviewComment> {
  return tx.insertInto('review_comments').values(comment).returningAll().executeTakeFirstOrThrow()
}

/** Records the present file and line of a comment. */
export async function moveReviewComment(
  tx: Tx,
  id: number,
  place: Pick<ReviewComment, 'path' | 'line' | 'commit_id'>,
): Promise<void> {
  await tx.updateTable('review_comments').set(place).where('id', '=', id).execute()
}

/** Changes the text of a comment. Returns undefined if the comment was deleted. */
export function updateReviewComment(
  tx: Tx,
  id: number,
  changes: Pick<ReviewComment, 'body' | 'update_time'>,
): Promise<ReviewComment | undefined> {
  return tx
    .updateTable('review_comments')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/**
 * Records who resolved the conversation of a comment. Null for no one. Returns undefined if the
 * comment was deleted.
 */
export function setResolver(
  tx: Tx,
  id: number,
  resolverId: number | null,
): Promise<ReviewComment | undefined> {
  return tx
    .updateTable('review_comments')
    .set({ resolver_id: resolverId })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** @returns whether the comment existed. */
export async function deleteReviewComment(tx: Tx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('review_comments')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Returns the texts of the comments of a review. */
export async function textsOfReview(db: Db, reviewId: number): Promise<string[]> {
  const found = await db
    .selectFrom('review_comments')
    .select('body')
    .where('review_id', '=', reviewId)
    .orderBy('id')
    .execute()
  return found.map(({ body }) => body)
}
