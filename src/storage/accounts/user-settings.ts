import type { UserSettings } from '../schema/accounts.ts'
import type { Db } from '../schema/schema.ts'

const COLUMNS = ['locale', 'memo_visibility', 'theme'] as const

/** What an account wrote; undefined when it never wrote a preference. */
export function findUserSettings(db: Db, userId: number): Promise<UserSettings | undefined> {
  return db
    .selectFrom('user_settings')
    .select(COLUMNS)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/**
 * Changes preferences of an account, in one statement, so that changes of different ones at once do
 * not undo each other.
 *
 * @param defaults for those that were never written.
 * @returns all of them, as they are now.
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
