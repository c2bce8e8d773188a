import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { User, Visibility } from '../../core/schema.ts'
import { type RepositoryReader, readableBy } from '../access/repository-readers.rows.ts'
import type { Repository, RepositorySubscription } from '../schema.ts'

/** Returns the subscription of a user to a repository, if there is one. */
export function findRepositorySubscription(
  db: Db,
  repositoryId: number,
  userId: number,
): Promise<RepositorySubscription | undefined> {
  return db
    .selectFrom('repository_subscriptions')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
}

/** Inserts a subscription, or changes the mode of one. */
export function putRepositorySubscription(
  tx: Tx,
  subscription: RepositorySubscription,
): Promise<RepositorySubscription> {
  const { mode } = subscription
  return tx
    .insertInto('repository_subscriptions')
    .values(subscription)
    .onConflict((conflict) => conflict.columns(['repository_id', 'user_id']).doUpdateSet({ mode }))
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a subscription if there is one. */
export async function deleteRepositorySubscription(
  tx: Tx,
  repositoryId: number,
  userId: number,
): Promise<void> {
  await tx
    .deleteFrom('repository_subscriptions')
    .where('repository_id', '=', repositoryId)
    .where('user_id', '=', userId)
    .execute()
}

/** The watchers of a repository that a viewer may see. */
interface WatcherSearch {
  readonly repositoryId: number
  /** Visibilities of users to find. The viewer is always found. */
  readonly visible: readonly Visibility[]
  /** 0 for an anonymous viewer. */
  readonly viewerId: number
}

/** Returns active watchers of a repository, by id. */
export function listWatchers(
  db: Db,
  search: WatcherSearch,
  offset: number,
  limit: number,
): Promise<User[]> {
  return selectWatchers(db, search)
    .selectAll('users')
    .orderBy('repository_subscriptions.user_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of watchers in that list. */
export async function countWatchers(db: Db, search: WatcherSearch): Promise<number> {
  const { count } = await selectWatchers(db, search)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectWatchers(db: Db, { repositoryId, visible, viewerId }: WatcherSearch) {
  return db
    .selectFrom('repository_subscriptions')
    .innerJoin('users', 'users.id', 'repository_subscriptions.user_id')
    .where('repository_subscriptions.repository_id', '=', repositoryId)
    .where('repository_subscriptions.mode', '=', 'WATCHING')
    .where('users.state', '=', 'NORMAL')
    .where((eb) => eb.or([eb('users.visibility', 'in', visible), eb('users.id', '=', viewerId)]))
}

/** Returns the repositories that a user watches and a reader may read, by id. */
export function listWatched(
  db: Db,
  userId: number,
  reader: RepositoryReader,
  offset: number,
  limit: number,
): Promise<Repository[]> {
  return selectWatched(db, userId, reader)
    .selectAll('repositories')
    .orderBy('repositories.id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of repositories in that list. */
export async function countWatched(
  db: Db,
  userId: number,
  reader: RepositoryReader,
): Promise<number> {
  const { count } = await selectWatched(db, userId, reader)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectWatched(db: Db, userId: number, reader: RepositoryReader) {
  return db
    .selectFrom('repositories')
    .where('repositories.id', 'in', (eb) =>
      eb
        .selectFrom('repository_subscriptions')
        .select('repository_id')
        .where('user_id', '=', userId)
        .where('mode', '=', 'WATCHING'),
    )
    .where(readableBy(reader))
}
