import type { ServiceImpl } from '@connectrpc/connect'
import { OrganizationHookService } from '#gen/branchline/v1/organization_hook_service_pb.ts'
import type { App } from '../../domain/app.ts'
import { organizationHooks as placeOf } from '../../domain/hooks/owner-hooks.ts'
import { callerOf } from '../../forge/core/wire/call.ts'
import { defineService } from '../../forge/core/wire/define-service.ts'
import { hookMethods } from './hook-methods.ts'

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
