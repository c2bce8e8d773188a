import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { User } from '../../core/schema.ts'
import type { UserBlock } from '../schema.ts'

/** A blocked user, and when the block was made, in Unix seconds. */
export type BlockedUser = User & { readonly block_time: number }

/** Lists the users that an account has blocked, by id. */
export function listBlockedUsers(
  db: Db,
  blockerId: number,
  offset: number,
  limit: number,
): Promise<BlockedUser[]> {
  return db
    .selectFrom('user_blocks')
    .innerJoin('users', 'users.id', 'user_blocks.blocked_id')
    .selectAll('users')
    .select('user_blocks.create_time as block_time')
    .where('user_blocks.blocker_id', '=', blockerId)
    .orderBy('user_blocks.blocked_id')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countBlockedUsers(db: Db, blockerId: number): Promise<number> {
  const { count } = await db
    .selectFrom('user_blocks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('blocker_id', '=', blockerId)
    .executeTakeFirstOrThrow()
  return count
}

/** Returns whether any of some accounts has blocked a user. */
export async function blockExists(
  db: Db,
  blockerIds: readonly number[],
  blockedId: number,
): Promise<boolean> {
  const row = await db
    .selectFrom('user_blocks')
    .select('blocker_id')
    .where('blocker_id', 'in', blockerIds)
    .where('blocked_id', '=', blockedId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Stores a block. If it exists, its note is updated unless the new one is empty. */
export async function putBlock(tx: Tx, block: UserBlock): Promise<void> {
  const { note } = block
  await tx
    .insertInto('user_blocks')
    .values(block)
    .onConflict((conflict) => {
      const known = conflict.columns(['blocker_id', 'blocked_id'])
      return note === '' ? known.doNothing() : known.doUpdateSet({ note })
    })
    .execute()
}

/** Deletes a block, if there is one. */
export async function deleteBlock(tx: Tx, blockerId: number, blockedId: number): Promise<void> {
  await tx
    .deleteFrom('user_blocks')
    .where('blocker_id', '=', blockerId)
    .where('blocked_id', '=', blockedId)
    .execute()
}
