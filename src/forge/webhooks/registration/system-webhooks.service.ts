import type { ServiceImpl } from '@connectrpc/connect'
import { SystemHookService } from '#gen/branchline/v1/system_hook_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { systemHooks as placeOf } from './owner-webhooks.ts'
import { hookMethods } from './webhook-methods.service.ts'

/** Implements SystemHookService. */
function systemHookService(app: App): ServiceImpl<typeof SystemHookService> {
  const methods = hookMethods(app, async (_: object, context) => placeOf(callerOf(context)))
  return {
    listSystemHooks: methods.list,
    createSystemHook: methods.create,
    getSystemHook: methods.get,
    editSystemHook: methods.edit,
    deleteSystemHook: methods.delete,
    listSystemHookDeliveries: methods.listDeliveries,
    getSystemHookDelivery: methods.getDelivery,
    redeliverSystemHookDelivery: methods.redeliver,
  }
}

export const systemHooks = defineService(SystemHookService, systemHookService)
