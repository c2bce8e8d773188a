import { transaction } from '../../../platform/database/database.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import { findMembership } from '../../organizations/organizations.rows.ts'
import { deleteCollaborationsWith } from '../../repositories/access/collaborators.rows.ts'
import { forgetUnreadable } from '../../repositories/access/lost-access.rows.ts'
import { deleteStarsOn } from '../../repositories/activity/stars.rows.ts'
import type { AccountsApp } from '../ports.ts'
import * as rows from './blocks.rows.ts'
import { deleteFollow } from './follows.rows.ts'
import { findUserByUsername, getUserByUsername } from './owners.ts'
import { checkLength } from './user-fields.ts'

/** The limit of compatible systems. */
const MAX_NOTE_CHARACTERS = 250

/**
 * Returns whether any of some accounts has blocked a user. A blocked user cannot fork the blocker's
 * repositories, comment or open pull requests there, or be given access to them.
 *
 * @param blockerIds users and organisations, such as the owner of a repository and the author to
 *   reply to.
 */
export function isBlocked(
  app: AccountsApp,
  blockerIds: readonly number[],
  userId: number,
): Promise<boolean> {
  return rows.blockExists(app.db, blockerIds, userId)
}

/** A page of blocked users. */
export interface BlockedUserPage {
  readonly users: readonly rows.BlockedUser[]
  /** Length of the whole list. */
  readonly total: number
}

/** Lists the users that an account has blocked. */
export async function listBlockedUsers(
  app: AccountsApp,
  blockerId: number,
  { offset, limit }: Page,
): Promise<BlockedUserPage> {
  return {
    users: await rows.listBlockedUsers(app.db, blockerId, offset, limit),
    total: await rows.countBlockedUsers(app.db, blockerId),
  }
}

/** Checks that the account has blocked a user. */
export async function checkBlockedUser(
  app: AccountsApp,
  blockerId: number,
  username: string,
): Promise<void> {
  const user = await findUserByUsername(app.db, username)
  if (!user || !(await isBlocked(app, [blockerId], user.id)))
    throw new DomainError('BLOCK_NOT_FOUND')
}

/**
 * Blocks a user on behalf of a user or an organisation. Both lose access that the other one gave
 * them to single repositories, their stars on each other's repositories, and that one follows the
 * other.
 */
export async function blockUser(
  app: AccountsApp,
  blockerId: number,
  username: string,
  note: string,
): Promise<void> {
  checkLength('note', note, MAX_NOTE_CHARACTERS)
  await transaction(app.db, async (tx) => {
    const { id } = await getUserByUsername(tx, username)
    const isTooClose = id === blockerId || (await findMembership(tx, blockerId, id)) !== undefined
    if (isTooClose) throw new DomainError('CANNOT_BLOCK', { username })
    await rows.putBlock(tx, {
      blocker_id: blockerId,
      blocked_id: id,
      note,
      create_time: nowSeconds(app.clock),
    })
    for (const [one, other] of [
      [blockerId, id],
      [id, blockerId],
    ] as const) {
      await deleteCollaborationsWith(tx, one, other)
      await deleteStarsOn(tx, one, other)
      await deleteFollow(tx, one, other)
      await forgetUnreadable(tx, { ownerId: one, userIds: [other] })
    }
  })
}

/** Removes a block, if there is one. */
export async function unblockUser(
  app: AccountsApp,
  blockerId: number,
  username: string,
): Promise<void> {
  await transaction(app.db, async (tx) => {
    const { id } = await getUserByUsername(tx, username)
    await rows.deleteBlock(tx, blockerId, id)
  })
}
