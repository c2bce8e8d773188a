import { prepareFirst } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { User } from '../core/schema.ts'

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
