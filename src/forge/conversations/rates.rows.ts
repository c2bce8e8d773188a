import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Contribution } from './schema.ts'

/** What a user contributed since a time. */
export interface RecentContributions {
  readonly count: number
  /** Unix seconds of the oldest one; null without one. */
  readonly oldestTime: number | null
}

/** Counts the contributions of a user since a time, in Unix seconds. */
export function recentContributions(
  db: Db,
  { user_id, kind }: Pick<Contribution, 'user_id' | 'kind'>,
  sinceTime: number,
): Promise<RecentContributions> {
  return db
    .selectFrom('contributions')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('create_time').as('oldestTime')])
    .where('user_id', '=', user_id)
    .where('kind', '=', kind)
    .where('create_time', '>', sinceTime)
    .executeTakeFirstOrThrow()
}

export async function insertContributions(
  tx: Tx,
  contributions: readonly Contribution[],
): Promise<void> {
  if (contributions.length === 0) return
  await tx.insertInto('contributions').values(contributions).execute()
}

/** Deletes the contributions of a user before a time, in Unix seconds. */
export async function deleteOldContributions(
  tx: Tx,
  userId: number,
  beforeTime: number,
): Promise<void> {
  await tx
    .deleteFrom('contributions')
    .where('user_id', '=', userId)
    .where('create_time', '<=', beforeTime)
    .execute()
}
