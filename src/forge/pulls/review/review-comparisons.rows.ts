import type { Db, Tx } from '../../../platform/database/schema.ts'
import { type Reviewed, SUBMITTED } from './reviews.rows.ts'

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
 */
export async function forgetOtherBases(tx: Tx, pullId: number, mergeBase: string): Promise<void> {
  await tx
    .updateTable('reviews')
    .set({ compared_head: '', compared_base: mergeBase })
    .where('pull_request_id', '=', pullId)
    .where('compared_base', '<>', mergeBase)
    .execute()
}

/**
 * Records whether a head with the merge base `mergeBase` proposes another change than the reviewed
 * one.
 */
export async function setCompared(
  tx: Tx,
  pullId: number,
  reviewed: Reviewed,
  { head, mergeBase }: { readonly head: string; readonly mergeBase: string },
  isStale: boolean,
): Promise<void> {
  await tx
    .updateTable('reviews')
    .set({ stale: Number(isStale), compared_head: head, compared_base: mergeBase })
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
