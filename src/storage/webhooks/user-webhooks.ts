import type { Generated, Insertable, Selectable, Updateable } from 'kysely'
import type { Db, Tx } from '../database/database.ts'

export interface UserWebhooksTable {
  id: Generated<number>
  /** Last segment of the resource name. */
  uid: string
  user_id: number
  url: string
  display_name: string
  /** Sealed text of the key that deliveries are signed with. */
  signing_secret: Buffer
  /**
   * Sealed text of the key before, which signs as well until `previous_secret_expire_time`; null
   * when there is none.
   */
  previous_signing_secret: Generated<Buffer | null>
  /** Unix milliseconds. */
  previous_secret_expire_time: Generated<number | null>
  /** 1 when the target has said that it is gone. */
  disabled: Generated<0 | 1>
  /**
   * When the first of its waiting deliveries is due, in Unix milliseconds; null when none waits.
   * Kept by the functions in `webhook-deliveries.ts` in the transaction of each change, so that
   * finding work does not mean reading a backlog.
   */
  next_attempt_time: Generated<number | null>
  /** Of its deliveries, kept by triggers. */
  waiting_count: Generated<number>
  /** Unix seconds. */
  create_time: number
  /** Unix seconds. */
  update_time: number
}

export type UserWebhook = Selectable<UserWebhooksTable>
export type NewUserWebhook = Insertable<UserWebhooksTable>
export type UserWebhookChanges = Updateable<UserWebhooksTable>

/** The webhooks of an account in the order in which they were made. */
export function listUserWebhooks(db: Db, userId: number): Promise<UserWebhook[]> {
  return db
    .selectFrom('user_webhooks')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
}

export async function countUserWebhooks(db: Db, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('user_webhooks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
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
    .executeTakeFirst()
}

export function insertUserWebhook(tx: Tx, webhook: NewUserWebhook): Promise<UserWebhook> {
  return tx.insertInto('user_webhooks').values(webhook).returningAll().executeTakeFirstOrThrow()
}

/** Changes a webhook that exists. */
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
 * Switches a webhook off, unless it leads elsewhere by now.
 *
 * @returns whether it did.
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
 * @returns whether the account had it.
 */
export async function deleteUserWebhook(db: Db, userId: number, uid: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('user_webhooks')
    .where('uid', '=', uid)
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
