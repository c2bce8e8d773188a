import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext } from '@connectrpc/connect'
import {
  type HookDelivery as DeliveryMessage,
  type HookConfig,
  HookDelivery_State,
  HookDeliverySchema,
  type Hook as HookMessage,
  HookSchema,
} from '#gen/branchline/v1/hook_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { deliveryPayload } from '../../deliveries/webhook-payloads.ts'
import {
  getHookDelivery,
  listHookDeliveries,
  redeliverHookDelivery,
} from '../outbox/webhook-deliveries.ts'
import type { WebhookDelivery } from '../schema.ts'
import type { ChatSettings, HookValues, NewHookValues } from './webhook-values.ts'
import {
  createHook,
  deleteHook,
  editHook,
  getHook,
  type Hook,
  type HookPlace,
  listHooks,
} from './webhooks.ts'

type PlaceOf<Request> = (request: Request, context: HandlerContext) => Promise<HookPlace>

/** A request that names a webhook. */
interface OfHook {
  readonly id: bigint
}

/** A request that names a delivery. */
interface OfDelivery extends OfHook {
  readonly deliveryId: string
}

/** The page of a list. */
interface Paged {
  readonly page: number
  readonly limit: number
}

/**
 * Returns the methods that webhooks of the forge have at every place. A service gives each of them
 * its own name.
 *
 * @param placeOf returns the place of a request, and checks that the caller may manage its webhooks.
 * @param changedPlaceOf does the same for a request that changes them.
 */
export function hookMethods<Place>(
  app: App,
  placeOf: PlaceOf<Place>,
  changedPlaceOf: PlaceOf<Place> = placeOf,
) {
  return {
    async list(request: Place & Paged, context: HandlerContext) {
      const page = readNumberedPage(app.settings, request)
      const { hooks, total } = await listHooks(app, await placeOf(request, context), page)
      return { hooks: hooks.map(hookMessage), total: BigInt(total), limit: page.limit }
    },

    async create(request: Place & NewHookRequest, context: HandlerContext) {
      const place = await changedPlaceOf(request, context)
      const caller = signedIn(callerOf(context))
      return hookMessage(await createHook(app, caller, place, newValuesOf(request)))
    },

    async get(request: Place & OfHook, context: HandlerContext) {
      return hookMessage(await getHook(app.db, await placeOf(request, context), request.id))
    },

    async edit(request: Place & OfHook & EditHookRequest, context: HandlerContext) {
      const place = await changedPlaceOf(request, context)
      const caller = signedIn(callerOf(context))
      return hookMessage(await editHook(app, caller, place, request.id, changesOf(request)))
    },

    async delete(request: Place & OfHook, context: HandlerContext) {
      await deleteHook(app, await changedPlaceOf(request, context), request.id)
      return {}
    },

    async listDeliveries(request: Place & OfHook & Paged, context: HandlerContext) {
      const page = readNumberedPage(app.settings, request)
      const hook = await getHook(app.db, await placeOf(request, context), request.id)
      const { deliveries, total } = await listHookDeliveries(app, hook, page)
      const messages = deliveries.map((delivery) => deliveryMessage(hook, delivery))
      return { deliveries: messages, total: BigInt(total), limit: page.limit }
    },

    async getDelivery(request: Place & OfDelivery, context: HandlerContext) {
      const hook = await getHook(app.db, await placeOf(request, context), request.id)
      const delivery = await getHookDelivery(app, hook, request.deliveryId)
      const caller = signedIn(callerOf(context))
      return {
        ...deliveryMessage(hook, delivery),
        requestBody: await deliveryPayload(app, hook, delivery, caller),
      }
    },

    async redeliver(request: Place & OfDelivery, context: HandlerContext) {
      const { id, deliveryId } = request
      const place = await placeOf(request, context)
      const hook = await getHook(app.db, place, id)
      return deliveryMessage(hook, await redeliverHookDelivery(app, place, id, deliveryId))
    },
  }
}

/** The properties of a webhook in a request that adds it. */
interface NewHookRequest {
  readonly type: string
  readonly config?: HookConfig | undefined
  readonly events: readonly string[]
  readonly branchFilter: string
  readonly authorizationHeader: string
  readonly active: boolean
}

function newValuesOf({
  type,
  config,
  events,
  branchFilter: branch_filter,
  authorizationHeader: authorization_header,
  active,
}: NewHookRequest): NewHookValues {
  return {
    type,
    url: config?.url ?? '',
    content_type: config?.contentType || 'json',
    secret: config?.secret ?? '',
    events: events.length > 0 ? events : ['push'],
    branch_filter,
    authorization_header,
    active,
    chat: config ? chatOf(config) : {},
  }
}

/** The properties of a webhook in a request that edits it. */
interface EditHookRequest {
  readonly config?: HookConfig | undefined
  readonly events: readonly string[]
  readonly branchFilter?: string | undefined
  readonly authorizationHeader?: string | undefined
  readonly active?: boolean | undefined
}

function changesOf({
  config,
  events,
  branchFilter: branch_filter,
  authorizationHeader: authorization_header,
  active,
}: EditHookRequest): Partial<HookValues> {
  return {
    ...(config?.url !== undefined && { url: config.url }),
    ...(config?.contentType !== undefined && { content_type: config.contentType }),
    ...(config?.secret !== undefined && { secret: config.secret }),
    ...(events.length > 0 && { events }),
    ...(branch_filter !== undefined && { branch_filter }),
    ...(authorization_header !== undefined && { authorization_header }),
    ...(active !== undefined && { active }),
    ...(config && { chat: chatOf(config) }),
  }
}

/** Returns the settings of a chat that are given. */
function chatOf({ channel, username, iconUrl: icon_url, color }: HookConfig): ChatSettings {
  return {
    ...(channel !== undefined && { channel }),
    ...(username !== undefined && { username }),
    ...(icon_url !== undefined && { icon_url }),
    ...(color !== undefined && { color }),
  }
}

function hookMessage(hook: Hook): HookMessage {
  const { icon_url: iconUrl, ...chat } = JSON.parse(hook.chat) as ChatSettings
  return create(HookSchema, {
    id: BigInt(hook.id),
    type: hook.type,
    branchFilter: hook.branch_filter,
    config: {
      url: hook.url,
      contentType: hook.content_type,
      ...chat,
      ...(iconUrl !== undefined && { iconUrl }),
    },
    events: JSON.parse(hook.events) as string[],
    active: hook.disabled === 0,
    updatedAt: atSecond(hook.update_time),
    createdAt: atSecond(hook.create_time),
  })
}

function deliveryMessage(hook: Hook, delivery: WebhookDelivery): DeliveryMessage {
  const { last_attempt_time: last, next_attempt_time: next } = delivery
  return create(HookDeliverySchema, {
    id: delivery.uid,
    event: delivery.event_type,
    state: HookDelivery_State[delivery.state],
    attemptCount: delivery.attempt_count,
    responseStatus: delivery.response_status,
    error: delivery.error,
    durationMs: BigInt(delivery.duration_ms),
    responseBody: delivery.response_body,
    requestUrl: hook.url,
    createdAt: timestampFromMs(delivery.create_time),
    ...(last !== null && { lastAttemptAt: timestampFromMs(last) }),
    ...(next !== null && { nextAttemptAt: timestampFromMs(next) }),
  })
}
