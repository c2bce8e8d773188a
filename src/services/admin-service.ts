import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { getUserAsAdmin } from '../domain/administration/admin-users.ts'
import type { App } from '../domain/app.ts'
import { signedIn } from '../forge/core/access.ts'
import { callerOf } from '../forge/core/wire/call.ts'
import { defineService } from '../forge/core/wire/define-service.ts'
import { readNumberedPage } from '../forge/core/wire/pages.ts'
import {
  organizationMessage,
  organizationsMessage,
} from '../forge/organizations/organization.service.ts'
import {
  createOrganization,
  listOrganizations,
  listOrganizationsOf,
} from '../forge/organizations/organizations.ts'
import { createRepositoryAsAdmin } from '../forge/repositories/lifecycle/create-repository.ts'
import { repositoryMessage } from '../forge/repositories/lifecycle/repository.message.ts'
import { adminUserMethods } from './accounts/admin-users.ts'

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
