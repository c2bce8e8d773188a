import type { ServiceImpl } from '@connectrpc/connect'
import type { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import type { App } from '../../app.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { openOrganization } from '../../organizations/organization-access.ts'
import { userAccountMessage } from './accounts.service.ts'
import * as blocks from './blocks.ts'

/** The methods of AccountService about blocked users. */
export type BlockMethods = Pick<
  ServiceImpl<typeof AccountService>,
  | 'listBlockedUsers'
  | 'checkBlockedUser'
  | 'blockUser'
  | 'unblockUser'
  | 'listOrganizationBlockedUsers'
  | 'checkOrganizationBlockedUser'
  | 'blockOrganizationUser'
  | 'unblockOrganizationUser'
>

/** Implements the block methods of AccountService. */
export function blockMethods(app: App): BlockMethods {
  const ownId = (caller: Caller) => signedIn(caller).user.id
  const organizationId = async (caller: Caller, name: string) =>
    (await openOrganization(app, caller, name, 'owner')).organization.id
  const list = async (
    caller: Caller,
    blockerId: number,
    request: { page: number; limit: number },
  ) => {
    const page = readNumberedPage(app.settings, request)
    const { users, total } = await blocks.listBlockedUsers(app, blockerId, page)
    return {
      users: users.map((user) => userAccountMessage(app, caller, user)),
      blocks: users.map(({ id, block_time }) => ({
        blockId: BigInt(id),
        createdAt: atSecond(block_time),
      })),
      total: BigInt(total),
      limit: page.limit,
    }
  }
  return {
    async listBlockedUsers(request, context) {
      const caller = callerOf(context)
      return list(caller, ownId(caller), request)
    },

    async checkBlockedUser({ username }, context) {
      await blocks.checkBlockedUser(app, ownId(callerOf(context)), username)
      return {}
    },

    async blockUser({ username, note }, context) {
      await blocks.blockUser(app, ownId(callerOf(context)), username, note)
      return {}
    },

    async unblockUser({ username }, context) {
      await blocks.unblockUser(app, ownId(callerOf(context)), username)
      return {}
    },

    async listOrganizationBlockedUsers(request, context) {
      const caller = callerOf(context)
      return list(caller, await organizationId(caller, request.org), request)
    },

    async checkOrganizationBlockedUser({ org, username }, context) {
      await blocks.checkBlockedUser(app, await organizationId(callerOf(context), org), username)
      return {}
    },

    async blockOrganizationUser({ org, username, note }, context) {
      await blocks.blockUser(app, await organizationId(callerOf(context), org), username, note)
      return {}
    },

    async unblockOrganizationUser({ org, username }, context) {
      await blocks.unblockUser(app, await organizationId(callerOf(context), org), username)
      return {}
    },
  }
}
