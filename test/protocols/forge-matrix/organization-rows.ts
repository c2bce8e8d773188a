import { create, type DescMethod, type Message, type MessageInitShape } from '@bufbuild/protobuf'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import { OAuth2ApplicationService } from '#gen/branchline/v1/oauth2_application_service_pb.ts'
import { OrganizationHookService } from '#gen/branchline/v1/organization_hook_service_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { QuotaService } from '#gen/branchline/v1/quota_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import type { OrganizationNeeds } from './model.ts'

/** An organisation, and numbers of two of its teams: one that reads, and the one that owns it. */
export interface OrganizationTarget {
  readonly name: string
  readonly team: number
  readonly ownersTeam: number
}

/** A method about an organisation: what it asks of its caller, and a call that changes nothing. */
export interface OrganizationRow {
  readonly method: DescMethod
  readonly needs: OrganizationNeeds
  /**
   * The call about an organisation. It asks for what is not there, for what nobody gets, or for
   * what is so already.
   */
  requestTo(target: OrganizationTarget): Message
}

const NOBODY = 'nobody-of-that-name'
const NOTHING = 'nothing-of-that-name'
const NO_NUMBER = 999_999n
/** Somebody with an account, who is a member of no organisation. */
const OUTSIDER = 'carol'

const visitors: OrganizationNeeds = {
  signedIn: false,
  scopes: ['read:organization'],
  role: 'anybody',
}
const guests: OrganizationNeeds = { ...visitors, signedIn: true }
const owners: OrganizationNeeds = { signedIn: true, scopes: ['write:organization'], role: 'owner' }
const themselves: OrganizationNeeds = { ...owners, role: 'themselves', about: OUTSIDER }
const ownersOrThemselves: OrganizationNeeds = {
  ...owners,
  role: 'owner or themselves',
  about: OUTSIDER,
}
const blockReaders: OrganizationNeeds = { ...guests, role: 'owner', privateData: true }
const blockers: OrganizationNeeds = { ...owners, privateData: true }
/** Webhooks also receive data of repositories. */
const hookWriters: OrganizationNeeds = {
  ...blockers,
  scopes: ['write:organization', 'read:repository'],
}
const teamGuests: OrganizationNeeds = { ...guests, ofTeam: true }
const teamOwners: OrganizationNeeds = { ...owners, ofTeam: true }

const organizations = OrganizationService.method
const repositories = RepositoryService.method
const accounts = AccountService.method
const labels = LabelService.method
const hooks = OrganizationHookService.method
const teams = TeamService.method
const applications = OAuth2ApplicationService.method
const quotas = QuotaService.method

export const ORGANIZATION_ROWS: readonly OrganizationRow[] = [
  row(organizations.getOrganization, visitors),
  row(
    organizations.getOrganizationPermissions,
    { ...guests, scopes: ['read:user', 'read:organization'] },
    { username: 'bob' },
  ),
  row(organizations.editOrganization, owners, { fullName: 'x'.repeat(1000) }),
  // Each has repositories.
  row(organizations.deleteOrganization, owners),
  row(organizations.listOrganizationMembers, visitors),
  row(organizations.checkOrganizationMember, visitors, { username: NOBODY }),
  row(organizations.removeOrganizationMember, ownersOrThemselves, { username: OUTSIDER }),
  row(organizations.listPublicMembers, visitors),
  row(organizations.checkPublicMember, visitors, { username: NOBODY }),
  row(organizations.publicizeMember, themselves, { username: OUTSIDER }),
  row(organizations.concealMember, themselves, { username: OUTSIDER }),

  row(repositories.listOrganizationRepositories, visitors),
  row(
    repositories.createOrganizationRepository,
    { ...owners, scopes: ['write:organization', 'write:repository'] },
    { name: '..' },
  ),

  row(accounts.listOrganizationBlockedUsers, blockReaders),
  row(accounts.checkOrganizationBlockedUser, blockReaders, { username: NOBODY }),
  row(accounts.blockOrganizationUser, blockers, { username: NOBODY }),
  row(accounts.unblockOrganizationUser, blockers, { username: NOBODY }),

  row(quotas.getOrganizationQuota, blockReaders),
  row(quotas.checkOrganizationQuota, blockReaders, { subject: 'size:all' }),
  row(quotas.listOrganizationQuotaAttachments, blockReaders),
  row(quotas.listOrganizationQuotaArtifacts, blockReaders),
  row(quotas.listOrganizationQuotaPackages, blockReaders),

  row(labels.listOrganizationLabels, visitors),
  row(labels.getOrganizationLabel, visitors, { id: NO_NUMBER }),
  row(labels.createOrganizationLabel, owners, { name: 'label', color: 'none' }),
  row(labels.editOrganizationLabel, owners, { id: NO_NUMBER }),
  row(labels.deleteOrganizationLabel, owners, { id: NO_NUMBER }),

  row(hooks.listOrganizationHooks, blockReaders),
  row(hooks.getOrganizationHook, blockReaders, { id: NO_NUMBER }),
  row(hooks.createOrganizationHook, hookWriters, { type: 'none' }),
  row(hooks.editOrganizationHook, hookWriters, { id: NO_NUMBER }),
  row(hooks.deleteOrganizationHook, blockers, { id: NO_NUMBER }),
  row(hooks.listOrganizationHookDeliveries, blockReaders, { id: NO_NUMBER }),
  row(hooks.getOrganizationHookDelivery, blockReaders, { id: NO_NUMBER, deliveryId: NOTHING }),
  row(hooks.redeliverOrganizationHookDelivery, blockers, { id: NO_NUMBER, deliveryId: NOTHING }),
  row(applications.listOrganizationOAuth2Applications, blockReaders),
  row(applications.createOrganizationOAuth2Application, blockers, { name: '' }),
  row(applications.getOrganizationOAuth2Application, blockReaders, { id: NO_NUMBER }),
  row(applications.editOrganizationOAuth2Application, blockers, { id: NO_NUMBER }),
  row(applications.deleteOrganizationOAuth2Application, blockers, { id: NO_NUMBER }),

  row(teams.listOrganizationTeams, guests),
  row(teams.searchTeams, guests),
  row(teams.createTeam, owners, { name: '..' }),
  teamRow(teams.getTeam, teamGuests),
  teamRow(teams.editTeam, teamOwners, { name: '..' }),
  { ...row(teams.deleteTeam, teamOwners), requestTo: ({ ownersTeam }) => byNumber(ownersTeam) },
  teamRow(teams.listTeamMembers, teamGuests),
  teamRow(teams.getTeamMember, teamGuests, { username: NOBODY }),
  teamRow(teams.addTeamMember, teamOwners, { username: NOBODY }),
  teamRow(
    teams.removeTeamMember,
    { ...teamOwners, role: 'owner or themselves', about: OUTSIDER },
    { username: OUTSIDER },
  ),
  teamRow(teams.listTeamRepositories, teamGuests),
  // What the team may have belongs to its organisation, and this does not.
  teamRow(teams.getTeamRepository, teamGuests, { org: 'bob', repo: NOTHING }),
  teamRow(teams.addTeamRepository, teamOwners, { org: 'bob', repo: NOTHING }),
  teamRow(teams.removeTeamRepository, teamOwners, { org: 'bob', repo: NOTHING }),
]

/**
 * @param request without the name of the organisation, with which the requests of all of these
 *   methods begin.
 */
function row<M extends DescMethod>(
  method: M,
  needs: OrganizationNeeds,
  request?: MessageInitShape<M['input']>,
): OrganizationRow {
  return {
    method,
    needs,
    requestTo({ name }) {
      const message: Message = create<DescMethod['input']>(method.input, request)
      return Object.assign(message, { org: name })
    },
  }
}

/** @param request without the number of the team. */
function teamRow<M extends DescMethod>(
  method: M,
  needs: OrganizationNeeds,
  request?: MessageInitShape<M['input']>,
): OrganizationRow {
  return {
    method,
    needs,
    requestTo({ team }) {
      const message: Message = create<DescMethod['input']>(method.input, request)
      return Object.assign(message, { id: BigInt(team) })
    },
  }
}

function byNumber(team: number): Message {
  return create(teams.deleteTeam.input, { id: BigInt(team) })
}
