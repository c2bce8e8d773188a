import type { ServiceImpl } from '@connectrpc/connect'
import { UserHookService } from '#gen/branchline/v1/user_hook_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { userHooks as placeOf } from './owner-webhooks.ts'
import { hookMethods } from './webhook-methods.service.ts'

/** Implements UserHookService. */
function userHookService(app: App): ServiceImpl<typeof UserHookService> {
  const methods = hookMethods(app, async (_: object, context) => placeOf(callerOf(context)))
  return {
    listUserHooks: methods.list,
    createUserHook: methods.create,
    getUserHook: methods.get,
    editUserHook: methods.edit,
    deleteUserHook: methods.delete,
    listUserHookDeliveries: methods.listDeliveries,
    getUserHookDelivery: methods.getDelivery,
    redeliverUserHookDelivery: methods.redeliver,
  }
}

export const userHooks = defineService(UserHookService, userHookService)
