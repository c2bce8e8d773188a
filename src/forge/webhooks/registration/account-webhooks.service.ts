import { create } from '@bufbuild/protobuf'
import { type FieldMask, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  type UserWebhookDelivery as DeliveryMessage,
  UserWebhookDelivery_State,
  UserWebhookDeliverySchema,
  UserWebhookSchema,
  type UserWebhook as WebhookMessage,
} from '#gen/branchline/v1/user_webhook_pb.ts'
import type { App } from '../../app.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { ownerOf } from '../../core/wire/call.ts'
import {
  type ListIdentity,
  readPageSize,
  readPageToken,
  writePageToken,
} from '../../core/wire/lists.ts'
import { readUpdateMask, type UpdatableFields } from '../../core/wire/masks.ts'
import { invalidName, parseOwnedName, parseUserName, userName } from '../../core/wire/names.ts'
import { atSecond } from '../../core/wire/times.ts'
import { listWebhookDeliveries, redeliver, testWebhook } from '../../memos/activity/memo-events.ts'
import type { UserWebhook, WebhookDelivery } from '../schema.ts'
import {
  createUserWebhook,
  deleteUserWebhook,
  getUserWebhook,
  listUserWebhooks,
  signingSecretOf,
  type UserWebhookValues,
  updateUserWebhook,
} from './account-webhooks.ts'

/**
 * The part after the owner in the name of a webhook. Ids have 16 digits. Similar ids lead to a
 * not-found error.
 */
const WEBHOOK_PATH = /^webhooks\/([\w-]{1,64})$/

const DELIVERY_PATH = /^(webhooks\/[\w-]{1,64})\/deliveries\/([\w-]{1,64})$/

const WEBHOOK_FIELDS: UpdatableFields<keyof UserWebhookValues> = {
  mutable: ['url', 'display_name', 'signing_secret'],
  fixed: ['name', 'create_time', 'update_time', 'signing_secret_set', 'disabled'],
}

type Methods = Pick<
  ServiceImpl<typeof UserService>,
  | 'createUserWebhook'
  | 'deleteUserWebhook'
  | 'getUserWebhookSigningSecret'
  | 'listUserWebhookDeliveries'
  | 'listUserWebhooks'
  | 'redeliverUserWebhookDelivery'
  | 'testUserWebhook'
  | 'updateUserWebhook'
>

/** Implements the methods of UserService about webhooks and their deliveries. */
export function userWebhookMethods(app: App): Methods {
  /** Returns the webhook that a request names. */
  const webhookOf = (name: string, context: HandlerContext) => {
    const [, uid] = WEBHOOK_PATH.exec(parseOwnedName(name).rest) ?? []
    if (uid === undefined) throw invalidName(name)
    return getUserWebhook(app, ownerOf(context), uid, name)
  }

  return {
    async listUserWebhooks({ parent }, context) {
      parseUserName(parent)
      return { webhooks: await userWebhookMessages(app, ownerOf(context)) }
    },

    async createUserWebhook({ parent, webhook }, context) {
      parseUserName(parent)
      if (!webhook) throw new DomainError('INVALID_FIELD', { field: 'webhook' })
      const owner = ownerOf(context)
      return webhookMessage(owner, await createUserWebhook(app, owner, valuesOf(webhook)))
    },

    async updateUserWebhook({ webhook, updateMask }, context) {
      if (!webhook) throw new DomainError('INVALID_FIELD', { field: 'webhook' })
      const present = await webhookOf(webhook.name, context)
      const values = namedValues(valuesOf(webhook), updateMask)
      return webhookMessage(
        ownerOf(context),
        await updateUserWebhook(app, present, values, webhook.name),
      )
    },

    async deleteUserWebhook({ name }, context) {
      const { uid } = await webhookOf(name, context)
      if (!(await deleteUserWebhook(app, ownerOf(context), uid)))
        throw new DomainError('WEBHOOK_NOT_FOUND', { name })
      return {}
    },

    async getUserWebhookSigningSecret({ name }, context) {
      return { signingSecret: signingSecretOf(app, await webhookOf(name, context)) }
    },

    async listUserWebhookDeliveries({ parent, pageSize, pageToken }, context) {
      const webhook = await webhookOf(parent, context)
      const list: ListIdentity = {
        method: 'ListUserWebhookDeliveries',
        parent: webhook.uid,
        filter: '',
      }
      const size = readPageSize(app.settings, pageSize)
      const [beforeId] = readPageToken(app, list, pageToken) ?? []
      const { deliveries, more } = await listWebhookDeliveries(app, webhook, beforeId, size)
      const last = deliveries.at(-1)
      return {
        deliveries: deliveries.map((delivery) =>
          deliveryMessage(ownerOf(context), webhook, delivery),
        ),
        nextPageToken: more && last ? writePageToken(app, list, [last.id]) : '',
      }
    },

    async redeliverUserWebhookDelivery({ name }, context) {
      const { user, rest } = parseOwnedName(name)
      const [, webhookPath, uid] = DELIVERY_PATH.exec(rest) ?? []
      if (webhookPath === undefined || uid === undefined) throw invalidName(name)
      const names = { webhook: `users/${user}/${webhookPath}`, delivery: name }
      const webhook = await webhookOf(names.webhook, context)
      return deliveryMessage(ownerOf(context), webhook, await redeliver(app, webhook, uid, names))
    },

    async testUserWebhook({ name }, context) {
      const owner = ownerOf(context)
      const webhook = await webhookOf(name, context)
      return deliveryMessage(owner, webhook, await testWebhook(app, owner, webhook, name))
    },
  }
}

/** Lists the webhooks of an account in order of creation. */
export async function userWebhookMessages(app: App, owner: User): Promise<WebhookMessage[]> {
  return (await listUserWebhooks(app, owner)).map((webhook) => webhookMessage(owner, webhook))
}

function valuesOf({
  url,
  displayName: display_name,
  signingSecret: signing_secret,
}: WebhookMessage) {
  return { url, display_name, signing_secret } satisfies UserWebhookValues
}

/**
 * Returns the values that an update names. Without a mask, these are the values that are not empty.
 */
function namedValues(
  values: UserWebhookValues,
  mask: FieldMask | undefined,
): Partial<UserWebhookValues> {
  const given = WEBHOOK_FIELDS.mutable.filter((field) => values[field] !== '')
  const named = mask?.paths.length ? maskedFields(mask, given) : given
  return Object.fromEntries(named.map((field) => [field, values[field]]))
}

function maskedFields(mask: FieldMask, given: readonly (keyof UserWebhookValues)[]) {
  const { fields, all } = readUpdateMask(mask, WEBHOOK_FIELDS)
  // Clients cannot read the secret, so a whole webhook without a secret keeps it.
  return [...fields].filter((field) => !all || field !== 'signing_secret' || given.includes(field))
}

function webhookMessage(owner: User, webhook: UserWebhook): WebhookMessage {
  return create(UserWebhookSchema, {
    name: webhookName(owner, webhook),
    url: webhook.url,
    displayName: webhook.display_name,
    createTime: atSecond(webhook.create_time),
    updateTime: atSecond(webhook.update_time),
    signingSecretSet: true,
    disabled: webhook.disabled === 1,
  })
}

function webhookName(owner: User, webhook: UserWebhook): string {
  return `${userName(owner)}/webhooks/${webhook.uid}`
}

function deliveryMessage(
  owner: User,
  webhook: UserWebhook,
  delivery: WebhookDelivery,
): DeliveryMessage {
  const { last_attempt_time: last, next_attempt_time: next } = delivery
  return create(UserWebhookDeliverySchema, {
    name: `${webhookName(owner, webhook)}/deliveries/${delivery.uid}`,
    eventType: delivery.event_type,
    state: UserWebhookDelivery_State[delivery.state],
    attemptCount: delivery.attempt_count,
    responseStatus: delivery.response_status,
    error: delivery.error,
    requestBody: delivery.body,
    createTime: timestampFromMs(delivery.create_time),
    ...(last !== null && { lastAttemptTime: timestampFromMs(last) }),
    ...(next !== null && { nextAttemptTime: timestampFromMs(next) }),
  })
}
