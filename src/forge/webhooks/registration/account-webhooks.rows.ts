import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { NewUserWebhook, UserWebhook, UserWebhookChanges } from '../schema.ts'

/** Returns the webhooks of an account in the order of their creation. */
export function listUserWebhooks(db: Db, userId: number): Promise<UserWebhook[]> {
  return db
    .selectFrom('user_webhooks')
    .selectAll()
    .where('user_id', '=', userId)
    .where('scope', '=', 'account')
    .orderBy('id')
    .execute()
}

export async function countUserWebhooks(db: Db, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('user_webhooks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('scope', '=', 'account')
    .executeTakeFirstOrThrow()
  return count
}

export function findUserWebhook(
  db: Db,
  userId: number,
  uid: string,
): Promise<UserWebhook | undefined> {
  return db
    .selectFrom('user_webhooks')
    .selectAll()
    .where('uid', '=', uid)
    .where('user_id', '=', userId)
    .where('scope', '=', 'account')
    .executeTakeFirst()
}

export function insertUserWebhook(tx: Tx, webhook: NewUserWebhook): Promise<UserWebhook> {
  return tx.insertInto('user_webhooks').values(webhook).returningAll().executeTakeFirstOrThrow()
}

/** Updates an existing webhook. */
export function updateUserWebhook(
  tx: Tx,
  id: number,
  changes: UserWebhookChanges,
): Promise<UserWebhook> {
  return tx
    .updateTable('user_webhooks')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * Disables a webhook, unless its URL has changed.
 *
 * @returns whether the webhook was disabled.
 */
export async function disableUserWebhook(tx: Tx, id: number, url: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('user_webhooks')
    .set({ disabled: 1 })
    .where('id', '=', id)
    .where('url', '=', url)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/**
 * Deletes a webhook with its deliveries.
 *
 * @returns whether the account had the webhook.
 */
export async function deleteUserWebhook(db: Db, userId: number, uid: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('user_webhooks')
    .where('uid', '=', uid)
    .where('user_id', '=', userId)
    .where('scope', '=', 'account')
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
