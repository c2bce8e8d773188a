import type { ServiceImpl } from '@connectrpc/connect'
import { QuotaService } from '#gen/branchline/v1/quota_service_pb.ts'
import { userAsOwner } from '../../accounts/users/owners.ts'
import type { App } from '../../app.ts'
import { actsAsAdministrator, type Caller, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { quotaAttachmentMessage, quotaInfoMessage, usageMessage } from './quota.message.ts'
import { requireAnyOwner } from './quota-groups.ts'
import {
  isAllowed,
  listFiles,
  listUsage,
  openOrganizationQuota,
  viewQuota,
} from './quota-reports.ts'

type Methods = ServiceImpl<typeof QuotaService>

/** Implements QuotaService. */
function quotaService(app: App): Methods {
  return {
    ...ownMethods(app),
    ...organizationMethods(app),

    async adminGetUserQuota({ username }) {
      const owner = await requireAnyOwner(app.db, username)
      return quotaInfoMessage(await viewQuota(app, owner), true)
    },

    async adminListUsage({ sort, ...request }) {
      return usageMessage(await listUsage(app, sort, readNumberedPage(app.settings, request)))
    },
  }
}

type OwnMethod = 'getMyQuota' | 'checkMyQuota' | `listMyQuota${List}`
type OrganizationMethod =
  | 'getOrganizationQuota'
  | 'checkOrganizationQuota'
  | `listOrganizationQuota${List}`
type List = 'Attachments' | 'Artifacts' | 'Packages'

function ownMethods(app: App): Pick<Methods, OwnMethod> {
  return {
    async getMyQuota(_, context) {
      const caller = signedIn(callerOf(context))
      return quotaInfoMessage(await viewQuota(app, userAsOwner(caller.user)), seesNames(caller))
    },

    async checkMyQuota({ subject }, context) {
      const { user } = signedIn(callerOf(context))
      return { allowed: await isAllowed(app, userAsOwner(user), subject) }
    },

    async listMyQuotaAttachments(request, context) {
      const { user } = signedIn(callerOf(context))
      return attachmentsOf(app, userAsOwner(user), request)
    },

    listMyQuotaArtifacts: (request) => ({ ...emptyPage(app, request), artifacts: [] }),
    listMyQuotaPackages: (request) => ({ ...emptyPage(app, request), packages: [] }),
  }
}

function organizationMethods(app: App): Pick<Methods, OrganizationMethod> {
  return {
    async getOrganizationQuota({ org }, context) {
      const caller = callerOf(context)
      const owner = await openOrganizationQuota(app, caller, org)
      return quotaInfoMessage(await viewQuota(app, owner), seesNames(caller))
    },

    async checkOrganizationQuota({ org, subject }, context) {
      const owner = await openOrganizationQuota(app, callerOf(context), org)
      return { allowed: await isAllowed(app, owner, subject) }
    },

    async listOrganizationQuotaAttachments({ org, ...request }, context) {
      return attachmentsOf(app, await openOrganizationQuota(app, callerOf(context), org), request)
    },

    async listOrganizationQuotaArtifacts({ org, ...request }, context) {
      await openOrganizationQuota(app, callerOf(context), org)
      return { ...emptyPage(app, request), artifacts: [] }
    },

    async listOrganizationQuotaPackages({ org, ...request }, context) {
      await openOrganizationQuota(app, callerOf(context), org)
      return { ...emptyPage(app, request), packages: [] }
    },
  }
}

interface PageRequest {
  readonly page: number
  readonly limit: number
}

async function attachmentsOf(
  app: App,
  owner: { readonly id: number; readonly name: string },
  request: PageRequest,
) {
  const page = readNumberedPage(app.settings, request)
  const { files, total } = await listFiles(app, owner, page)
  const attachments = files.map((file) => quotaAttachmentMessage(app, owner.name, file))
  return { attachments, total: BigInt(total), limit: page.limit }
}

function emptyPage(app: App, request: PageRequest) {
  return { total: 0n, limit: readNumberedPage(app.settings, request).limit }
}

/** Whether a caller sees the names of groups and rules. */
function seesNames(caller: Caller): boolean {
  return actsAsAdministrator(caller, 'read')
}

export const quotas = defineService(QuotaService, quotaService)
