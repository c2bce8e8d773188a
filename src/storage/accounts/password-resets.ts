import { prepareQuery } from '../database/prepared.ts'
import type { User } from '../schema/accounts.ts'
import type { Db, Tx } from '../schema/schema.ts'

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
