import type { ServiceImpl } from '@connectrpc/connect'
import { FollowService } from '#gen/branchline/v1/follow_service_pb.ts'
import type { App } from '../../app.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import type { Page } from '../../core/names.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { userAccountMessage } from './accounts.message.ts'
import * as following from './follows.ts'
import type { NumberedUserPage } from './owners.ts'

/** Implements FollowService. */
function followService(app: App): ServiceImpl<typeof FollowService> {
  const answer = (caller: Caller, { users, total }: NumberedUserPage, { limit }: Page) => ({
    users: users.map((user) => userAccountMessage(app, caller, user)),
    total: BigInt(total),
    limit,
  })
  return {
    async listMyFollowers(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      return answer(caller, await following.listMyFollows(app, caller, 'followers', page), page)
    },

    async listMyFollowing(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      return answer(caller, await following.listMyFollows(app, caller, 'following', page), page)
    },

    async checkFollowing({ username }, context) {
      const caller = signedIn(callerOf(context))
      await following.checkFollowing(app, caller, caller.user.username, username)
      return {}
    },

    async followUser({ username }, context) {
      await following.followUser(app, signedIn(callerOf(context)), username)
      return {}
    },

    async unfollowUser({ username }, context) {
      await following.unfollowUser(app, signedIn(callerOf(context)), username)
      return {}
    },

    async listUserFollowers({ username, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const found = await following.listFollowsOf(app, caller, username, 'followers', page)
      return answer(caller, found, page)
    },

    async listUserFollowing({ username, ...request }, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const found = await following.listFollowsOf(app, caller, username, 'following', page)
      return answer(caller, found, page)
    },

    async checkUserFollowing({ username, target }, context) {
      await following.checkFollowing(app, callerOf(context), username, target)
      return {}
    },
  }
}

export const follows = defineService(FollowService, followService)
