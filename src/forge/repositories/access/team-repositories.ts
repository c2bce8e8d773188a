import { transaction } from '../../../platform/database/database.ts'
import { type Caller, type SignedIn, seesPublicDataOnly } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import { nameKey, type RepositoryName } from '../../core/names.ts'
import {
  checkOrganizationNeed,
  type OpenOrganization,
  standingIn,
  teamViewer,
} from '../../organizations/organization-access.ts'
import { findOrganizationById } from '../../organizations/organizations.rows.ts'
import type { Organization } from '../../organizations/schema.ts'
import * as rows from '../../organizations/teams.rows.ts'
import { listTeamMemberIds } from '../../organizations/teams.rows.ts'
import { openTeam, type Team, type TeamPage, type TeamView } from '../../organizations/teams.ts'
import {
  type RepositoryView,
  viewRepositories,
  viewRepository,
} from '../lifecycle/repository-views.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { forgetUnreadable } from './lost-access.rows.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepositories,
  openRepository,
  repositoryReader,
} from './permissions.ts'

/** Returns a page of the repositories of a team that the caller can read, sorted by name. */
export async function listTeamRepositories(
  app: ReposApp,
  caller: SignedIn,
  id: number,
  offset: number,
  limit: number,
): Promise<{ repositories: RepositoryView[]; total: number }> {
  const { team } = await openTeam(app, caller, id, 'visible')
  const reader = repositoryReader(app, caller)
  const found = await rows.listTeamRepositories(app.db, team, reader, offset, limit)
  const repositories = await viewRepositories(
    app,
    caller,
    await openRepositories(app, caller, found),
  )
  return { repositories, total: await rows.countTeamRepositories(app.db, team, reader) }
}

/** Returns one repository of a team. */
export async function getTeamRepository(
  app: ReposApp,
  caller: SignedIn,
  id: number,
  name: RepositoryName,
): Promise<RepositoryView> {
  const { team } = await openTeam(app, caller, id, 'visible')
  const open = await openOwnedBy(app, caller, team, name)
  if (!(await has(app, team, open.repository))) throw new DomainError('REPOSITORY_NOT_FOUND')
  return viewRepository(app, caller, open)
}

/** Adds a repository of the organisation to a team. Adding a repository again changes nothing. */
export async function addTeamRepository(
  app: ReposApp,
  caller: SignedIn,
  id: number,
  name: RepositoryName,
) {
  const { team } = await openTeam(app, caller, id, 'owner')
  const { repository } = await openOwnedBy(app, caller, team, name)
  await transaction(app.db, (tx) => rows.insertTeamRepository(tx, team.id, repository.id))
}

/** Removes a repository from a team. */
export async function removeTeamRepository(
  app: ReposApp,
  caller: SignedIn,
  id: number,
  name: RepositoryName,
) {
  const { team } = await openTeam(app, caller, id, 'owner')
  const { repository } = await openOwnedBy(app, caller, team, name)
  await remove(app, team, repository)
}

/**
 * Returns a page of the teams with access to a repository that the caller can see, sorted by name.
 */
export async function listRepositoryTeams(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  offset: number,
  limit: number,
): Promise<TeamPage> {
  const { organization, filter } = await openForTeams(app, caller, name, 'none')
  const found = await rows.listTeams(app.db, filter, offset, limit)
  return {
    teams: found.map((team) => ({ team, organization })),
    total: await rows.countTeams(app.db, filter),
  }
}

/** Returns one team with access to a repository. */
export async function getRepositoryTeam(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  teamName: string,
): Promise<TeamView> {
  const { organization, filter } = await openForTeams(app, caller, name, 'none')
  return { team: await findTeam(app, filter, teamName), organization }
}

/**
 * Adds a repository to a team. Owners of the organisation may do so, and administrators of the
 * repository if the organisation allows it.
 */
export async function addRepositoryTeam(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  teamName: string,
) {
  const { repository, team } = await openForTeamChange(app, caller, name, teamName)
  const isNew =
    team.includes_all_repositories === 0 &&
    (await transaction(app.db, (tx) => rows.insertTeamRepository(tx, team.id, repository.id)))
  if (!isNew) throw new DomainError('TEAM_ALREADY_ADDED', { team: team.name })
}

/** Removes a repository from a team. The same users may do so as may add it. */
export async function removeRepositoryTeam(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  teamName: string,
) {
  const { repository, team } = await openForTeamChange(app, caller, name, teamName)
  await remove(app, team, repository)
}

/** Opens a repository of the organisation of a team. */
async function openOwnedBy(app: ReposApp, caller: SignedIn, team: Team, name: RepositoryName) {
  const open = await openRepository(app, caller, name, 'none')
  if (open.repository.owner_id !== team.organization_id)
    throw new DomainError('REPOSITORY_NOT_FOUND')
  return open
}

async function has(app: ReposApp, team: Team, repository: Repository): Promise<boolean> {
  return team.includes_all_repositories === 1 || rows.hasRepository(app.db, team.id, repository.id)
}

/** Members who can no longer read the repository watch and star it no more. */
async function remove(app: ReposApp, team: Team, repository: Repository): Promise<void> {
  // A team with access to all repositories cannot lose one.
  const had =
    team.includes_all_repositories === 0 &&
    (await transaction(app.db, async (tx) => {
      if (!(await rows.deleteTeamRepository(tx, team.id, repository.id))) return false
      const userIds = await listTeamMemberIds(tx, team.id)
      await forgetUnreadable(tx, { repositoryIds: [repository.id], userIds })
      return true
    }))
  if (!had) throw new DomainError('TEAM_NOT_ADDED', { team: team.name })
}

/**
 * A repository of an organisation, and a filter for the teams with access to it that the caller can
 * see.
 */
interface ForTeams extends OpenRepository, OpenOrganization {
  readonly filter: rows.TeamFilter
}

async function openForTeams(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  needed: 'none' | 'admin',
): Promise<ForTeams> {
  const open = await openRepository(app, caller, name, needed)
  const organization = await findOrganizationById(app.db, open.owner.id)
  if (!organization) throw new DomainError('NOT_OWNED_BY_ORGANIZATION')
  // The visibility of the organisation does not matter: readers of a repository know its owner.
  const standing = await standingIn(app, caller, organization)
  const viewer = teamViewerAt(caller, open, standing)
  return {
    ...open,
    ...standing,
    filter: { organizationId: organization.id, viewer, repositoryId: open.repository.id },
  }
}

/** Returns the viewer of a list of the teams with access to a repository. */
export function teamViewerAt(
  caller: Caller,
  { units }: Pick<OpenRepository, 'units'>,
  standing: OpenOrganization,
): rows.TeamViewer {
  // Administrators of a repository can see all teams with access to it.
  const knowsAll = suffices(units.code, 'admin') && !seesPublicDataOnly(caller)
  return knowsAll ? 'everything' : teamViewer(caller, standing)
}

async function openForTeamChange(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  teamName: string,
) {
  const open = await openForTeams(app, caller, name, 'admin')
  checkNotArchived(open.repository)
  if (open.organization.repo_admin_change_team_access === 0) checkOrganizationNeed(open, 'owner')
  const team = await rows.findTeamByName(app.db, open.organization.id, nameKey(teamName))
  if (!team) throw new DomainError('TEAM_NOT_FOUND')
  return { repository: open.repository, team }
}

async function findTeam(app: ReposApp, filter: rows.TeamFilter, name: string): Promise<Team> {
  const [team] = await rows.listTeams(app.db, { ...filter, nameKey: nameKey(name) }, 0, 1)
  if (!team) throw new DomainError('TEAM_NOT_FOUND')
  return team
}

/**
 * The teams of an organisation that a caller may see in connection with one of its repositories.
 */
interface SeenTeams {
  readonly organization: Organization
  readonly filter: Pick<rows.TeamFilter, 'organizationId' | 'viewer'>
}

/**
 * Returns the teams of the owner of a repository that a caller may see. Undefined if the owner is a
 * user.
 */
export async function seenTeams(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
): Promise<SeenTeams | undefined> {
  if (open.owner.kind !== 'ORGANIZATION') return undefined
  const organization = await findOrganizationById(app.db, open.owner.id)
  if (!organization) return undefined
  const viewer = teamViewerAt(caller, open, await standingIn(app, caller, organization))
  return { organization, filter: { organizationId: organization.id, viewer } }
}

/** Returns those of some teams that a caller may see, by their ids. */
export async function viewTeams(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  ids: readonly number[],
): Promise<ReadonlyMap<number, TeamView>> {
  const seen = ids.length === 0 ? undefined : await seenTeams(app, caller, open)
  if (!seen) return new Map()
  const { organization, filter } = seen
  const found = await rows.findVisibleTeams(app.db, filter, ids)
  return new Map(found.map((team) => [team.id, { team, organization }]))
}
