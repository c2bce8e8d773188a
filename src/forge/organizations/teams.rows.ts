import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { containsSql, startsWithSql } from '../../platform/database/database.ts'
import { prepareFirst } from '../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import type { User } from '../core/schema.ts'
import {
  type RepositoryReader,
  readableBy,
} from '../repositories/access/repository-readers.rows.ts'
import type { Repository } from '../repositories/schema.ts'
import type { NewTeam, Team, TeamChanges } from './schema.ts'

/**
 * The viewer for whom to list the teams of an organisation: an owner or administrator, a user, or a
 * caller who sees only public data.
 */
export type TeamViewer =
  | 'everything'
  | 'public data'
  | { readonly userId: number; readonly isMember: boolean }

/** Criteria for listing the teams of an organisation. */
export interface TeamFilter {
  readonly organizationId: number
  readonly viewer: TeamViewer
  /** Lists only teams with a text in their name or, optionally, description; undefined for all. */
  readonly search?: { readonly text: string; readonly inDescription: boolean }
  /** Lists only teams with access to this repository; undefined for all. */
  readonly repositoryId?: number
  /** Lists only the team with this folded name; undefined for all. */
  readonly nameKey?: string
  /** Lists only the teams whose folded names begin with this text; undefined for all. */
  readonly begin?: string
}

export const findTeamById = prepareFirst((db, id: number) =>
  db.selectFrom('teams').selectAll().where('id', '=', id),
)

/** Returns the team of an organisation with a folded name. */
export const findTeamByName = prepareFirst((db, organizationId: number, key: string) =>
  db
    .selectFrom('teams')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name_key', '=', key),
)

const rightsOfUser = prepareFirst((db, organizationId: number, userId: number) =>
  db
    .selectFrom('team_members')
    .innerJoin('teams', 'teams.id', 'team_members.team_id')
    .select(({ eb, fn }) => [
      fn.countAll<number>().as('teams'),
      fn.max(eb.cast<number>(eb('teams.permission', '=', sql.lit('owner')), 'integer')).as('owns'),
      fn.max('teams.can_create_org_repo').as('creates'),
    ])
    .where('team_members.user_id', '=', userId)
    .where('teams.organization_id', '=', organizationId),
)

/** Returns the permissions of the teams of an organisation that a user is in, each once. */
export async function findTeamPermissions(
  db: Db,
  organizationId: number,
  userId: number,
): Promise<readonly Team['permission'][]> {
  const found = await db
    .selectFrom('team_members')
    .innerJoin('teams', 'teams.id', 'team_members.team_id')
    .select('teams.permission')
    .distinct()
    .where('team_members.user_id', '=', userId)
    .where('teams.organization_id', '=', organizationId)
    .execute()
  return found.map(({ permission }) => permission)
}

/** The rights in an organisation that a user has through teams. */
export interface OrganizationRights {
  readonly isMember: boolean
  readonly isOwner: boolean
  readonly createsRepositories: boolean
}

/** Returns the rights in an organisation that a user has through teams. */
export async function findOrganizationRights(
  db: Db,
  organizationId: number,
  userId: number,
): Promise<OrganizationRights> {
  const row = await rightsOfUser(db, organizationId, userId)
  return {
    isMember: (row?.teams ?? 0) > 0,
    isOwner: row?.owns === 1,
    createsRepositories: row?.creates === 1,
  }
}

/** Lists the teams of an organisation by name. */
export function listTeams(
  db: Db,
  filter: TeamFilter,
  offset: number,
  limit: number,
): Promise<Team[]> {
  return selectTeams(db, filter)
    .selectAll('teams')
    .orderBy('name_key')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countTeams(db: Db, filter: TeamFilter): Promise<number> {
  const { count } = await selectTeams(db, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectTeams(
  db: Db,
  { organizationId, viewer, search, repositoryId, nameKey, begin }: TeamFilter,
) {
  return db
    .selectFrom('teams')
    .where('organization_id', '=', organizationId)
    .$if(nameKey !== undefined, (query) => query.where('name_key', '=', nameKey ?? ''))
    .$if(begin !== undefined, (query) =>
      query.where(({ ref }) => startsWithSql(ref('name_key'), begin ?? '')),
    )
    .where(teamsVisibleTo(viewer))
    .$if(search !== undefined, (query) =>
      query.where((eb) => {
        const text = search?.text ?? ''
        const inName = containsSql(eb.ref('teams.name'), text)
        return search?.inDescription
          ? eb.or([inName, containsSql(eb.ref('teams.description'), text)])
          : inName
      }),
    )
    .$if(repositoryId !== undefined, (query) =>
      query.where((eb) => reachesRepository(eb, repositoryId ?? 0)),
    )
}

/** Matches teams other than Owners that have access to a repository of their organisation. */
function reachesRepository(
  eb: ExpressionBuilder<Schema, 'teams'>,
  repositoryId: number,
): Expression<SqlBool> {
  const listed = eb
    .selectFrom('team_repositories')
    .select('team_id')
    .whereRef('team_id', '=', 'teams.id')
    .where('repository_id', '=', repositoryId)
  return eb.or([eb('includes_all_repositories', '=', 1), eb.exists(listed)])
}

/** Matches teams that a viewer may see. */
export function teamsVisibleTo(
  viewer: TeamViewer,
): (eb: ExpressionBuilder<Schema, 'teams'>) => Expression<SqlBool> {
  return (eb) => {
    if (viewer === 'everything') return sql<SqlBool>`true`
    if (viewer === 'public data') return eb('visibility', '=', 'public')
    const { userId, isMember } = viewer
    return eb.or([
      eb('visibility', 'in', isMember ? ['public', 'limited'] : ['public']),
      eb.exists(
        eb
          .selectFrom('team_members')
          .select('team_id')
          .whereRef('team_id', '=', 'teams.id')
          .where('user_id', '=', userId),
      ),
    ])
  }
}

/** Lists the teams of a user by id. */
export function listTeamsOfUser(
  db: Db,
  userId: number,
  offset: number,
  limit: number,
): Promise<Team[]> {
  return db
    .selectFrom('team_members')
    .innerJoin('teams', 'teams.id', 'team_members.team_id')
    .selectAll('teams')
    .where('team_members.user_id', '=', userId)
    .orderBy('team_members.team_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countTeamsOfUser(db: Db, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('team_members')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Stores a team.
 *
 * @throws a unique violation if the organisation has a team with the name.
 */
export function insertTeam(tx: Tx, team: NewTeam): Promise<Team> {
  return tx.insertInto('teams').values(team).returningAll().executeTakeFirstOrThrow()
}

/**
 * Updates a team. Returns undefined if it no longer exists.
 *
 * @throws a unique violation if the organisation has another team with the name.
 */
export function updateTeam(tx: Tx, id: number, changes: TeamChanges): Promise<Team | undefined> {
  return tx.updateTable('teams').set(changes).where('id', '=', id).returningAll().executeTakeFirst()
}

/**
 * Deletes a team. Members without another team remain in the organisation until
 * `deleteMembersWithoutTeam`.
 */
export async function deleteTeam(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('teams').where('id', '=', id).execute()
}

/** Lists the repositories of a team that a reader may read, by name. */
export function listTeamRepositories(
  db: Db,
  team: Team,
  reader: RepositoryReader,
  offset: number,
  limit: number,
): Promise<Repository[]> {
  return selectTeamRepositories(db, team, reader)
    .selectAll('repositories')
    .orderBy('repositories.name_key')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countTeamRepositories(
  db: Db,
  team: Team,
  reader: RepositoryReader,
): Promise<number> {
  const { count } = await selectTeamRepositories(db, team, reader)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectTeamRepositories(db: Db, team: Team, reader: RepositoryReader) {
  return db
    .selectFrom('repositories')
    .where('repositories.owner_id', '=', team.organization_id)
    .$if(team.includes_all_repositories === 0, (query) =>
      query.where((eb) =>
        eb(
          'repositories.id',
          'in',
          eb.selectFrom('team_repositories').select('repository_id').where('team_id', '=', team.id),
        ),
      ),
    )
    .where(readableBy(reader))
}

/** Returns whether a repository was assigned to a team. */
export async function hasRepository(
  db: Db,
  teamId: number,
  repositoryId: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('team_repositories')
    .select('team_id')
    .where('team_id', '=', teamId)
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
  return row !== undefined
}

/** Returns those of some teams that have access to a repository of their organisation. */
export async function findTeamsAt(
  db: Db,
  { id, owner_id }: Pick<Repository, 'id' | 'owner_id'>,
  teamIds: readonly number[],
): Promise<Team[]> {
  if (teamIds.length === 0) return []
  return db
    .selectFrom('teams')
    .selectAll()
    .where('id', 'in', teamIds)
    .where('organization_id', '=', owner_id)
    .where((eb) => eb.or([eb('permission', '=', 'owner'), reachesRepository(eb, id)]))
    .execute()
}

/** Returns those of some teams of an organisation that a viewer may see. */
export async function findVisibleTeams(
  db: Db,
  { organizationId, viewer }: Pick<TeamFilter, 'organizationId' | 'viewer'>,
  ids: readonly number[],
): Promise<Team[]> {
  if (ids.length === 0) return []
  return selectTeams(db, { organizationId, viewer })
    .selectAll('teams')
    .where('teams.id', 'in', ids)
    .execute()
}

/**
 * Assigns a repository to a team.
 *
 * @returns whether it was not assigned before.
 */
export async function insertTeamRepository(
  tx: Tx,
  teamId: number,
  repositoryId: number,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('team_repositories')
    .values({ team_id: teamId, repository_id: repositoryId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/**
 * Unassigns a repository from a team.
 *
 * @returns whether it was assigned.
 */
export async function deleteTeamRepository(
  tx: Tx,
  teamId: number,
  repositoryId: number,
): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('team_repositories')
    .where('team_id', '=', teamId)
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Unassigns a repository from all teams, because its owner changes. */
export async function deleteTeamsOfRepository(tx: Tx, repositoryId: number): Promise<void> {
  await tx.deleteFrom('team_repositories').where('repository_id', '=', repositoryId).execute()
}

/** Returns the active owner of an organisation who has the oldest account. */
export function findOldestOwner(db: Db, organizationId: number): Promise<User | undefined> {
  return db
    .selectFrom('teams')
    .innerJoin('team_members', 'team_members.team_id', 'teams.id')
    .innerJoin('users', 'users.id', 'team_members.user_id')
    .where('teams.organization_id', '=', organizationId)
    .where('teams.permission', '=', 'owner')
    .where('users.state', '=', 'NORMAL')
    .selectAll('users')
    .orderBy('users.id')
    .limit(1)
    .executeTakeFirst()
}

const teamMember = prepareFirst((db, teamId: number, userId: number) =>
  db
    .selectFrom('team_members')
    .selectAll()
    .where('team_id', '=', teamId)
    .where('user_id', '=', userId),
)

export async function isTeamMember(db: Db, teamId: number, userId: number): Promise<boolean> {
  return (await teamMember(db, teamId, userId)) !== undefined
}

/** Returns those of some users who are in any of some teams. */
export async function findMembersOf(
  db: Db,
  teamIds: readonly number[],
  userIds: readonly number[],
): Promise<ReadonlySet<number>> {
  if (teamIds.length === 0 || userIds.length === 0) return new Set()
  const found = await db
    .selectFrom('team_members')
    .select('user_id')
    .where('team_id', 'in', teamIds)
    .where('user_id', 'in', userIds)
    .execute()
  return new Set(found.map(({ user_id }) => user_id))
}

/** Returns the ids of all members of a team. */
export async function listTeamMemberIds(tx: Tx, teamId: number): Promise<number[]> {
  const found = await tx
    .selectFrom('team_members')
    .select('user_id')
    .where('team_id', '=', teamId)
    .execute()
  return found.map(({ user_id }) => user_id)
}

/** Lists the members of a team by id; only public members of the organisation if `publicOnly`. */
export function listTeamMembers(
  db: Db,
  teamId: number,
  publicOnly: boolean,
  offset: number,
  limit: number,
): Promise<User[]> {
  return selectTeamMembers(db, teamId, publicOnly)
    .innerJoin('users', 'users.id', 'team_members.user_id')
    .selectAll('users')
    .orderBy('team_members.user_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countTeamMembers(
  db: Db,
  teamId: number,
  publicOnly: boolean,
): Promise<number> {
  const { count } = await selectTeamMembers(db, teamId, publicOnly)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectTeamMembers(db: Db, teamId: number, publicOnly: boolean) {
  return db
    .selectFrom('team_members')
    .where('team_members.team_id', '=', teamId)
    .$if(publicOnly, (query) =>
      query.where((eb) =>
        eb.exists(
          eb
            .selectFrom('organization_members')
            .innerJoin('teams', 'teams.organization_id', 'organization_members.organization_id')
            .select('organization_members.user_id')
            .whereRef('organization_members.user_id', '=', 'team_members.user_id')
            .where('teams.id', '=', teamId)
            .where('organization_members.is_public', '=', 1),
        ),
      ),
    )
}

/** Adds a user to a team. Does nothing if the user is a member. */
export async function insertTeamMember(tx: Tx, teamId: number, userId: number): Promise<void> {
  await tx
    .insertInto('team_members')
    .values({ team_id: teamId, user_id: userId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/**
 * Removes a user from a team.
 *
 * @returns whether the user was a member.
 */
export async function deleteTeamMember(tx: Tx, teamId: number, userId: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('team_members')
    .where('team_id', '=', teamId)
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Removes a user from all teams of an organisation. */
export async function deleteFromTeams(
  tx: Tx,
  organizationId: number,
  userId: number,
): Promise<void> {
  await tx
    .deleteFrom('team_members')
    .where('user_id', '=', userId)
    .where('team_id', 'in', (eb) =>
      eb.selectFrom('teams').select('id').where('organization_id', '=', organizationId),
    )
    .execute()
}

/** Returns an organisation whose only owner is the user; undefined if there is none. */
export async function findOnlyOwned(
  tx: Tx,
  userId: number,
  organizationId?: number,
): Promise<{ readonly name: string } | undefined> {
  return tx
    .selectFrom('team_members')
    .innerJoin('teams', 'teams.id', 'team_members.team_id')
    .innerJoin('organizations', 'organizations.id', 'teams.organization_id')
    .select('organizations.name')
    .where('team_members.user_id', '=', userId)
    .where('teams.permission', '=', 'owner')
    .$if(organizationId !== undefined, (query) =>
      query.where('teams.organization_id', '=', organizationId ?? 0),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('team_members as other')
            .select('other.user_id')
            .whereRef('other.team_id', '=', 'teams.id')
            .where('other.user_id', '<>', userId),
        ),
      ),
    )
    .limit(1)
    .executeTakeFirst()
}
