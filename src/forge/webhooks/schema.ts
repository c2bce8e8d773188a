import type { Generated, Insertable, Selectable, Updateable } from 'kysely'

/** All webhooks. Those of the scope `account` receive events about memos, issues and pull requests. */
export interface UserWebhooksTable {
  id: Generated<number>
  /** The last segment of the resource name. */
  uid: string
  /** The account for which the webhook acts. */
  user_id: number
  /** Whose events the webhook receives: those of an account, of repositories, or all. */
  scope: Generated<'account' | 'repository' | 'owner' | 'system'>
  /** Only with the scope `repository`. */
  repository_id: Generated<number | null>
  /** The owner of the repositories. Only with the scope `owner`. */
  owner_id: Generated<number | null>
  /** The form of the requests. Empty with the scope `account`, like the following columns. */
  type: Generated<string>
  content_type: Generated<string>
  /** A JSON array of names. */
  events: Generated<string>
  /** A glob; empty for all branches. */
  branch_filter: Generated<string>
  /** The sealed value of the header; null for none. */
  authorization_header: Generated<Buffer | null>
  /** A JSON object with the settings of a chat; see `ChatSettings` of the domain. */
  chat: Generated<string>
  url: string
  display_name: string
  /** The sealed secret that signs deliveries. */
  signing_secret: Buffer
  /**
   * The sealed previous secret, which also signs until `previous_secret_expire_time`; null when
   * there is none.
   */
  previous_signing_secret: Generated<Buffer | null>
  /** Unix milliseconds. */
  previous_secret_expire_time: Generated<number | null>
  /** 1 when the target has responded that it is gone, or when a webhook of the forge is inactive. */
  disabled: Generated<0 | 1>
  /**
   * The due time of the first pending delivery, in Unix milliseconds; null when there is none. The
   * functions in `webhook-deliveries.ts` update it in the transaction of each change, so that
   * finding work does not read all deliveries.
   */
  next_attempt_time: Generated<number | null>
  /** The number of pending deliveries, updated by triggers. */
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
 * A message about one event, shared by all webhooks that receive it. A trigger deletes it with its
 * last delivery.
 */
export interface WebhookMessagesTable {
  id: Generated<number>
  event_type: string
  /** JSON. */
  body: string
  /** The time of the event, in Unix milliseconds. */
  create_time: number
}

export interface WebhookDeliveriesTable {
  id: Generated<number>
  /** The last segment of the resource name, and the `webhook-id` of every attempt. */
  uid: string
  webhook_id: number
  message_id: number
  state: 'PENDING' | 'DELIVERED' | 'FAILED'
  attempt_count: Generated<number>
  /**
   * Failed attempts since the delivery was queued, or queued again by a user: the position in the
   * retry schedule.
   */
  failures: Generated<number>
  /** The HTTP status of the latest attempt; 0 without one. */
  response_status: Generated<number>
  /** The reason why the latest attempt failed; empty after a success. */
  error: Generated<string>
  /** Unix milliseconds. */
  last_attempt_time: Generated<number | null>
  /** Unix milliseconds; null unless the state is PENDING. */
  next_attempt_time: number | null
  /** The duration of the latest attempt. */
  duration_ms: Generated<number>
  /** The start of the latest response to a webhook of the forge. */
  response_body: Generated<string>
}

export type WebhookMessage = Selectable<WebhookMessagesTable>

/** A delivery with its message. */
export type WebhookDelivery = Selectable<WebhookDeliveriesTable> & Omit<WebhookMessage, 'id'>

/** A webhook of the forge with what decides whether it receives an event. */
export type ListeningHook = Pick<UserWebhook, 'id' | 'events' | 'branch_filter' | 'waiting_count'>

declare module '../../platform/database/schema.ts' {
  interface Schema {
    user_webhooks: UserWebhooksTable
    webhook_deliveries: WebhookDeliveriesTable
    webhook_messages: WebhookMessagesTable
  }
}
