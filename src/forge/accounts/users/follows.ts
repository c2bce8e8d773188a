import { transaction } from '../../../platform/database/database.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import type { AccountsApp } from '../ports.ts'
import type { Owner } from '../schema.ts'
import { isBlocked } from './blocks.ts'
import * as rows from './follows.rows.ts'
import { getOwner, type NumberedUserPage, userAsOwner, userViewer } from './owners.ts'

/** The two lists of an account. */
export type FollowList = 'followers' | 'following'

/**
 * Lists those who follow an account, or whom it follows, that the caller may see. Organisations
 * have neither.
 */
export async function listFollowsOf(
  app: AccountsApp,
  caller: Caller,
  username: string,
  list: FollowList,
  page: Page,
): Promise<NumberedUserPage> {
  return listOf(app, caller, await getOwner(app, caller, username), list, page)
}

/** Lists those who follow the caller, or whom the caller follows. */
export function listMyFollows(
  app: AccountsApp,
  caller: SignedIn,
  list: FollowList,
  page: Page,
): Promise<NumberedUserPage> {
  return listOf(app, caller, userAsOwner(caller.user), list, page)
}

async function listOf(
  app: AccountsApp,
  caller: Caller,
  owner: Owner,
  list: FollowList,
  page: Page,
): Promise<NumberedUserPage> {
  const viewer = userViewer(caller)
  const side = list === 'followers' ? 'followed_id' : 'follower_id'
  const users = await rows.listFollows(app.db, side, owner.id, viewer, page)
  const hidden = await rows.countHiddenFollows(app.db, side, owner.id, viewer)
  return { users, total: owner[`${list}_count`] - hidden }
}

/** Checks that an account follows another one. */
export async function checkFollowing(
  app: AccountsApp,
  caller: Caller,
  username: string,
  target: string,
): Promise<void> {
  const follower = await getOwner(app, caller, username)
  const followed = await getOwner(app, caller, target)
  if (!(await rows.followExists(app.db, follower.id, followed.id)))
    throw new DomainError('FOLLOW_NOT_FOUND')
}

/** Makes the caller follow a user. */
export async function followUser(
  app: AccountsApp,
  caller: SignedIn,
  username: string,
): Promise<void> {
  const { id, kind } = await getOwner(app, caller, username)
  if (kind !== 'USER' || id === caller.user.id) throw new DomainError('CANNOT_FOLLOW', { username })
  await transaction(app.db, async (tx) => {
    const own = { ...app, db: tx }
    // The account may have been deleted since.
    const followed = await getOwner(own, caller, username)
    const isUnwelcome =
      (await isBlocked(own, [followed.id], caller.user.id)) ||
      (await isBlocked(own, [caller.user.id], followed.id))
    if (isUnwelcome) throw new DomainError('USER_BLOCKED')
    await rows.insertFollow(tx, {
      follower_id: caller.user.id,
      followed_id: followed.id,
      create_time: nowSeconds(app.clock),
    })
  })
}

/** Ends that the caller follows a user, if the caller does. */
export async function unfollowUser(
  app: AccountsApp,
  caller: SignedIn,
  username: string,
): Promise<void> {
  const { id } = await getOwner(app, caller, username)
  await rows.deleteFollow(app.db, caller.user.id, id)
}
