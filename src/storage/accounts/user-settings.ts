import type { Db } from '../database/database.ts'

/** Preferences of the accounts that ever wrote one. */
export interface UserSettingsTable {
  user_id: number
  /** Language tag. */
  locale: string
  /** Of memos that are made without one. */
  memo_visibility: 'PRIVATE' | 'PROTECTED' | 'PUBLIC'
  /** Name of a stylesheet; empty for the frontend's own choice. */
  theme: string
}

export type UserSettings = Omit<UserSettingsTable, 'user_id'>

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
