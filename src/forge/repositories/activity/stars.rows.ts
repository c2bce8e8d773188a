import type { Db, Tx } from '../../../platform/database/schema.ts'
import {
  selectHiddenUsers,
  type UserViewer,
  usersOfPage,
} from '../../accounts/users/user-search.rows.ts'
import type { User } from '../../core/schema.ts'
import { type RepositoryReader, readableBy } from '../access/repository-readers.rows.ts'
import { findRepositoriesByIds } from '../lifecycle/repositories.rows.ts'
import type { Repository, StarsTable } from '../schema.ts'

/** Stores that a user has starred a repository. Has no effect if the user has already. */
export async function insertStar(tx: Tx, star: StarsTable): Promise<void> {
  await tx
    .insertInto('stars')
    .values(star)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Removes the star of a user, if there is one. */
export async function deleteStar(db: Db, userId: number, repositoryId: number): Promise<void> {
  await db
    .deleteFrom('stars')
    .where('user_id', '=', userId)
    .where('repository_id', '=', repositoryId)
    .execute()
}

/** Removes the stars of a user on all repositories of an owner. */
export async function deleteStarsOn(tx: Tx, ownerId: number, userId: number): Promise<void> {
  await tx
    .deleteFrom('stars')
    .where('user_id', '=', userId)
    .where('repository_id', 'in', (eb) =>
      eb.selectFrom('repositories').select('id').where('owner_id', '=', ownerId),
    )
    .execute()
}

export async function starExists(db: Db, userId: number, repositoryId: number): Promise<boolean> {
  const row = await db
    .selectFrom('stars')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
  return row !== undefined
}

/** Lists the users who have starred a repository and whom a viewer may see, oldest star first. */
export function listStargazers(
  db: Db,
  repositoryId: number,
  viewer: UserViewer,
  offset: number,
  limit: number,
): Promise<User[]> {
  // The index alone skips what is before the page.
  const page = db
    .selectFrom('stars')
    .select(['user_id', 'create_time as time'])
    .where('repository_id', '=', repositoryId)
    .where('user_id', 'not in', (eb) => selectHiddenUsers(eb, viewer))
    .orderBy('create_time')
    .orderBy('user_id')
    .limit(limit)
    .offset(offset)
  return usersOfPage(db, page)
}

/** Returns the number of users who have starred a repository and whom a viewer may not see. */
export async function countHiddenStargazers(
  db: Db,
  repositoryId: number,
  viewer: UserViewer,
): Promise<number> {
  const { count } = await db
    .selectFrom('stars')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .where('user_id', 'in', (eb) => selectHiddenUsers(eb, viewer))
    .executeTakeFirstOrThrow()
  return count
}

/** Lists the repositories that a user has starred and a reader can access, latest star first. */
export async function listStarredRepositories(
  db: Db,
  userId: number,
  reader: RepositoryReader,
  offset: number,
  limit: number,
): Promise<Repository[]> {
  const page = await selectStarred(db, userId, reader)
    .select('stars.repository_id')
    .orderBy('stars.create_time', 'desc')
    .orderBy('stars.repository_id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  const found = await findRepositoriesByIds(
    db,
    page.map(({ repository_id }) => repository_id),
  )
  return page.flatMap(({ repository_id }) => found.get(repository_id) ?? [])
}

/** Returns the number of repositories in that list. */
export async function countStarredRepositories(
  db: Db,
  userId: number,
  reader: RepositoryReader,
): Promise<number> {
  const { count } = await selectStarred(db, userId, reader)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectStarred(db: Db, userId: number, reader: RepositoryReader) {
  return db
    .selectFrom('stars')
    .where('stars.user_id', '=', userId)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('repositories')
          .select('repositories.id')
          .whereRef('repositories.id', '=', 'stars.repository_id')
          .where(readableBy(reader)),
      ),
    )
}
