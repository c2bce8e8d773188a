import { sql } from 'kysely'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db } from '../../../platform/database/schema.ts'
import type { TeamsTable } from '../../organizations/schema.ts'

/**
 * A grant for a repository: that of a collaborator, or that of a team of the organisation that owns
 * the repository.
 */
export type RepositoryGrant =
  | { readonly kind: 'collaborator'; readonly level: TeamsTable['permission'] }
  | {
      readonly kind: 'team'
      readonly permission: TeamsTable['permission']
      /** The level of each unit, such as `repo.code`. */
      readonly units: Readonly<Record<string, unknown>>
      /**
       * Whether the team has access to the repository. If not, the grant only shows that the user
       * is a member of the team.
       */
      readonly applies: boolean
    }

interface GrantRow {
  user_id: number
  repository_id: number
  permission: TeamsTable['permission']
  /** Null for a collaborator. */
  units: string | null
  applies: number
}

const grantsOnOne = prepareQuery((db, userId: number, repositoryId: number) =>
  collaboratorGrants(db)
    .where('collaborators.user_id', '=', userId)
    .where('collaborators.repository_id', '=', repositoryId)
    .unionAll(
      teamGrants(db)
        .where('team_members.user_id', '=', userId)
        .where('repositories.id', '=', repositoryId),
    ),
)

/** Returns the grants of a user for a repository. */
export async function findGrants(
  db: Db,
  userId: number,
  repositoryId: number,
): Promise<RepositoryGrant[]> {
  return (await grantsOnOne(db, userId, repositoryId)).map(toGrant)
}

/**
 * Returns the grants of a user for repositories, by repository id. Repositories without grants are
 * left out.
 */
export async function findGrantsOn(
  db: Db,
  userId: number,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, RepositoryGrant[]>> {
  if (repositoryIds.length === 0) return new Map()
  const rows = await grantsOnSeveral(db, userId, JSON.stringify(repositoryIds))
  return groupGrants(rows, ({ repository_id }) => repository_id)
}

const grantsOnSeveral = prepareQuery((db, userId: number, repositoryIds: string) =>
  collaboratorGrants(db)
    .where('collaborators.user_id', '=', userId)
    .where('collaborators.repository_id', 'in', numbersOf(repositoryIds))
    .unionAll(
      teamGrants(db)
        .where('team_members.user_id', '=', userId)
        .where('repositories.id', 'in', numbersOf(repositoryIds)),
    ),
)

/**
 * Returns the grants of users for one repository, by user id. Users without grants are left out.
 */
export async function findGrantsTo(
  db: Db,
  userIds: readonly number[],
  repositoryId: number,
): Promise<ReadonlyMap<number, RepositoryGrant[]>> {
  if (userIds.length === 0) return new Map()
  const rows = await collaboratorGrants(db)
    .where('collaborators.user_id', 'in', userIds)
    .where('collaborators.repository_id', '=', repositoryId)
    .unionAll(
      teamGrants(db)
        .where('team_members.user_id', 'in', userIds)
        .where('repositories.id', '=', repositoryId),
    )
    .execute()
  return groupGrants(rows, ({ user_id }) => user_id)
}

function groupGrants(
  rows: readonly GrantRow[],
  keyOf: (row: GrantRow) => number,
): Map<number, RepositoryGrant[]> {
  const grants = new Map<number, RepositoryGrant[]>()
  for (const row of rows) {
    const others = grants.get(keyOf(row))
    if (others) others.push(toGrant(row))
    else grants.set(keyOf(row), [toGrant(row)])
  }
  return grants
}

function toGrant({ permission, units, applies }: GrantRow): RepositoryGrant {
  if (units === null) return { kind: 'collaborator', level: permission }
  return { kind: 'team', permission, units: JSON.parse(units), applies: applies === 1 }
}

function collaboratorGrants(db: Db) {
  return db
    .selectFrom('collaborators')
    .select([
      'user_id',
      'repository_id',
      'level as permission',
      sql.lit(null).as('units'),
      sql.lit(1).as('applies'),
    ])
    .$castTo<GrantRow>()
}

/** Starts with the few teams of the user. A CROSS JOIN in SQLite keeps the order of its tables. */
function teamGrants(db: Db) {
  return db
    .selectFrom('team_members')
    .crossJoin('teams')
    .crossJoin('repositories')
    .whereRef('teams.id', '=', 'team_members.team_id')
    .whereRef('repositories.owner_id', '=', 'teams.organization_id')
    .select(({ eb, exists, or, selectFrom }) => [
      'team_members.user_id',
      'repositories.id as repository_id',
      'teams.permission',
      'teams.units',
      eb
        .cast<number>(
          or([
            eb('teams.permission', '=', sql.lit('owner' as const)),
            eb('teams.includes_all_repositories', '=', sql.lit(1)),
            exists(
              selectFrom('team_repositories')
                .select('team_id')
                .whereRef('team_repositories.team_id', '=', 'teams.id')
                .whereRef('team_repositories.repository_id', '=', 'repositories.id'),
            ),
          ]),
          'integer',
        )
        .as('applies'),
    ])
    .$castTo<GrantRow>()
}
