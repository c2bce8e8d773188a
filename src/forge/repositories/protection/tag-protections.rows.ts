import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { TagProtection } from './schema.ts'

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

// A transferred repository no longer belongs to teams of its former owner.
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

/** Joins the exemptions with the teams of the repository's owner. */
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

/** Returns the rules of a repository, oldest first. */
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

/** Returns the patterns of a repository's rules, by rule id. */
export async function listTagPatterns(
  db: Db,
  repositoryId: number,
): Promise<ReadonlyMap<number, string>> {
  const rules = await protectionsOf(db, repositoryId)
  return new Map(rules.map(({ id, name_pattern }) => [id, name_pattern]))
}

/** Returns the ids of the rules that exempt a user, by name or as a member of a team. */
export async function findExemptions(
  db: Db,
  repositoryId: number,
  userId: number,
): Promise<ReadonlySet<number>> {
  const own = (await usersOf(db, repositoryId)).filter(({ id }) => id === userId)
  const byTeam = await exemptionsByTeam(db, repositoryId, userId)
  return new Set([...own, ...byTeam].map(({ protection_id }) => protection_id))
}

/** Returns the number of rules of a repository. */
export async function countTagProtections(db: Db, repositoryId: number): Promise<number> {
  const { count } = await db
    .selectFrom('tag_protections')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Inserts a rule without exemptions.
 *
 * @returns the id of the rule
 * @throws a unique violation if the repository has a rule with that pattern
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

/** @throws a unique violation if the repository has another rule with that pattern */
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

/** Replaces the users that a rule exempts. */
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

/** @returns whether the rule existed */
export async function deleteTagProtection(tx: Tx, id: number): Promise<boolean> {
  const deleted = await tx
    .deleteFrom('tag_protections')
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst()
  return deleted !== undefined
}
