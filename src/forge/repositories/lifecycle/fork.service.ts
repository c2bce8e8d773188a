import type { ServiceImpl } from '@connectrpc/connect'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { createFork, listForks, mergeUpstream } from './forks.ts'
import { repositoryMessage } from './repository.message.ts'

/** Implements ForkService. */
function forkService(app: App): ServiceImpl<typeof ForkService> {
  return {
    async createFork({ owner, repo, organization, name }, context) {
      const caller = signedIn(callerOf(context))
      return repositoryMessage(
        app,
        caller,
        await createFork(app, caller, { owner, repo }, { organization, name }),
      )
    },

    async listForks(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const { forks, total } = await listForks(app, caller, request, page)
      return {
        forks: forks.map((fork) => repositoryMessage(app, caller, fork)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async mergeUpstream({ owner, repo, branch, ffOnly }, context) {
      const caller = signedIn(callerOf(context))
      return { mergeType: await mergeUpstream(app, caller, { owner, repo }, branch, ffOnly) }
    },
  }
}

export const forks = defineService(ForkService, forkService)
