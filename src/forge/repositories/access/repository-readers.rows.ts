import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { either } from '../../../platform/database/dialects/dialects.ts'
import type { Schema } from '../../../platform/database/schema.ts'

/** The properties of a caller that decide about read access to repositories. */
export interface RepositoryReader {
  /** Undefined for an anonymous caller. */
  readonly userId: number | undefined
  /** Whether the caller can read nothing, because the instance requires sign-in. */
  readonly needsSignIn: boolean
  /** Whether the caller can read only repositories with an explicit grant. */
  readonly restricted: boolean
  /** Whether the caller can read only public repositories. */
  readonly publicOnly: boolean
  /** Whether the caller can read or change everything as an administrator. */
  readonly administrator: 'none' | 'read' | 'write'
}

/** The unit names of teams. A repository is readable if at least one unit is. */
export const TEAM_UNITS = {
  code: 'repo.code',
  issues: 'repo.issues',
  pulls: 'repo.pulls',
  releases: 'repo.releases',
} as const

type TeamUnit = keyof typeof TEAM_UNITS

type Repositories = ExpressionBuilder<Schema, 'repositories'>

/**
 * Returns the condition under which a row of `repositories` is readable, for lists. It expresses
 * the same rule as `decideAccess` of `permissions.ts`.
 *
 * @param unit the feature to read. Without it, any one is enough.
 */
export function readableBy(
  reader: RepositoryReader,
  unit?: TeamUnit,
): (eb: Repositories) => Expression<SqlBool> {
  const { userId, needsSignIn, restricted, publicOnly, administrator } = reader
  return (eb) => {
    if (needsSignIn) return sql<SqlBool>`false`
    const isOpen = () => isOpenTo(eb, 'everybody')
    const given = () => {
      if (administrator !== 'none') return sql<SqlBool>`true`
      if (userId === undefined) return isOpen()
      return readableToUser(userId, restricted ? 'restricted' : 'unrestricted', unit)(eb)
    }
    return publicOnly ? eb.and([isOpen(), given()]) : given()
  }
}

/** Readers of a public repository without a grant, by the visibility of its owner. */
export type OpenTo = 'everybody' | 'accounts'

const VISIBLE_OWNERS: Readonly<Record<OpenTo, readonly ('public' | 'limited')[]>> = {
  everybody: ['public'],
  accounts: ['public', 'limited'],
}

/** The condition for the repositories that some readers need no grant for. */
export function isOpenTo(eb: Repositories, readers: OpenTo): Expression<SqlBool> {
  const hidden = hiddenOwners(eb, readers)
  return eb.and([isPublic(eb), eb('repositories.owner_id', 'not in', hidden)])
}

/** The condition for the public repositories that some readers need a grant for. */
export function isHiddenFrom(eb: Repositories, readers: OpenTo): Expression<SqlBool> {
  const hidden = hiddenOwners(eb, readers)
  return eb.and([isPublic(eb), eb('repositories.owner_id', 'in', hidden)])
}

/**
 * The condition for the repositories of the owners, collaborations and teams of a user. All that a
 * user reads and that is not open to all accounts is among them. Indexes find them.
 */
export function isNearTo(eb: Repositories, userId: number): Expression<SqlBool> {
  const owned = eb
    .selectFrom('repositories as near')
    .select('near.id')
    .where(({ eb: of }) =>
      of.or([
        of('near.owner_id', '=', userId),
        of('near.owner_id', 'in', teamsOf(eb, userId).select('teams.organization_id')),
      ]),
    )
  return eb('repositories.id', 'in', owned.unionAll(sharedWith(eb, userId)))
}

/** The id of a user, or the column that has the id. */
type UserId = number | Expression<number>

/**
 * Returns the condition under which a row of `repositories` is readable to a user who is no
 * administrator.
 */
export function readableToUser(
  userId: UserId,
  kind: 'restricted' | 'unrestricted',
  unit?: TeamUnit,
): (eb: Repositories) => Expression<SqlBool> {
  return (eb) => {
    const open = [isOpenTo(eb, 'accounts'), eb.and([isPublic(eb), isOfOrganizationOf(eb, userId)])]
    return eb.or([
      eb('repositories.owner_id', '=', userId),
      ...(kind === 'restricted' ? [] : open),
      isSharedWith(eb, userId),
      isOfTeamThatHasAll(eb, userId, unit),
      isOfTeam(eb, userId, unit),
    ])
  }
}

function isPublic(eb: Repositories): Expression<SqlBool> {
  return eb('repositories.private', '=', sql.lit(0))
}

/** Owners with limited visibility are few. Indexes find them with one query. */
function hiddenOwners(eb: Repositories, readers: OpenTo) {
  const hidden = (table: 'users' | 'organizations') =>
    eb
      .selectFrom(table)
      .select('id')
      .where('visibility', '<>', sql.lit('public' as const))
      .where(
        'visibility',
        'not in',
        VISIBLE_OWNERS[readers].map((visibility) => sql.lit(visibility)),
      )
  return hidden('users').unionAll(hidden('organizations'))
}

/** The repositories that are shared with a user as a collaborator. */
function sharedWith(eb: Repositories, userId: UserId) {
  return eb.selectFrom('collaborators').select('repository_id as id').where('user_id', '=', userId)
}

function isSharedWith(eb: Repositories, userId: UserId): Expression<SqlBool> {
  return eb('repositories.id', 'in', sharedWith(eb, userId))
}

function isOfOrganizationOf(eb: Repositories, userId: UserId): Expression<SqlBool> {
  return eb('repositories.owner_id', 'in', teamsOf(eb, userId).select('teams.organization_id'))
}

function isOfTeamThatHasAll(
  eb: Repositories,
  userId: UserId,
  unit: TeamUnit | undefined,
): Expression<SqlBool> {
  const organizations = teamsOf(eb, userId)
    .select('teams.organization_id')
    .where((team) =>
      team.or([
        team('teams.permission', '=', 'owner'),
        team.and([team('teams.includes_all_repositories', '=', 1), reads(unit)]),
      ]),
    )
  return eb('repositories.owner_id', 'in', organizations)
}

function isOfTeam(
  eb: Repositories,
  userId: UserId,
  unit: TeamUnit | undefined,
): Expression<SqlBool> {
  const assigned = teamsOf(eb, userId)
    .innerJoin('team_repositories', 'team_repositories.team_id', 'teams.id')
    // Teams lose a repository that is transferred to another owner.
    .innerJoin('repositories as owned', (join) =>
      join
        .onRef('owned.id', '=', 'team_repositories.repository_id')
        .onRef('owned.owner_id', '=', 'teams.organization_id'),
    )
    .select('team_repositories.repository_id')
    .where(reads(unit))
  return eb('repositories.id', 'in', assigned)
}

function teamsOf(eb: Repositories, userId: UserId) {
  return eb
    .selectFrom('team_members')
    .innerJoin('teams', 'teams.id', 'team_members.team_id')
    .where('team_members.user_id', '=', userId)
}

/** The level of a unit in the units of a team, which are JSON. */
function unitLevel(unit: string): Expression<string> {
  return either({
    sqlite: sql`teams.units ->> ${sql.lit(unit)}`,
    postgres: sql`teams.units::json ->> ${sql.lit(unit)}`,
  })
}

/** The condition under which a team can read a unit or, without one, at least one of them. */
function reads(unit: TeamUnit | undefined): Expression<SqlBool> {
  const names = unit === undefined ? Object.values(TEAM_UNITS) : [TEAM_UNITS[unit]]
  const opened = names.map(
    (name) => sql<SqlBool>`${unitLevel(name)} in ('read', 'write', 'admin', 'owner')`,
  )
  return sql<SqlBool>`(teams.permission in ('admin', 'owner') or ${sql.join(opened, sql` or `)})`
}
