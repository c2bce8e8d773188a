import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { User } from '../../core/schema.ts'

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

/** Returns the account that a valid token belongs to. */
export async function findUserByResetToken(
  db: Db,
  tokenHash: string,
  now: number,
): Promise<User | undefined> {
  return (await userByToken(db, tokenHash, now))[0]
}

/** Returns when a token was last mailed to an account, in Unix seconds. */
export async function findResetMailTime(db: Db, userId: number): Promise<number | undefined> {
  return (await mailTime(db, userId))[0]?.mail_time ?? undefined
}

/**
 * Stores a token and replaces an older one of the account. Without a `mail_time`, the stored time
 * remains.
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

/** Consumes a valid token. Only one of several concurrent calls returns true. */
export async function usePasswordReset(tx: Tx, tokenHash: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('password_resets')
    .set({ token_hash: null })
    .where('token_hash', '=', tokenHash)
    .where('expire_time', '>', now)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
