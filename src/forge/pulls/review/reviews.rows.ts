import { sql } from 'kysely'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { type TeamViewer, teamsVisibleTo } from '../../organizations/teams.rows.ts'
import type {
  NewReview,
  NewReviewComment,
  Review,
  ReviewChanges,
  ReviewComment,
} from '../schema.ts'

/** The viewer of a list of reviews. */
export interface ReviewViewer {
  /** Undefined for an anonymous viewer. */
  readonly userId: number | undefined
  /**
   * The visible teams, all of the organisation that owns the repository. Undefined if the owner is
   * a user.
   */
  readonly teams: { readonly organizationId: number; readonly viewer: TeamViewer } | undefined
}

/** The columns of a review that decide whether it counts. */
export type Vote = Pick<
  Review,
  'id' | 'reviewer_id' | 'team_id' | 'state' | 'official' | 'dismissed' | 'stale' | 'compared_head'
>

const VOTE_COLUMNS = [
  'id',
  'reviewer_id',
  'team_id',
  'state',
  'official',
  'dismissed',
  'stale',
  'compared_head',
] as const

const VOTES = ['APPROVED', 'REQUEST_CHANGES'] as const

/** The states of submitted reviews that can become stale. */
const SUBMITTED = [...VOTES, 'COMMENT'] as const

/** The reviewed commit. */
export type Reviewed = Pick<Review, 'commit_id' | 'merge_base'>

/** Returns a review of a pull request by its id if the viewer may see it. */
export function findReview(
  db: Db,
  pullId: number,
  viewer: ReviewViewer,
  id: number,
): Promise<Review | undefined> {
  return selectReviews(db, pullId, viewer)
    .selectAll('reviews')
    .where('reviews.id', '=', id)
    .executeTakeFirst()
}

/** Returns a review by its id, for any viewer. */
export function findReviewById(db: Db, id: number): Promise<Review | undefined> {
  return db.selectFrom('reviews').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Lists the reviews and the review requests of a pull request, oldest first. */
export function listReviews(
  db: Db,
  pullId: number,
  viewer: ReviewViewer,
  offset: number,
  limit: number,
): Promise<Review[]> {
  return selectReviews(db, pullId, viewer)
    .selectAll('reviews')
    .orderBy('reviews.id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of comments in that list. */
export async function countReviews(db: Db, pullId: number, viewer: ReviewViewer): Promise<number> {
  const { count } = await selectReviews(db, pullId, viewer)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectReviews(db: Db, pullId: number, { userId, teams }: ReviewViewer) {
  return db
    .selectFrom('reviews')
    .where('reviews.pull_request_id', '=', pullId)
    .where((eb) =>
      eb.or([eb('reviews.state', '<>', 'PENDING'), eb('reviews.reviewer_id', '=', userId ?? null)]),
    )
    .where((eb) =>
      eb.or([
        eb('reviews.team_id', 'is', null),
        ...(teams === undefined
          ? []
          : [
              eb.exists(
                eb
                  .selectFrom('teams')
                  .select('teams.id')
                  .whereRef('teams.id', '=', 'reviews.team_id')
                  .where('teams.organization_id', '=', teams.organizationId)
                  .where(teamsVisibleTo(teams.viewer)),
              ),
            ]),
      ]),
    )
}

/** Returns the pending review of a user. */
export function findPendingReview(
  db: Db,
  pullId: number,
  reviewerId: number,
): Promise<Review | undefined> {
  return db
    .selectFrom('reviews')
    .selectAll()
    .where('pull_request_id', '=', pullId)
    .where('reviewer_id', '=', reviewerId)
    .where('state', '=', sql.lit('PENDING' as const))
    .executeTakeFirst()
}

/** Stores a review. A second pending or official one of its kind violates a UNIQUE constraint. */
export function insertReview(tx: Tx, review: NewReview): Promise<Review> {
  return tx.insertInto('reviews').values(review).returningAll().executeTakeFirstOrThrow()
}

/** Updates a review. Returns undefined if it was deleted. */
export function updateReview(
  tx: Tx,
  id: number,
  changes: ReviewChanges,
): Promise<Review | undefined> {
  return tx
    .updateTable('reviews')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Deletes a review with its comments. @returns whether it existed. */
export async function deleteReview(tx: Tx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('reviews')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Makes the earlier votes of a reviewer on a pull request unofficial. */
export async function clearOfficialVotes(
  tx: Tx,
  pullId: number,
  reviewerId: number,
): Promise<void> {
  await tx
    .updateTable('reviews')
    .set({ official: 0 })
    .where('pull_request_id', '=', pullId)
    .where('reviewer_id', '=', reviewerId)
    .where('state', 'in', VOTES)
    .where('official', '=', 1)
    .execute()
}

/**
 * Lists the approvals and rejections of a pull request in the order of submission, whether or not
 * they count.
 */
export function listVotes(db: Db, pullId: number): Promise<Vote[]> {
  return db
    .selectFrom('reviews')
    .select(VOTE_COLUMNS)
    .where('pull_request_id', '=', pullId)
    .where('state', 'in', VOTES)
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** Lists the official votes of a pull request, and its official review requests. */
export async function listOfficial(db: Db, pullId: number): Promise<Vote[]> {
  const official = db
    .selectFrom('reviews')
    .select(VOTE_COLUMNS)
    .where('pull_request_id', '=', pullId)
    .where('official', '=', sql.lit(1))
  // One condition for each of two partial indexes.
  const votes = await official
    .where('state', 'in', [sql.lit('APPROVED' as const), sql.lit('REQUEST_CHANGES' as const)])
    .orderBy('create_time')
    .orderBy('id')
    .execute()
  const requests = await official.where('state', '=', sql.lit('REQUEST_REVIEW' as const)).execute()
  return [...votes, ...requests]
}

/** Lists the official votes of pull requests that are not dismissed. */
export async function listOfficialVotes(
  db: Db,
  pullIds: readonly number[],
): Promise<Pick<Review, 'pull_request_id' | 'state'>[]> {
  if (pullIds.length === 0) return []
  return votesOfPulls(db, JSON.stringify(pullIds))
}

const votesOfPulls = prepareQuery((db, pullIds: string) =>
  db
    .selectFrom('reviews')
    .select(['pull_request_id', 'state'])
    .where('pull_request_id', 'in', numbersOf(pullIds))
    // As the partial index has them.
    .where('official', '=', sql.lit(1))
    .where('state', 'in', [sql.lit('APPROVED' as const), sql.lit('REQUEST_CHANGES' as const)])
    .where('dismissed', '=', 0),
)

/** Lists the review requests of pull requests, oldest first. */
export async function listReviewRequests(db: Db, pullIds: readonly number[]): Promise<Review[]> {
  if (pullIds.length === 0) return []
  return requestsOfPulls(db, JSON.stringify(pullIds))
}

const requestsOfPulls = prepareQuery((db, pullIds: string) =>
  db
    .selectFrom('reviews')
    .selectAll()
    .where('pull_request_id', 'in', numbersOf(pullIds))
    .where('state', '=', sql.lit('REQUEST_REVIEW' as const))
    .orderBy('id'),
)

/** Deletes the review request to a user or a team. @returns whether it existed. */
export async function deleteReviewRequest(
  tx: Tx,
  pullId: number,
  asked: { readonly userId: number } | { readonly teamId: number },
): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('reviews')
    .where('pull_request_id', '=', pullId)
    .where('state', '=', sql.lit('REQUEST_REVIEW' as const))
    .where((eb) =>
      'userId' in asked ? eb('reviewer_id', '=', asked.userId) : eb('team_id', '=', asked.teamId),
    )
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/**
 * Deletes the requests that a review answers: those to the reviewer and those to teams of the
 * reviewer.
 */
export async function deleteAnsweredRequests(
  tx: Tx,
  pullId: number,
  reviewerId: number,
): Promise<void> {
  await tx
    .deleteFrom('reviews')
    .where('pull_request_id', '=', pullId)
    .where('state', '=', sql.lit('REQUEST_REVIEW' as const))
    .where((eb) =>
      eb.or([
        eb('reviewer_id', '=', reviewerId),
        eb(
          'team_id',
          'in',
          eb.selectFrom('team_members').select('team_id').where('user_id', '=', reviewerId),
        ),
      ]),
    )
    .execute()
}

/** Lists the users with a submitted review of a pull request. */
export async function listReviewerIds(db: Db, pullId: number): Promise<number[]> {
  const found = await db
    .selectFrom('reviews')
    .select('reviewer_id')
    .distinct()
    .where('pull_request_id', '=', pullId)
    .where('state', 'in', SUBMITTED)
    .where('reviewer_id', 'is not', null)
    .execute()
  return found.flatMap(({ reviewer_id }) => reviewer_id ?? [])
}

/** Dismisses the approvals of a reviewed commit. @returns their ids, in order. */
export async function dismissApprovals(
  tx: Tx,
  pullId: number,
  reviewed: Reviewed,
): Promise<number[]> {
  const dismissed = await tx
    .updateTable('reviews')
    .set({ dismissed: 1 })
    .where('pull_request_id', '=', pullId)
    .where('commit_id', '=', reviewed.commit_id)
    .where('merge_base', '=', reviewed.merge_base)
    .where('state', '=', sql.lit('APPROVED' as const))
    .where('dismissed', '=', 0)
    .returning('id')
    .execute()
  return dismissed.map(({ id }) => id).sort((one, other) => one - other)
}

/** Makes some votes of a pull request official, and all others unofficial. */
export async function setOfficialVotes(
  tx: Tx,
  pullId: number,
  ids: ReadonlySet<number>,
): Promise<void> {
  const votes = tx
    .updateTable('reviews')
    .where('pull_request_id', '=', pullId)
    .where('state', 'in', VOTES)
  await votes.set({ official: 0 }).where('official', '=', 1).execute()
  if (ids.size > 0)
    await votes
      .set({ official: 1 })
      .where('id', 'in', [...ids])
      .execute()
}

/** Records whether a review request is to an official reviewer. */
export async function setOfficialRequest(tx: Tx, id: number, isOfficial: boolean): Promise<void> {
  await tx
    .updateTable('reviews')
    .set({ official: Number(isOfficial) })
    .where('id', '=', id)
    .execute()
}

/** Dismisses all votes of a reviewer on a pull request up to one of their reviews. */
export async function dismissVotes(
  tx: Tx,
  pullId: number,
  reviewerId: number,
  last: Pick<Review, 'id' | 'create_time'>,
  changes: Pick<ReviewChanges, 'dismissal_message' | 'update_time'>,
): Promise<void> {
  await tx
    .updateTable('reviews')
    .set({ ...changes, dismissed: 1 })
    .where('pull_request_id', '=', pullId)
    .where('reviewer_id', '=', reviewerId)
    .where('state', 'in', VOTES)
    .where((eb) => eb(eb.refTuple('create_time', 'id'), '<=', eb.tuple(last.create_time, last.id)))
    .where('dismissed', '=', 0)
    .execute()
}

/**
 * Lists the reviewed commits of which it is unknown whether a head still proposes the same change.
 * Those of official votes precede, then the latest.
 *
 * @param reviews all reviews, or only those that count.
 */
export function listUncompared(
  db: Db,
  pullId: number,
  head: string,
  reviews: 'all' | 'official',
  limit: number,
): Promise<Reviewed[]> {
  return db
    .selectFrom('reviews')
    .select(['commit_id', 'merge_base'])
    .where('pull_request_id', '=', pullId)
    .where('state', 'in', SUBMITTED)
    .where('compared_head', '<>', head)
    .$if(reviews === 'official', (query) => query.where('official', '=', 1))
    .groupBy(['commit_id', 'merge_base'])
    .orderBy((eb) => eb.fn.max('official'), 'desc')
    .orderBy((eb) => eb.fn.max('id'), 'desc')
    .limit(limit)
    .execute()
}

/**
 * Returns the merge bases with which the reviews of a pull request were compared. Empty without
 * reviews.
 */
export async function comparedBases(db: Db, pullId: number): Promise<string[]> {
  const found = await db
    .selectFrom('reviews')
    .select('compared_base')
    .distinct()
    .where('pull_request_id', '=', pullId)
    .where('state', 'in', SUBMITTED)
    .execute()
  return found.map(({ compared_base }) => compared_base)
}

/**
 * Deletes the comparisons of a pull request with heads of another merge base, since the proposed
 * change differs.
 *
 * @param tip the tip of the base branch, on which some comparisons depend.
 */
export async function forgetOtherBases(
  tx: Tx,
  pullId: number,
  mergeBase: string,
  tip: string,
): Promise<void> {
  await tx
    .updateTable('reviews')
    .set({ compared_head: '', compared_base: mergeBase })
    .where('pull_request_id', '=', pullId)
    .where('compared_base', 'not in', [mergeBase, tip])
    .execute()
}

/**
 * Records whether a head proposes another change than the reviewed one.
 *
 * @param base the merge base, or the tip of the base branch if the result depends on that.
 */
export async function setCompared(
  tx: Tx,
  pullId: number,
  reviewed: Reviewed,
  { head, base }: { readonly head: string; readonly base: string },
  isStale: boolean,
): Promise<void> {
  await tx
    .updateTable('reviews')
    .set({ stale: Number(isStale), compared_head: head, compared_base: base })
    .where('pull_request_id', '=', pullId)
    .where('commit_id', '=', reviewed.commit_id)
    .where('merge_base', '=', reviewed.merge_base)
    .where('state', 'in', SUBMITTED)
    .execute()
}

/** Deletes all comparisons of a pull request after a change of its base branch. */
export async function forgetComparisons(tx: Tx, pullId: number): Promise<void> {
  await tx
    .updateTable('reviews')
    .set({ compared_head: '' })
    .where('pull_request_id', '=', pullId)
    .execute()
}

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

/** Lists the comments of some reviews, oldest first. */
export function listCommentsOfReviews(
  db: Db,
  reviewIds: readonly number[],
  limit: number,
): Promise<ReviewComment[]> {
  return db
    .selectFrom('review_comments')
    .selectAll()
    .where('review_id', 'in', reviewIds)
    .orderBy('id')
    .limit(limit)
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
    .innerJoin('issues', 'issues.id', 'reviews.pull_request_id')
    .select('issues.number')
    .where('review_comments.id', '=', id)
    .where('issues.repository_id', '=', repositoryId)
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
  changes: Pick<ReviewComment, 'body' | 'create_time' | 'update_time'>,
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
