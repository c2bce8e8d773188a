import type { ServiceImpl } from '@connectrpc/connect'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import { userAccountMessage } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import type { Page } from '../../core/names.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { repositoryMessages } from '../lifecycle/repository.message.ts'
import type { RepositoryPage } from '../lifecycle/repository-views.ts'
import * as stars from './stars.ts'

/** Implements StarService. */
function starService(app: App): ServiceImpl<typeof StarService> {
  const answer = (caller: Caller, { repositories, total }: RepositoryPage, { limit }: Page) => ({
    repositories: repositoryMessages(app, caller, repositories),
    total: BigInt(total),
    limit,
  })
  return {
    async listMyStarredRepositories(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      return answer(caller, await stars.listMyStarred(app, caller, page), page)
    },

    async listUserStarredRepositories(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      return answer(caller, await stars.listStarredBy(app, caller, request.username, page), page)
    },

    async listStargazers(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const { users, total } = await stars.listStargazers(app, caller, request, page)
      return {
        users: users.map((user) => userAccountMessage(app, caller, user)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async checkStarredRepository(request, context) {
      await stars.checkStarred(app, signedIn(callerOf(context)), request)
      return {}
    },

    async starRepository(request, context) {
      await stars.starRepository(app, signedIn(callerOf(context)), request)
      return {}
    },

    async unstarRepository(request, context) {
      await stars.unstarRepository(app, signedIn(callerOf(context)), request)
      return {}
    },
  }
}

export const starredRepositories = defineService(StarService, starService)
