import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { User } from '../../core/schema.ts'
import type { Collaborator } from '../schema.ts'

/** Returns collaborators of a repository, by id. */
export function listCollaborators(
  db: Db,
  repositoryId: number,
  offset: number,
  limit: number,
): Promise<User[]> {
  return db
    .selectFrom('collaborators')
    .innerJoin('users', 'users.id', 'collaborators.user_id')
    .selectAll('users')
    .where('collaborators.repository_id', '=', repositoryId)
    .orderBy('collaborators.user_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of collaborators in that list. */
export async function countCollaborators(db: Db, repositoryId: number): Promise<number> {
  const { count } = await db
    .selectFrom('collaborators')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return count
}

/** Returns the collaborator with a user id, if there is one. */
export function findCollaborator(
  db: Db,
  repositoryId: number,
  userId: number,
): Promise<Collaborator | undefined> {
  return db
    .selectFrom('collaborators')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/** Inserts or updates a collaborator. */
export async function putCollaborator(tx: Tx, collaborator: Collaborator): Promise<void> {
  const { level } = collaborator
  await tx
    .insertInto('collaborators')
    .values(collaborator)
    .onConflict((conflict) => conflict.columns(['repository_id', 'user_id']).doUpdateSet({ level }))
    .execute()
}

/** Deletes a collaborator if there is one. */
export async function deleteCollaborator(
  tx: Tx,
  repositoryId: number,
  userId: number,
): Promise<void> {
  await tx
    .deleteFrom('collaborators')
    .where('repository_id', '=', repositoryId)
    .where('user_id', '=', userId)
    .execute()
}

/** Removes a user from the collaborators of all repositories of an owner. */
export async function deleteCollaborationsWith(
  tx: Tx,
  ownerId: number,
  userId: number,
): Promise<void> {
  await tx
    .deleteFrom('collaborators')
    .where('user_id', '=', userId)
    .where('repository_id', 'in', (eb) =>
      eb.selectFrom('repositories').select('id').where('owner_id', '=', ownerId),
    )
    .execute()
}

/**
 * Returns the active users that may have access to a repository: its owner, its collaborators, and
 * the members of the teams of its organisation, by name. `repository-grants.ts` has
 * their levels.
 */
export function listParticipants(
  db: Db,
  { id, owner_id }: { readonly id: number; readonly owner_id: number },
  limit: number,
): Promise<User[]> {
  return db
    .selectFrom('users')
    .selectAll()
    .where('state', '=', 'NORMAL')
    .where(({ eb, or }) =>
      or([
        eb('id', '=', owner_id),
        eb(
          'id',
          'in',
          db.selectFrom('collaborators').select('user_id').where('repository_id', '=', id),
        ),
        eb(
          'id',
          'in',
          db
            .selectFrom('teams')
            .innerJoin('team_members', 'team_members.team_id', 'teams.id')
            .select('team_members.user_id')
            .where('teams.organization_id', '=', owner_id),
        ),
      ]),
    )
    .orderBy((eb) => eb.fn('lower', ['username']))
    .limit(limit)
    .execute()
}
