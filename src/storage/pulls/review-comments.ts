import type { Generated, Insertable, Selectable } from 'kysely'
import type { Db, Tx } from '../database/database.ts'

/** What a review says about lines. */
export interface ReviewCommentsTable {
  /** Never given a second time. */
  id: Generated<number>
  review_id: number
  /** Null when the account is gone. */
  poster_id: number | null
  /** Who said that it is dealt with; null while nobody has. */
  resolver_id: number | null
  path: string
  /** Whether `line` counts in the file of the base or of the head. */
  side: 'old' | 'new'
  /** From 1; 0 for the file as a whole. */
  line: number
  /** Head that the line is in now. */
  commit_id: string
  /** Head that it was made about. */
  original_commit_id: string
  /** Unix seconds, as is the next one. */
  create_time: number
  update_time: number
  /** The part of the diff that it is about. */
  diff_hunk: string
  /** Markdown. */
  body: string
}

export type ReviewComment = Selectable<ReviewCommentsTable>
export type NewReviewComment = Insertable<ReviewCommentsTable>

/** Comments of reviews, each review's oldest first. */
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

/** The comment with an id. */
export function findReviewComment(db: Db, id: number): Promise<ReviewComment | undefined> {
  return db.selectFrom('review_comments').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The number of the pull request of a repository that a comment belongs to. */
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

/** Notes where the line of a comment is, in which file. */
export async function moveReviewComment(
  tx: Tx,
  id: number,
  place: Pick<ReviewComment, 'path' | 'line' | 'commit_id'>,
): Promise<void> {
  await tx.updateTable('review_comments').set(place).where('id', '=', id).execute()
}

/**
 * Notes who dealt with what a comment says; null for nobody. Undefined when the comment is gone.
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

/** @returns whether it was there. */
export async function deleteReviewComment(tx: Tx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('review_comments')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
