import type { ServiceImpl } from '@connectrpc/connect'
import { type AdminEditUserRequest, AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import {
  createUserAsAdmin,
  deleteUserAsAdmin,
  editUserAsAdmin,
} from '../../domain/administration/admin-users.ts'
import type { App } from '../../domain/app.ts'
import { signedIn } from '../../domain/core/access.ts'
import { callerOf } from '../wire/call.ts'
import { defineService } from '../wire/define-service.ts'
import { userAccountMessage } from './accounts.ts'

/** Implements AdminService. */
function adminService(app: App): ServiceImpl<typeof AdminService> {
  return {
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
  }
}

/** Reads whether to archive a user. Clients have two fields for this, and either suffices. */
function readArchived({ active, prohibitLogin }: AdminEditUserRequest): boolean | undefined {
  if (active === undefined && prohibitLogin === undefined) return undefined
  return active === false || prohibitLogin === true
}

export const admin = defineService(AdminService, adminService)
