import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { User } from '../../core/schema.ts'

/** Returns the percentage of which an owner was last told; 0 for none. */
export async function findWarnedPercent(db: Db, ownerId: number): Promise<number> {
  const row = await db
    .selectFrom('account_usage')
    .select('warned_percent')
    .where('owner_id', '=', ownerId)
    .executeTakeFirst()
  return row?.warned_percent ?? 0
}

/**
 * Stores the percentage of which an owner is told.
 *
 * @param from what is stored.
 * @returns false if another call has changed the percentage meanwhile.
 */
export async function updateWarnedPercent(
  tx: Tx,
  ownerId: number,
  from: number,
  to: number,
): Promise<boolean> {
  const changed = await tx
    .updateTable('account_usage')
    .set({ warned_percent: to })
    .where('owner_id', '=', ownerId)
    .where('warned_percent', '=', from)
    .executeTakeFirst()
  return changed.numUpdatedRows > 0n
}

/** Returns the users who receive mails about an owner: the user, or the first owners of an organisation. */
export function listWarnedUsers(db: Db, ownerId: number, limit: number): Promise<User[]> {
  return db
    .selectFrom('users')
    .selectAll('users')
    .where('state', '=', 'NORMAL')
    .where('email', '<>', '')
    .where((eb) =>
      eb.or([
        eb('users.id', '=', ownerId),
        eb(
          'users.id',
          'in',
          eb
            .selectFrom('team_members')
            .innerJoin('teams', 'teams.id', 'team_members.team_id')
            .select('team_members.user_id')
            .where('teams.organization_id', '=', ownerId)
            .where('teams.permission', '=', 'owner'),
        ),
      ]),
    )
    .orderBy('users.id')
    .limit(limit)
    .execute()
}
