import type { ServiceImpl } from '@connectrpc/connect'
import { OrganizationHookService } from '#gen/branchline/v1/organization_hook_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { organizationHooks as placeOf } from './owner-webhooks.ts'
import { hookMethods } from './webhook-methods.service.ts'

/** Implements OrganizationHookService. */
function organizationHookService(app: App): ServiceImpl<typeof OrganizationHookService> {
  const methods = hookMethods(app, ({ org }: { readonly org: string }, context) =>
    placeOf(app, callerOf(context), org),
  )
  return {
    listOrganizationHooks: methods.list,
    createOrganizationHook: methods.create,
    getOrganizationHook: methods.get,
    editOrganizationHook: methods.edit,
    deleteOrganizationHook: methods.delete,
    listOrganizationHookDeliveries: methods.listDeliveries,
    getOrganizationHookDelivery: methods.getDelivery,
    redeliverOrganizationHookDelivery: methods.redeliver,
  }
}

export const organizationHooks = defineService(OrganizationHookService, organizationHookService)
