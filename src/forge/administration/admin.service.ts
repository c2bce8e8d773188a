import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { organizationMessage, organizationsMessage } from '../organizations/organization.service.ts'
import {
  createOrganization,
  listOrganizations,
  listOrganizationsOf,
} from '../organizations/organizations.ts'
import { createRepositoryAsAdmin } from '../repositories/lifecycle/create-repository.ts'
import { repositoryMessage } from '../repositories/lifecycle/repository.message.ts'
import { adminUserMethods } from './admin-users.service.ts'
import { getUserAsAdmin } from './admin-users.ts'

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
