import type { ServiceImpl } from '@connectrpc/connect'
import type { AdminEditUserRequest, AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { addPublicKey, deletePublicKeyOf } from '../../domain/accounts/keys/public-keys.ts'
import { listAccounts } from '../../domain/accounts/users/owners.ts'
import {
  createUserAsAdmin,
  deleteUserAsAdmin,
  editUserAsAdmin,
  getUserAsAdmin,
  renameUserAsAdmin,
} from '../../domain/administration/admin-users.ts'
import type { App } from '../../domain/app.ts'
import { signedIn } from '../../domain/core/access.ts'
import { callerOf } from '../wire/call.ts'
import { readNumberedPage } from '../wire/pages.ts'
import { userAccountMessage } from './accounts.ts'
import { publicKeyMessage } from './public-keys.ts'

/** The methods of AdminService about accounts and their keys. */
export type AdminUserMethods = Pick<
  ServiceImpl<typeof AdminService>,
  | 'adminListUsers'
  | 'adminCreateUser'
  | 'adminEditUser'
  | 'adminDeleteUser'
  | 'adminRenameUser'
  | 'adminCreatePublicKey'
  | 'adminDeletePublicKey'
>

/** Implements the account methods of AdminService. */
export function adminUserMethods(app: App): AdminUserMethods {
  return {
    async adminListUsers({ sourceId, loginName, ...request }, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      const linked = {
        providerId: sourceId > 0n ? Number(sourceId) : undefined,
        externalId: loginName.trim() || undefined,
      }
      const { users, total } = await listAccounts(app, caller, linked, page)
      return {
        users: users.map((user) => userAccountMessage(app, caller, user)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async adminCreateUser(
      { username, email, password, fullName, visibility, restricted = false },
      context,
    ) {
      const caller = signedIn(callerOf(context))
      const draft = { username, email, password, fullName, visibility, restricted }
      return userAccountMessage(app, caller, await createUserAsAdmin(app, caller, draft))
    },

    async adminEditUser(request, context) {
      const caller = signedIn(callerOf(context))
      const { email, password, fullName, description, admin, visibility, restricted } = request
      const archived = readArchived(request)
      const edit = {
        email,
        password,
        fullName,
        description,
        admin,
        archived,
        visibility,
        restricted,
      }
      return userAccountMessage(
        app,
        caller,
        await editUserAsAdmin(app, caller, request.username, edit),
      )
    },

    async adminDeleteUser({ username, purge }) {
      await deleteUserAsAdmin(app, username, purge)
      return {}
    },

    async adminRenameUser({ username, newUsername }, context) {
      await renameUserAsAdmin(app, signedIn(callerOf(context)), username, newUsername)
      return {}
    },

    async adminCreatePublicKey({ username, ...draft }, context) {
      const caller = signedIn(callerOf(context))
      const user = await getUserAsAdmin(app, username)
      const key = await addPublicKey(app, user, draft)
      return publicKeyMessage(app, key, userAccountMessage(app, caller, user))
    },

    async adminDeletePublicKey({ username, id }) {
      await deletePublicKeyOf(app, await getUserAsAdmin(app, username), id)
      return {}
    },
  }
}

/** Reads whether to archive a user. Clients have two fields for this, and either suffices. */
function readArchived({ active, prohibitLogin }: AdminEditUserRequest): boolean | undefined {
  if (active === undefined && prohibitLogin === undefined) return undefined
  return active === false || prohibitLogin === true
}
