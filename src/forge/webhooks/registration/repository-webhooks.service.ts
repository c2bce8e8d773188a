import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { HookService } from '#gen/branchline/v1/hook_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import {
  changeableRepositoryHooks,
  repositoryHooks,
  testRepositoryHook,
} from './repository-webhooks.ts'
import { hookMethods } from './webhook-methods.service.ts'

/** The name of a repository in a request. */
interface InRepository {
  readonly owner: string
  readonly repo: string
}

/** Implements HookService. */
function hookService(app: App): ServiceImpl<typeof HookService> {
  const methods = hookMethods(
    app,
    ({ owner, repo }: InRepository, context: HandlerContext) =>
      repositoryHooks(app, callerOf(context), { owner, repo }),
    ({ owner, repo }, context) =>
      changeableRepositoryHooks(app, callerOf(context), { owner, repo }),
  )
  return {
    listRepositoryHooks: methods.list,
    createRepositoryHook: methods.create,
    getRepositoryHook: methods.get,
    editRepositoryHook: methods.edit,
    deleteRepositoryHook: methods.delete,
    listRepositoryHookDeliveries: methods.listDeliveries,
    getRepositoryHookDelivery: methods.getDelivery,
    redeliverRepositoryHookDelivery: methods.redeliver,

    async testRepositoryHook({ owner, repo, id, ref }, context) {
      await testRepositoryHook(app, callerOf(context), { owner, repo }, id, ref)
      return {}
    },
  }
}

export const hooks = defineService(HookService, hookService)
