import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { NewRecoveryCode, RecoveryCode, TwoFactor } from '../schema.ts'

const twoFactorOfUser = prepareQuery((db, userId: number) =>
  db.selectFrom('two_factors').selectAll().where('user_id', '=', userId),
)

/** Returns the second factor of an account; undefined if the account has no secret. */
export async function findTwoFactor(db: Db, userId: number): Promise<TwoFactor | undefined> {
  return (await twoFactorOfUser(db, userId))[0]
}

/**
 * Stores a secret that waits for its first passcode, and replaces an unconfirmed one.
 *
 * @returns the row; undefined if the account has a confirmed secret.
 */
export function putPendingTwoFactor(
  db: Db,
  userId: number,
  pending: Pick<TwoFactor, 'secret' | 'create_time'>,
): Promise<TwoFactor | undefined> {
  const changes = { ...pending, last_used_step: 0, confirm_time: null, last_used_time: null }
  return db
    .insertInto('two_factors')
    .values({ user_id: userId, ...changes })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet(changes).where('two_factors.confirm_time', 'is', null),
    )
    .returningAll()
    .executeTakeFirst()
}

/**
 * Confirms a secret.
 *
 * @param step of the passcode that confirms the secret, which is consumed.
 * @returns the updated row; undefined if the secret was confirmed or replaced since it was read.
 */
export function confirmTwoFactor(
  tx: Tx,
  { user_id, secret }: TwoFactor,
  step: number,
  time: number,
): Promise<TwoFactor | undefined> {
  return tx
    .updateTable('two_factors')
    .set({ confirm_time: time, last_used_step: step, last_used_time: time })
    .where('user_id', '=', user_id)
    .where('secret', '=', secret)
    .where('confirm_time', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

/**
 * Consumes a passcode and those of earlier steps.
 *
 * A single statement ensures that only one of several concurrent calls with the same step succeeds.
 *
 * @returns whether neither this step nor a later one was used, and the secret is still the same.
 */
export async function consumePasscode(
  db: Db,
  { user_id, secret }: TwoFactor,
  step: number,
  time: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('two_factors')
    .set({ last_used_step: step, last_used_time: time })
    .where('user_id', '=', user_id)
    .where('secret', '=', secret)
    .where('last_used_step', '<', step)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/**
 * Deletes a second factor with its recovery codes.
 *
 * @returns whether the second factor was still enabled.
 */
export async function deleteTwoFactor(db: Db, { user_id, secret }: TwoFactor): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('two_factors')
    .where('user_id', '=', user_id)
    .where('secret', '=', secret)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

export function findRecoveryCode(
  db: Db,
  userId: number,
  lookup: string,
): Promise<RecoveryCode | undefined> {
  return db
    .selectFrom('recovery_codes')
    .selectAll()
    .where('user_id', '=', userId)
    .where('lookup', '=', lookup)
    .executeTakeFirst()
}

/** Returns the number of recovery codes that an account has left. */
export async function countRecoveryCodes(db: Db, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('recovery_codes')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/** Replaces the recovery codes of an account. */
export async function replaceRecoveryCodes(
  tx: Tx,
  userId: number,
  codes: readonly NewRecoveryCode[],
): Promise<void> {
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await tx
    .insertInto('recovery_codes')
    .values(codes.map((code) => ({ user_id: userId, ...code })))
    .execute()
}

/**
 * Consumes a recovery code.
 *
 * @returns whether the code still existed.
 */
export async function consumeRecoveryCode(
  tx: Tx,
  { user_id, lookup, code_hash }: RecoveryCode,
  time: number,
) {
  const { numDeletedRows } = await tx
    .deleteFrom('recovery_codes')
    .where('user_id', '=', user_id)
    .where('lookup', '=', lookup)
    .where('code_hash', '=', code_hash)
    .executeTakeFirstOrThrow()
  if (numDeletedRows === 0n) return false
  await tx
    .updateTable('two_factors')
    .set({ last_used_time: time })
    .where('user_id', '=', user_id)
    .execute()
  return true
}
