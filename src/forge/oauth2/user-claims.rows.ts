import type { Db } from '../../platform/database/schema.ts'

/**
 * Returns the names of the organisations of a user, and their teams that the user is in, as
 * `organisation:team`. They have the form that compatible systems give them.
 */
export async function listGroupsOfUser(db: Db, userId: number): Promise<string[]> {
  const organizations = await db
    .selectFrom('organization_members as member')
    .innerJoin('organizations', 'organizations.id', 'member.organization_id')
    .select('organizations.name')
    .where('member.user_id', '=', userId)
    .orderBy('organizations.name_key')
    .execute()
  const teams = await db
    .selectFrom('team_members as member')
    .innerJoin('teams', 'teams.id', 'member.team_id')
    .innerJoin('organizations', 'organizations.id', 'teams.organization_id')
    .select(['organizations.name', 'teams.name as team'])
    .where('member.user_id', '=', userId)
    .orderBy('organizations.name_key')
    .orderBy('teams.id')
    .execute()
  return [
    ...organizations.map(({ name }) => name),
    ...teams.map(({ name, team }) => `${name}:${team.toLowerCase()}`),
  ]
}
