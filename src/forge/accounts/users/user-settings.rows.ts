import { numbersOf } from '../../../platform/database/prepared.ts'
import type { Db } from '../../../platform/database/schema.ts'
import type { UserSettings } from '../schema.ts'

const COLUMNS = ['locale', 'memo_visibility', 'theme', 'email_notifications'] as const

/** Returns the stored preferences of an account; undefined if there are none. */
export function findUserSettings(db: Db, userId: number): Promise<UserSettings | undefined> {
  return db
    .selectFrom('user_settings')
    .select(COLUMNS)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/**
 * Changes preferences of an account. A single statement ensures that concurrent changes of
 * different preferences are all kept.
 *
 * @param defaults for preferences that were never stored.
 * @returns all preferences after the change.
 */
export function putUserSettings(
  db: Db,
  userId: number,
  changes: Partial<UserSettings>,
  defaults: UserSettings,
): Promise<UserSettings> {
  return db
    .insertInto('user_settings')
    .values({ user_id: userId, ...defaults, ...changes })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({ user_id: userId, ...changes }),
    )
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** Returns which changes are mailed to some users, for those who have stored preferences. */
export async function findEmailNotifications(
  db: Db,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, UserSettings['email_notifications']>> {
  const found = await db
    .selectFrom('user_settings')
    .select(['user_id', 'email_notifications'])
    .where('user_id', 'in', numbersOf(JSON.stringify(userIds)))
    .execute()
  return new Map(found.map((row) => [row.user_id, row.email_notifications]))
}
