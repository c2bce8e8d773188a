import type { ServiceImpl } from '@connectrpc/connect'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import type { App } from '../../app.ts'
import { type Caller, seesPublicDataOnly, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { openOrganization } from '../../organizations/organization-access.ts'
import { userAccountMessage } from './accounts.message.ts'
import * as blocks from './blocks.ts'
import { searchUsers } from './owners.ts'
import {
  type AccountSettings,
  getAccountSettings,
  getUserSettings,
  updateAccountSettings,
} from './user-settings.ts'

/** The methods of AccountService about settings. */
type AccountSettingsMethods = Pick<
  ServiceImpl<typeof AccountService>,
  'getAccountSettings' | 'updateAccountSettings'
>

/** The name that clients of compatible systems know for the default theme. */
const DEFAULT_THEME = 'gitea-auto'

/** Implements the settings methods of AccountService. */
function accountSettingsMethods(app: App): AccountSettingsMethods {
  return {
    async getAccountSettings(_, context) {
      return settingsMessage(await getAccountSettings(app, signedIn(callerOf(context))))
    },

    async updateAccountSettings(request, context) {
      const caller = signedIn(callerOf(context))
      const { fullName, website, location, description, language, theme, hideEmail } = request
      const texts = { fullName, website, location, description, language }
      const changes = { ...texts, theme: theme === DEFAULT_THEME ? '' : theme, hideEmail }
      return settingsMessage(await updateAccountSettings(app, caller, changes))
    },
  }
}

function settingsMessage({ user, preferences }: AccountSettings) {
  return {
    fullName: user.display_name,
    website: user.website,
    description: user.description,
    location: user.location,
    language: preferences.locale,
    theme: preferences.theme || DEFAULT_THEME,
    hideEmail: preferences.keep_email_private,
  }
}

/** The methods of AccountService about blocked users. */
type BlockMethods = Pick<
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
function blockMethods(app: App): BlockMethods {
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

/** The methods of AccountService about accounts. */
type AccountMethods = Pick<
  ServiceImpl<typeof AccountService>,
  'getAuthenticatedAccount' | 'searchAccounts'
>

/** Implements the account methods of AccountService. */
function accountMethods(app: App): AccountMethods {
  return {
    async getAuthenticatedAccount(_, context) {
      const caller = signedIn(callerOf(context))
      const message = userAccountMessage(app, caller, caller.user)
      if (!seesPublicDataOnly(caller))
        message.language = (await getUserSettings(app, caller.user)).locale
      return message
    },

    async searchAccounts({ q, uid, ...page }, context) {
      const caller = signedIn(callerOf(context))
      const part = readNumberedPage(app.settings, page)
      const id = uid === 0n ? undefined : Number(uid)
      const { users, total } = await searchUsers(app, caller, { text: q, id }, part)
      const data = users.map((user) => userAccountMessage(app, caller, user))
      return { results: { ok: true, data }, total: BigInt(total), limit: part.limit }
    },
  }
}

export const account = defineService(AccountService, (app) => ({
  ...accountMethods(app),
  ...accountSettingsMethods(app),
  ...blockMethods(app),
}))
