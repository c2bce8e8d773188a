import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { HookService } from '#gen/branchline/v1/hook_service_pb.ts'
import type { App } from '../../domain/app.ts'
import {
  changeableRepositoryHooks,
  repositoryHooks,
  testRepositoryHook,
} from '../../domain/hooks/repository-hooks.ts'
import { callerOf } from '../../forge/core/wire/call.ts'
import { defineService } from '../../forge/core/wire/define-service.ts'
import { hookMethods } from './hook-methods.ts'

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
