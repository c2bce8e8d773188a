import type { Generated, Insertable, Selectable, Updateable } from 'kysely'
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

/**
 * What is said about one event, the same to every webhook that is told. Goes with its last
 * delivery, by a trigger.
 */
export interface WebhookMessagesTable {
  id: Generated<number>
  event_type: string
  /** JSON. */
  body: string
  /** When the event happened, in Unix milliseconds. */
  create_time: number
}

export interface WebhookDeliveriesTable {
  id: Generated<number>
  /** Last segment of the resource name, and the `webhook-id` of every attempt. */
  uid: string
  webhook_id: number
  message_id: number
  state: 'PENDING' | 'DELIVERED' | 'FAILED'
  attempt_count: Generated<number>
  /**
   * Failed attempts since it was queued, or queued again by hand: the place in the retry schedule.
   */
  failures: Generated<number>
  /** HTTP status of the latest attempt; 0 without one. */
  response_status: Generated<number>
  /** Why the latest attempt failed; empty when it did not. */
  error: Generated<string>
  /** Unix milliseconds. */
  last_attempt_time: Generated<number | null>
  /** Unix milliseconds; null unless the state is PENDING. */
  next_attempt_time: number | null
}

export type WebhookMessage = Selectable<WebhookMessagesTable>

/** A delivery with what it delivers. */
export type WebhookDelivery = Selectable<WebhookDeliveriesTable> & Omit<WebhookMessage, 'id'>
