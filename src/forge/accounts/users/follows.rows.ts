import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { User } from '../../core/schema.ts'
import type { FollowsTable } from '../schema.ts'
import { selectHiddenUsers, type UserViewer, usersOfPage } from './user-search.rows.ts'

/** One side of a follow. Lists have the users of the other side. */
type Side = 'follower_id' | 'followed_id'

const OTHER_SIDE = { follower_id: 'followed_id', followed_id: 'follower_id' } as const

/** Stores that a user follows another one. Has no effect if the user does already. */
export async function insertFollow(tx: Tx, follow: FollowsTable): Promise<void> {
  await tx
    .insertInto('follows')
    .values(follow)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Ends that a user follows another one, if the user does. */
export async function deleteFollow(db: Db, followerId: number, followedId: number): Promise<void> {
  await db
    .deleteFrom('follows')
    .where('follower_id', '=', followerId)
    .where('followed_id', '=', followedId)
    .execute()
}

export async function followExists(
  db: Db,
  followerId: number,
  followedId: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('follows')
    .select('follower_id')
    .where('follower_id', '=', followerId)
    .where('followed_id', '=', followedId)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Lists those who follow a user, or whom a user follows, that a viewer may see, in the order in
 * which that began.
 *
 * @param side the side of the given user: 'followed_id' for a list of followers.
 */
export function listFollows(
  db: Db,
  side: Side,
  userId: number,
  viewer: UserViewer,
  page: { readonly offset: number; readonly limit: number },
): Promise<User[]> {
  const other = OTHER_SIDE[side]
  // The index alone skips what is before the page.
  const listed = db
    .selectFrom('follows')
    .select([`${other} as user_id`, 'create_time as time'])
    .where(side, '=', userId)
    .where(other, 'not in', (eb) => selectHiddenUsers(eb, viewer))
    .orderBy('create_time')
    .orderBy(other)
    .limit(page.limit)
    .offset(page.offset)
  return usersOfPage(db, listed)
}

/** Returns the number of users that such a list would have if the viewer could see them. */
export async function countHiddenFollows(
  db: Db,
  side: Side,
  userId: number,
  viewer: UserViewer,
): Promise<number> {
  const { count } = await db
    .selectFrom('follows')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where(side, '=', userId)
    .where(OTHER_SIDE[side], 'in', (eb) => selectHiddenUsers(eb, viewer))
    .executeTakeFirstOrThrow()
  return count
}
