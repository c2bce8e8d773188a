import type { Db, Tx } from '../database/database.ts'
import { prepareQuery } from '../database/prepared.ts'
import type { User } from './users.ts'

export interface PasswordResetsTable {
  user_id: number
  /**
   * SHA-256 of the token, in hex; null when it was used or is void. A trigger voids it when the
   * username, address, password or state of the account changes.
   */
  token_hash: string | null
  /** From when on the token is refused, Unix seconds. */
  expire_time: number
  /** When a token was last mailed, Unix seconds; null for never. It outlives the token. */
  mail_time: number | null
}

const userByToken = prepareQuery((db, tokenHash: string, now: number) =>
  db
    .selectFrom('password_resets')
    .innerJoin('users', 'users.id', 'password_resets.user_id')
    .selectAll('users')
    .where('password_resets.token_hash', '=', tokenHash)
    .where('password_resets.expire_time', '>', now),
)

const mailTime = prepareQuery((db, userId: number) =>
  db.selectFrom('password_resets').select('mail_time').where('user_id', '=', userId),
)

/** The account that a live token is for. */
export async function findUserByResetToken(
  db: Db,
  tokenHash: string,
  now: number,
): Promise<User | undefined> {
  return (await userByToken(db, tokenHash, now))[0]
}

/** When an account was last mailed a token, Unix seconds. */
export async function findResetMailTime(db: Db, userId: number): Promise<number | undefined> {
  return (await mailTime(db, userId))[0]?.mail_time ?? undefined
}

/**
 * Stores a token in the place of the account's older one. Without a `mail_time` the stored one
 * stays.
 */
export async function putPasswordReset(
  tx: Tx,
  reset: { user_id: number; token_hash: string; expire_time: number; mail_time?: number },
): Promise<void> {
  const { user_id: _, ...columns } = reset
  await tx
    .insertInto('password_resets')
    .values(reset)
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(columns))
    .execute()
}

/** Uses up a live token. Of any number of attempts one gets true. */
export async function usePasswordReset(tx: Tx, tokenHash: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('password_resets')
    .set({ token_hash: null })
    .where('token_hash', '=', tokenHash)
    .where('expire_time', '>', now)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
