import { sql } from 'kysely'
import type { Db } from '../../../platform/database/schema.ts'

/** Returns whether an account is the author of memos, which are deleted with the account. */
export async function ownsMemos(db: Db, userId: number): Promise<boolean> {
  const memo = await db
    .selectFrom('memos')
    .select('id')
    .where('creator_id', '=', userId)
    .limit(1)
    .executeTakeFirst()
  return memo !== undefined
}

/**
 * Returns whether an account is the author of content that others may rely on: memos, pull
 * requests, comments, reviews or releases. Pending reviews and review requests do not count.
 */
export async function ownsContent(db: Db, userId: number): Promise<boolean> {
  const { rows } = await sql<{ owns: number }>`select
    exists (select 1 from memos where creator_id = ${userId})
    or exists (select 1 from pull_requests where poster_id = ${userId})
    or exists (select 1 from pull_comments where poster_id = ${userId})
    or exists (select 1 from reviews where reviewer_id = ${userId} and state not in ('PENDING', 'REQUEST_REVIEW'))
    or exists (select 1 from review_comments join reviews on reviews.id = review_id
      where poster_id = ${userId} and state <> 'PENDING')
    or exists (select 1 from releases where publisher_id = ${userId} and tag_only = 0) as owns`.execute(
    db,
  )
  return rows[0]?.owns === 1
}
