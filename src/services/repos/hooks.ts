import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type HookDelivery as DeliveryMessage,
  type HookConfig,
  HookDelivery_State,
  HookDeliverySchema,
  type Hook as HookMessage,
  HookSchema,
} from '#gen/branchline/v1/hook_pb.ts'
import { HookService } from '#gen/branchline/v1/hook_service_pb.ts'
import type { App } from '../../domain/app.ts'
import { signedIn } from '../../domain/core/access.ts'
import { deliveryPayload } from '../../domain/deliveries/hook-payloads.ts'
import {
  getHookDelivery,
  listHookDeliveries,
  redeliverHookDelivery,
} from '../../domain/hooks/hook-deliveries.ts'
import type { HookValues, NewHookValues } from '../../domain/hooks/hook-values.ts'
import {
  createHook,
  deleteHook,
  editHook,
  getHook,
  type Hook,
  listHooks,
} from '../../domain/hooks/hooks.ts'
import {
  changeableRepositoryHooks,
  repositoryHooks,
  testRepositoryHook,
} from '../../domain/hooks/repository-hooks.ts'
import type { WebhookDelivery } from '../../storage/schema/webhooks.ts'
import { callerOf } from '../wire/call.ts'
import { defineService } from '../wire/define-service.ts'
import { readNumberedPage } from '../wire/pages.ts'
import { atSecond } from '../wire/times.ts'

/** The name of a repository in a request. */
interface InRepository {
  readonly owner: string
  readonly repo: string
}

/** Implements HookService. */
function hookService(app: App): ServiceImpl<typeof HookService> {
  /** Returns the place of the webhooks that a request reads. */
  const placeOf = ({ owner, repo }: InRepository, context: HandlerContext) =>
    repositoryHooks(app, callerOf(context), { owner, repo })
  /** Returns the place of the webhooks that a request changes. */
  const changedPlaceOf = ({ owner, repo }: InRepository, context: HandlerContext) =>
    changeableRepositoryHooks(app, callerOf(context), { owner, repo })
  return {
    async listRepositoryHooks(request, context) {
      const page = readNumberedPage(app.settings, request)
      const { hooks, total } = await listHooks(app, await placeOf(request, context), page)
      return { hooks: hooks.map(hookMessage), total: BigInt(total), limit: page.limit }
    },

    async createRepositoryHook(request, context) {
      const place = await changedPlaceOf(request, context)
      const caller = signedIn(callerOf(context))
      return hookMessage(await createHook(app, caller, place, newValuesOf(request)))
    },

    async getRepositoryHook(request, context) {
      return hookMessage(await getHook(app.db, await placeOf(request, context), request.id))
    },

    async editRepositoryHook(request, context) {
      const place = await changedPlaceOf(request, context)
      const caller = signedIn(callerOf(context))
      return hookMessage(await editHook(app, caller, place, request.id, changesOf(request)))
    },

    async deleteRepositoryHook(request, context) {
      await deleteHook(app, await changedPlaceOf(request, context), request.id)
      return {}
    },

    async testRepositoryHook({ owner, repo, id, ref }, context) {
      await testRepositoryHook(app, callerOf(context), { owner, repo }, id, ref)
      return {}
    },

    async listRepositoryHookDeliveries(request, context) {
      const page = readNumberedPage(app.settings, request)
      const hook = await getHook(app.db, await placeOf(request, context), request.id)
      const { deliveries, total } = await listHookDeliveries(app, hook, page)
      const messages = deliveries.map((delivery) => deliveryMessage(hook, delivery))
      return { deliveries: messages, total: BigInt(total), limit: page.limit }
    },

    async getRepositoryHookDelivery(request, context) {
      const hook = await getHook(app.db, await placeOf(request, context), request.id)
      const delivery = await getHookDelivery(app, hook, request.deliveryId)
      const caller = signedIn(callerOf(context))
      return {
        ...deliveryMessage(hook, delivery),
        requestBody: await deliveryPayload(app, delivery, caller),
      }
    },

    async redeliverRepositoryHookDelivery({ owner, repo, id, deliveryId }, context) {
      const place = await placeOf({ owner, repo }, context)
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
  }
}

function hookMessage(hook: Hook): HookMessage {
  return create(HookSchema, {
    id: BigInt(hook.id),
    type: hook.type,
    branchFilter: hook.branch_filter,
    config: { url: hook.url, contentType: hook.content_type },
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

export const hooks = defineService(HookService, hookService)
