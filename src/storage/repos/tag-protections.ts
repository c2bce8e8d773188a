import { prepareQuery } from '../database/prepared.ts'
import type { TagProtection } from '../schema/repos.ts'
import type { Db, Tx } from '../schema/schema.ts'

const protectionsOf = prepareQuery((db, repositoryId: number) =>
  db
    .selectFrom('tag_protections')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('id'),
)

const usersOf = prepareQuery((db, repositoryId: number) =>
  db
    .selectFrom('tag_protection_users')
    .innerJoin('tag_protections', 'tag_protections.id', 'protection_id')
    .innerJoin('users', 'users.id', 'tag_protection_users.user_id')
    .select(['protection_id', 'users.id', 'users.username as name'])
    .where('repository_id', '=', repositoryId)
    .orderBy('users.id'),
)

// A repository that has passed to another owner has left the teams of the former one behind.
const teamsOf = prepareQuery((db, repositoryId: number) =>
  selectTeams(db)
    .select(['protection_id', 'teams.id', 'teams.name'])
    .where('repositories.id', '=', repositoryId),
)

const exemptionsByTeam = prepareQuery((db, repositoryId: number, userId: number) =>
  selectTeams(db)
    .innerJoin('team_members', 'team_members.team_id', 'teams.id')
    .select('protection_id')
    .where('repositories.id', '=', repositoryId)
    .where('team_members.user_id', '=', userId),
)

/** The lists of teams, as far as the teams are those of the repository's owner. */
function selectTeams(db: Db) {
  return db
    .selectFrom('tag_protection_teams')
    .innerJoin('tag_protections', 'tag_protections.id', 'protection_id')
    .innerJoin('repositories', 'repositories.id', 'tag_protections.repository_id')
    .innerJoin('teams', (join) =>
      join
        .onRef('teams.id', '=', 'tag_protection_teams.team_id')
        .onRef('teams.organization_id', '=', 'repositories.owner_id'),
    )
    .orderBy('teams.id')
}

/** All rules of a repository, oldest first. */
export async function listTagProtections(db: Db, repositoryId: number): Promise<TagProtection[]> {
  const rules = await protectionsOf(db, repositoryId)
  if (rules.length === 0) return []
  const users = await usersOf(db, repositoryId)
  const teams = await teamsOf(db, repositoryId)
  return rules.map((rule) => ({
    ...rule,
    users: users.filter(({ protection_id }) => protection_id === rule.id),
    teams: teams.filter(({ protection_id }) => protection_id === rule.id),
  }))
}

/** The patterns of a repository's rules, by their ids. */
export async function listTagPatterns(
  db: Db,
  repositoryId: number,
): Promise<ReadonlyMap<number, string>> {
  const rules = await protectionsOf(db, repositoryId)
  return new Map(rules.map(({ id, name_pattern }) => [id, name_pattern]))
}

/** The ids of the rules that exempt a user, or a team that the user is in. */
export async function findExemptions(
  db: Db,
  repositoryId: number,
  userId: number,
): Promise<ReadonlySet<number>> {
  const own = (await usersOf(db, repositoryId)).filter(({ id }) => id === userId)
  const byTeam = await exemptionsByTeam(db, repositoryId, userId)
  return new Set([...own, ...byTeam].map(({ protection_id }) => protection_id))
}

/** How many rules a repository has. */
export async function countTagProtections(db: Db, repositoryId: number): Promise<number> {
  const { count } = await db
    .selectFrom('tag_protections')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Stores a rule that exempts nobody yet.
 *
 * @returns its id.
 * @throws a unique violation when the repository has one of that pattern.
 */
export async function insertTagProtection(
  tx: Tx,
  repositoryId: number,
  pattern: string,
  createTime: number,
): Promise<number> {
  const row = {
    repository_id: repositoryId,
    name_pattern: pattern,
    create_time: createTime,
    update_time: createTime,
  }
  const { id } = await tx
    .insertInto('tag_protections')
    .values(row)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** @throws a unique violation when the repository has another rule of that pattern. */
export async function updateTagProtection(
  tx: Tx,
  id: number,
  pattern: string,
  updateTime: number,
): Promise<void> {
  await tx
    .updateTable('tag_protections')
    .set({ name_pattern: pattern, update_time: updateTime })
    .where('id', '=', id)
    .execute()
}

/** Replaces the users whom a rule exempts. */
export async function setTagProtectionUsers(
  tx: Tx,
  id: number,
  userIds: readonly number[],
): Promise<void> {
  await tx.deleteFrom('tag_protection_users').where('protection_id', '=', id).execute()
  if (userIds.length === 0) return
  const rows = userIds.map((user_id) => ({ protection_id: id, user_id }))
  await tx.insertInto('tag_protection_users').values(rows).execute()
}

/** Replaces the teams whose members a rule exempts. */
export async function setTagProtectionTeams(
  tx: Tx,
  id: number,
  teamIds: readonly number[],
): Promise<void> {
  await tx.deleteFrom('tag_protection_teams').where('protection_id', '=', id).execute()
  if (teamIds.length === 0) return
  const rows = teamIds.map((team_id) => ({ protection_id: id, team_id }))
  await tx.insertInto('tag_protection_teams').values(rows).execute()
}

/** @returns whether it was there. */
export async function deleteTagProtection(tx: Tx, id: number): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('tag_protections')
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}
