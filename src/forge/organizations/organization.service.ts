import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type Organization as OrganizationMessage,
  OrganizationSchema,
} from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { generatedAvatarUrl, userAccountMessage } from '../accounts/users/accounts.message.ts'
import type { NumberedUserPage } from '../accounts/users/owners.ts'
import type { App } from '../app.ts'
import { type Caller, signedIn } from '../core/access.ts'
import type { Page } from '../core/names.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import {
  checkMember,
  getMemberRights,
  listMembers,
  publishMembership,
  removeMember,
} from './members.ts'
import {
  createOrganization,
  deleteOrganization,
  editOrganization,
  getOrganization,
  listOrganizations,
  listOrganizationsOf,
  listOwnOrganizations,
  type Organization,
  type OrganizationPage,
} from './organizations.ts'

/** Implements OrganizationService. */
function organizationService(app: App): ServiceImpl<typeof OrganizationService> {
  const listMessage = (caller: Caller, found: OrganizationPage, page: Page) =>
    organizationsMessage(app, caller, found, page)
  const membersMessage = (caller: Caller, { users, total }: NumberedUserPage, { limit }: Page) => ({
    members: users.map((user) => userAccountMessage(app, caller, user)),
    total: BigInt(total),
    limit,
  })
  return {
    async createOrganization({ username: name, ...profile }, context) {
      const caller = signedIn(callerOf(context))
      const draft = { name, ...profile }
      return organizationMessage(
        app,
        caller,
        await createOrganization(app, caller, caller.user, draft),
      )
    },

    async getOrganizationPermissions({ org, username }, context) {
      const rights = await getMemberRights(app, signedIn(callerOf(context)), org, username)
      return {
        isOwner: rights.owns,
        isAdmin: rights.administers,
        canWrite: rights.writes,
        canRead: rights.isMember,
        canCreateRepository: rights.createsRepositories,
      }
    },

    async getOrganization({ org }, context) {
      const caller = callerOf(context)
      return organizationMessage(app, caller, await getOrganization(app, caller, org))
    },

    async editOrganization({ org, ...profile }, context) {
      const caller = callerOf(context)
      return organizationMessage(app, caller, await editOrganization(app, caller, org, profile))
    },

    async deleteOrganization({ org }, context) {
      await deleteOrganization(app, callerOf(context), org)
      return {}
    },

    async listOrganizations(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      return listMessage(caller, await listOrganizations(app, caller, page), page)
    },

    async listMyOrganizations(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      return listMessage(caller, await listOwnOrganizations(app, caller, page), page)
    },

    async listUserOrganizations(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      return listMessage(
        caller,
        await listOrganizationsOf(app, caller, request.username, page),
        page,
      )
    },

    async listOrganizationMembers(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      return membersMessage(caller, await listMembers(app, caller, request.org, false, page), page)
    },

    async checkOrganizationMember({ org, username }, context) {
      await checkMember(app, callerOf(context), org, username, false)
      return {}
    },

    async removeOrganizationMember({ org, username }, context) {
      await removeMember(app, signedIn(callerOf(context)), org, username)
      return {}
    },

    async listPublicMembers(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      return membersMessage(caller, await listMembers(app, caller, request.org, true, page), page)
    },

    async checkPublicMember({ org, username }, context) {
      await checkMember(app, callerOf(context), org, username, true)
      return {}
    },

    async publicizeMember({ org, username }, context) {
      await publishMembership(app, signedIn(callerOf(context)), org, username, true)
      return {}
    },

    async concealMember({ org, username }, context) {
      await publishMembership(app, signedIn(callerOf(context)), org, username, false)
      return {}
    },
  }
}

/** Returns a page of organisations as a viewer sees them. */
export function organizationsMessage(
  app: App,
  viewer: Caller,
  { organizations, total }: OrganizationPage,
  { limit }: Page,
) {
  return {
    organizations: organizations.map((organization) =>
      organizationMessage(app, viewer, organization),
    ),
    total: BigInt(total),
    limit,
  }
}

/** Returns an organisation as a viewer sees it. Only signed-in viewers see the e-mail address. */
export function organizationMessage(
  app: App,
  viewer: Caller,
  organization: Organization,
): OrganizationMessage {
  return create(OrganizationSchema, {
    id: BigInt(organization.id),
    name: organization.name,
    fullName: organization.full_name,
    email: viewer.kind === 'user' ? organization.email : '',
    avatarUrl: generatedAvatarUrl(app.publicUrl(), organization),
    description: organization.description,
    website: organization.website,
    location: organization.location,
    visibility: organization.visibility,
    repoAdminChangeTeamAccess: organization.repo_admin_change_team_access === 1,
    username: organization.name,
  })
}

export const organizations = defineService(OrganizationService, organizationService)
