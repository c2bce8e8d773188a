import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { NewUserEmail, UserEmail } from '../schema.ts'

/** Lists the additional addresses of a user, oldest first. */
export function listUserEmails(db: Db, userId: number): Promise<UserEmail[]> {
  return db
    .selectFrom('user_emails')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
}

/** Stores an address, or gives a stored one that is not verified a new token. */
export async function putUserEmail(tx: Tx, email: NewUserEmail): Promise<void> {
  const { token_hash, token_expire_time, verify_time } = email
  await tx
    .insertInto('user_emails')
    .values(email)
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'email_key'])
        .doUpdateSet({ token_hash, token_expire_time, verify_time })
        .where('user_emails.verify_time', 'is', null),
    )
    .execute()
}

/** Returns the address of a user to which a valid token was sent. */
export function findUserEmailByToken(
  db: Db,
  userId: number,
  tokenHash: string,
  now: number,
): Promise<UserEmail | undefined> {
  return db
    .selectFrom('user_emails')
    .selectAll()
    .where('user_id', '=', userId)
    .where('token_hash', '=', tokenHash)
    .where('token_expire_time', '>', now)
    .executeTakeFirst()
}

/** @throws a unique violation if another account has verified the address. */
export async function verifyUserEmail(tx: Tx, id: number, now: number): Promise<void> {
  await tx
    .updateTable('user_emails')
    .set({ verify_time: now, token_hash: null })
    .where('id', '=', id)
    .execute()
}

export async function deleteUserEmails(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.deleteFrom('user_emails').where('id', 'in', ids).execute()
}

/**
 * Counts mails to new addresses of a user in a period.
 *
 * @param startOfPeriod earlier counts are over, in Unix seconds, as is `now`.
 * @returns the number of mails in the present period, with the given ones.
 */
export async function countUserEmailMails(
  tx: Tx,
  userId: number,
  mails: number,
  startOfPeriod: number,
  now: number,
): Promise<number> {
  const present = await tx
    .selectFrom('user_email_mails')
    .selectAll()
    .where('user_id', '=', userId)
    .executeTakeFirst()
  const isOver = !present || present.start_time <= startOfPeriod
  const counted = isOver
    ? { start_time: now, count: mails }
    : { start_time: present.start_time, count: present.count + mails }
  await tx
    .insertInto('user_email_mails')
    .values({ user_id: userId, ...counted })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(counted))
    .execute()
  return counted.count
}
