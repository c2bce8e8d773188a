import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type AdminEditUserRequest,
  type AdminListUsersRequest,
  AdminService,
} from '#gen/branchline/v1/admin_service_pb.ts'
import { publicKeyMessage } from '../accounts/keys/public-key.service.ts'
import { addPublicKey, deletePublicKeyOf } from '../accounts/keys/public-keys.ts'
import { userAccountMessage } from '../accounts/users/accounts.message.ts'
import { type AccountFilters, listAccounts, readVisibility } from '../accounts/users/owners.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { secondsOf } from '../core/wire/times.ts'
import { organizationMessage, organizationsMessage } from '../organizations/organization.service.ts'
import {
  createOrganization,
  listOrganizations,
  listOrganizationsOf,
} from '../organizations/organizations.ts'
import { createRepositoryAsAdmin } from '../repositories/lifecycle/create-repository.ts'
import { repositoryMessage } from '../repositories/lifecycle/repository.message.ts'
import {
  createUserAsAdmin,
  deleteUserAsAdmin,
  editUserAsAdmin,
  getUserAsAdmin,
  purgeAsAdmin,
  renameUserAsAdmin,
} from './admin-users.ts'

/** Implements AdminService. */
function adminService(app: App): ServiceImpl<typeof AdminService> {
  return {
    ...adminUserMethods(app),

    async adminGetMetrics({ names }) {
      const metrics = await app.metrics.read(names)
      return {
        readAt: timestampFromMs(app.clock.now()),
        metrics: metrics.map(({ samples, ...metric }) => ({ ...metric, samples: [...samples] })),
      }
    },

    async adminListOrganizations(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      return organizationsMessage(app, caller, await listOrganizations(app, caller, page), page)
    },

    async adminListUserOrganizations({ username, ...request }, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      const found = await listOrganizationsOf(app, caller, username, page)
      return organizationsMessage(app, caller, found, page)
    },

    async adminCreateOrganization({ owner, username: name, ...profile }, context) {
      const caller = signedIn(callerOf(context))
      const user = await getUserAsAdmin(app, owner)
      const made = await createOrganization(app, caller, user, { name, ...profile })
      return organizationMessage(app, caller, made)
    },

    async adminCreateRepository({ username, ...draft }, context) {
      const caller = signedIn(callerOf(context))
      const made = await createRepositoryAsAdmin(app, caller, username, draft)
      return repositoryMessage(app, caller, made)
    },
  }
}

export const admin = defineService(AdminService, adminService)

/** The methods of AdminService about accounts and their keys. */
type AdminUserMethods = Pick<
  ServiceImpl<typeof AdminService>,
  | 'adminListUsers'
  | 'adminCreateUser'
  | 'adminEditUser'
  | 'adminDeleteUser'
  | 'adminPurgeContributions'
  | 'adminRenameUser'
  | 'adminCreatePublicKey'
  | 'adminDeletePublicKey'
>

/** Implements the account methods of AdminService. */
function adminUserMethods(app: App): AdminUserMethods {
  return {
    async adminListUsers(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      const { users, total } = await listAccounts(app, caller, filtersOf(request), page)
      return {
        users: users.map((user) => userAccountMessage(app, caller, user)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async adminCreateUser(
      { username, email, password, fullName, visibility, restricted = false, ...source },
      context,
    ) {
      const caller = signedIn(callerOf(context))
      const draft = { username, email, password, fullName, visibility, restricted, source }
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
        source: {
          ...(request.loginName !== undefined && { loginName: request.loginName }),
          ...(request.sourceId !== undefined && { sourceId: request.sourceId }),
        },
      }
      return userAccountMessage(
        app,
        caller,
        await editUserAsAdmin(app, caller, request.username, edit),
      )
    },

    async adminPurgeContributions({ username, since }) {
      await purgeAsAdmin(app, username, secondsOf(since))
      return {}
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

function filtersOf(request: AdminListUsersRequest): AccountFilters {
  const { sourceId, loginName, q, isAdmin, isActive, isProhibitLogin } = request
  const isOn = isActive ?? (isProhibitLogin === undefined ? undefined : !isProhibitLogin)
  return {
    providerId: sourceId > 0n ? Number(sourceId) : undefined,
    externalId: loginName.trim() || undefined,
    text: q,
    visibility: readVisibility(request.visibility),
    role: isAdmin === undefined ? undefined : isAdmin ? 'ADMIN' : 'USER',
    state: isOn === undefined ? undefined : isOn ? 'NORMAL' : 'ARCHIVED',
    restricted: request.isRestricted,
    hasSecondFactor: request.is2faEnabled,
    sort: oneOf(['name', 'created', 'updated', 'id'], 'sort', request.sort),
    direction: oneOf(['asc', 'desc'], 'order', request.order),
  }
}

/** Returns a text that is one of some, or the first of them for an empty one. */
function oneOf<T extends string>(known: readonly [T, ...T[]], field: string, text: string): T {
  if (text === '') return known[0]
  const found = known.find((value) => value === text)
  if (found === undefined) throw new DomainError('INVALID_FIELD', { field })
  return found
}

/** Reads whether to archive a user. Clients have two fields for this, and either suffices. */
function readArchived({ active, prohibitLogin }: AdminEditUserRequest): boolean | undefined {
  if (active === undefined && prohibitLogin === undefined) return undefined
  return active === false || prohibitLogin === true
}
