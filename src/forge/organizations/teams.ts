import { isUniqueViolation, transaction } from '../../platform/database/database.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { blockExists } from '../accounts/users/blocks.rows.ts'
import {
  getUserByUsername,
  type NumberedUserPage,
  readVisibility,
} from '../accounts/users/owners.ts'
import { checkLength } from '../accounts/users/user-fields.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { nameKey, type Page } from '../core/names.ts'
import type { User } from '../core/schema.ts'
import { forgetUnreadable } from '../repositories/access/lost-access.rows.ts'
import { checkOwnerRemains } from './members.ts'
import {
  checkOrganizationNeed,
  enterOrganization,
  type OpenOrganization,
  openOrganization,
  seesAllMembers,
  teamViewer,
} from './organization-access.ts'
import {
  deleteMembersWithoutTeam,
  findMembership,
  findOrganizationById,
  findOrganizationsByIds,
  insertMember,
} from './organizations.rows.ts'
import type { NewTeam, Organization, Team, TeamChanges } from './schema.ts'
import { OWNER_RIGHTS, type RightsRequest, readChangedRights, readRights } from './team-rights.ts'
import * as rows from './teams.rows.ts'

export type { Team }

/** The limits of compatible systems. */
const NAME = /^[A-Za-z0-9._-]{1,255}$/
const MAX_DESCRIPTION_CHARACTERS = 255

/** No name or description is longer. */
const MAX_SEARCH_CHARACTERS = 256

/** The initial team of every organisation. */
export const OWNERS_TEAM: Omit<NewTeam, 'organization_id' | 'create_time'> = {
  name: 'Owners',
  name_key: nameKey('Owners'),
  description: '',
  ...OWNER_RIGHTS,
  includes_all_repositories: 1,
  can_create_org_repo: 1,
  visibility: 'limited',
}

/** A team and its organisation. */
export interface TeamView {
  readonly team: Team
  readonly organization: Organization
}

/** A team that a caller may see. */
interface OpenTeam extends OpenOrganization, TeamView {}

/** A page of a list. */
export interface TeamPage {
  readonly teams: readonly TeamView[]
  /** Length of the whole list. */
  readonly total: number
}

/** Fields of a team. Undefined, and an empty visibility, keep the value or choose the default. */
interface TeamRequest extends RightsRequest {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly includesAllRepositories?: boolean | undefined
  readonly canCreateOrgRepo?: boolean | undefined
  readonly visibility?: string | undefined
}

/** Returns the team with an id. */
export async function openTeam(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  needed: 'visible' | 'owner',
): Promise<OpenTeam> {
  const team = await rows.findTeamById(app.db, id)
  const organization = team && (await findOrganizationById(app.db, team.organization_id))
  if (!organization) throw new DomainError('TEAM_NOT_FOUND')
  const open = await enterOrganization(app, caller, organization, 'TEAM_NOT_FOUND')
  if (!(await seesTeam(app, caller, open, team))) throw new DomainError('TEAM_NOT_FOUND')
  checkOrganizationNeed(open, needed)
  return { ...open, team }
}

/**
 * Returns whether a caller who sees an organisation may see one of its teams. The queries for lists
 * apply the same rule.
 */
async function seesTeam(
  app: AccountsApp,
  caller: SignedIn,
  open: OpenOrganization,
  team: Team,
): Promise<boolean> {
  const viewer = teamViewer(caller, open)
  if (viewer === 'everything' || team.visibility === 'public') return true
  if (viewer === 'public data') return false
  return (
    (viewer.isMember && team.visibility === 'limited') ||
    rows.isTeamMember(app.db, team.id, viewer.userId)
  )
}

/**
 * Returns the team of an organisation with a name, if the caller may see the team.
 *
 * @param organization its name
 */
export async function findVisibleTeam(
  app: AccountsApp,
  caller: Caller,
  organization: string,
  name: string,
): Promise<Team | undefined> {
  const open = await openOrganization(app, caller, organization, 'visible')
  const viewer = teamViewer(caller, open)
  const filter = { organizationId: open.organization.id, viewer, nameKey: nameKey(name) }
  const [team] = await rows.listTeams(app.db, filter, 0, 1)
  return team
}

/**
 * Returns the names of the first teams of an organisation that begin with a text, in upper or lower
 * case, and that the caller may see.
 *
 * @throws ORGANIZATION_NOT_FOUND
 */
export async function teamNamesFrom(
  app: AccountsApp,
  caller: Caller,
  organization: string,
  begin: string,
  limit: number,
): Promise<string[]> {
  const open = await openOrganization(app, caller, organization, 'visible')
  const viewer = teamViewer(caller, open)
  const filter = { organizationId: open.organization.id, viewer, begin: nameKey(begin) }
  return (await rows.listTeams(app.db, filter, 0, limit)).map(({ name }) => name)
}

/**
 * Lists the teams of an organisation that a caller may see, by name.
 *
 * @param search undefined for all teams.
 */
export async function listTeams(
  app: AccountsApp,
  caller: SignedIn,
  name: string,
  search: { readonly text: string; readonly inDescription: boolean } | undefined,
  { offset, limit }: Page,
): Promise<TeamPage> {
  const open = await openOrganization(app, caller, name, 'visible')
  const { organization } = open
  const bounded = search && {
    search: { ...search, text: search.text.slice(0, MAX_SEARCH_CHARACTERS) },
  }
  const filter = { organizationId: organization.id, viewer: teamViewer(caller, open), ...bounded }
  const found = await rows.listTeams(app.db, filter, offset, limit)
  return {
    teams: found.map((team) => ({ team, organization })),
    total: await rows.countTeams(app.db, filter),
  }
}

/** Lists the teams that the caller is a member of, by id. */
export async function listOwnTeams(
  app: AccountsApp,
  caller: SignedIn,
  { offset, limit }: Page,
): Promise<TeamPage> {
  const found = await rows.listTeamsOfUser(app.db, caller.user.id, offset, limit)
  const organizations = await findOrganizationsByIds(app.db, [
    ...new Set(found.map((team) => team.organization_id)),
  ])
  const teams = found.flatMap((team) => {
    const organization = organizations.get(team.organization_id)
    return organization ? [{ team, organization }] : []
  })
  return { teams, total: await rows.countTeamsOfUser(app.db, caller.user.id) }
}

/** Creates a team without members. */
export async function createTeam(
  app: AccountsApp,
  caller: Caller,
  organizationName: string,
  request: TeamRequest,
): Promise<TeamView> {
  const { organization } = await openOrganization(app, caller, organizationName, 'owner')
  const name = checkName(request.name ?? '')
  const columns = { ...readColumns(request), ...readRights(request) }
  const team = await withUniqueName(name, () =>
    transaction(app.db, (tx) =>
      rows.insertTeam(tx, {
        description: '',
        includes_all_repositories: 0,
        can_create_org_repo: 0,
        visibility: 'limited',
        ...columns,
        organization_id: organization.id,
        name,
        name_key: nameKey(name),
        create_time: nowSeconds(app.clock),
      }),
    ),
  )
  return { team, organization }
}

/** Changes a team. */
export async function editTeam(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  request: TeamRequest,
): Promise<TeamView> {
  const { team, organization } = await openTeam(app, caller, id, 'owner')
  const name = checkName(request.name || team.name)
  if (team.permission === 'owner') checkOwnersUnchanged(team, name, request)
  const changes = { ...readColumns(request), name, name_key: nameKey(name) }
  const edited = await withUniqueName(name, () =>
    transaction(app.db, async (tx) => {
      // Missing rights depend on the current row.
      const present = await rows.findTeamById(tx, id)
      if (!present) return undefined
      const rights = readChangedRights(request, present)
      const edited = await rows.updateTeam(tx, id, { ...changes, ...rights })
      if (edited && reachesLess(edited, present))
        await forgetUnreadable(tx, {
          ownerId: organization.id,
          userIds: await rows.listTeamMemberIds(tx, id),
        })
      return edited
    }),
  )
  if (!edited) throw new DomainError('TEAM_NOT_FOUND')
  return { team: edited, organization }
}

/** Deletes a team. Members without another team leave the organisation. */
export async function deleteTeam(app: AccountsApp, caller: SignedIn, id: number): Promise<void> {
  const { team, organization } = await openTeam(app, caller, id, 'owner')
  if (team.permission === 'owner') throw new DomainError('OWNERS_TEAM_FIXED')
  await transaction(app.db, async (tx) => {
    const userIds = await rows.listTeamMemberIds(tx, id)
    await rows.deleteTeam(tx, id)
    await deleteMembersWithoutTeam(tx, organization.id)
    await forgetUnreadable(tx, { ownerId: organization.id, userIds })
  })
}

/** Returns whether the members of a team may have lost access to repositories. */
function reachesLess(edited: Team, present: Team): boolean {
  const { includes_all_repositories, permission, units } = present
  return (
    edited.includes_all_repositories < includes_all_repositories ||
    edited.permission !== permission ||
    edited.units !== units
  )
}

function checkName(name: string): string {
  if (!NAME.test(name)) throw new DomainError('INVALID_TEAM_NAME', { name: name.slice(0, 255) })
  return name
}

function checkOwnersUnchanged(team: Team, name: string, request: TeamRequest): void {
  const loses = request.includesAllRepositories === false || request.canCreateOrgRepo === false
  if (name !== team.name || loses) throw new DomainError('OWNERS_TEAM_FIXED')
}

function readColumns(request: TeamRequest): TeamChanges {
  const { description, includesAllRepositories, canCreateOrgRepo } = request
  checkLength('description', description, MAX_DESCRIPTION_CHARACTERS)
  const visibility = readVisibility(request.visibility)
  const columns: TeamChanges = {}
  if (description !== undefined) columns.description = description
  if (includesAllRepositories !== undefined)
    columns.includes_all_repositories = includesAllRepositories ? 1 : 0
  if (canCreateOrgRepo !== undefined) columns.can_create_org_repo = canCreateOrgRepo ? 1 : 0
  if (visibility !== undefined) columns.visibility = visibility
  return columns
}

async function withUniqueName<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isUniqueViolation(error) ? new DomainError('TEAM_EXISTS', { name }) : error
  }
}

/** Lists the members of a team that a caller may see, by id. */
export async function listTeamMembers(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  { offset, limit }: Page,
): Promise<NumberedUserPage> {
  const open = await openTeam(app, caller, id, 'visible')
  const publicOnly = !seesAllMembers(caller, open)
  const users = await rows.listTeamMembers(app.db, id, publicOnly, offset, limit)
  return { users, total: await rows.countTeamMembers(app.db, id, publicOnly) }
}

/** Returns a member of a team. */
export async function getTeamMember(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  username: string,
): Promise<User> {
  const open = await openTeam(app, caller, id, 'visible')
  const user = await getUserByUsername(app.db, username)
  const membership = await findMembership(app.db, open.organization.id, user.id)
  const isKnown = membership === 'public' || seesAllMembers(caller, open)
  if (!isKnown || !(await rows.isTeamMember(app.db, id, user.id)))
    throw new DomainError('MEMBER_NOT_FOUND')
  return user
}

/** Adds a user to a team and to its organisation. Succeeds if the user is already a member. */
export async function addTeamMember(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  username: string,
): Promise<void> {
  const { organization } = await openTeam(app, caller, id, 'owner')
  const user = await getUserByUsername(app.db, username)
  await transaction(app.db, async (tx) => {
    if (await blockExists(tx, [organization.id], user.id)) throw new DomainError('USER_BLOCKED')
    await rows.insertTeamMember(tx, id, user.id)
    await insertMember(tx, organization.id, user.id)
  })
}

/** Removes a user from a team, and from the organisation if it was the user's last team there. */
export async function removeTeamMember(
  app: AccountsApp,
  caller: SignedIn,
  id: number,
  username: string,
): Promise<void> {
  const open = await openTeam(app, caller, id, 'visible')
  const user = await getUserByUsername(app.db, username)
  if (user.id !== caller.user.id) checkOrganizationNeed(open, 'owner')
  const { team, organization } = open
  await transaction(app.db, async (tx) => {
    if (team.permission === 'owner') await checkOwnerRemains(tx, user.id, organization.id)
    if (!(await rows.deleteTeamMember(tx, id, user.id))) throw new DomainError('MEMBER_NOT_FOUND')
    await deleteMembersWithoutTeam(tx, organization.id, user.id)
    await forgetUnreadable(tx, { ownerId: organization.id, userIds: [user.id] })
  })
}
