import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Conversation } from './schema.ts'

export function findConversation(db: Db, id: number): Promise<Conversation | undefined> {
  return db.selectFrom('issues').selectAll().where('id', '=', id).executeTakeFirst()
}

/** @param reason null to unlock. */
export async function setLockReason(tx: Tx, id: number, reason: string | null): Promise<void> {
  await tx.updateTable('issues').set({ lock_reason: reason }).where('id', '=', id).execute()
}

/** Groups values by the id of their conversation, in their order. */
export function byConversation<T>(
  pairs: readonly (readonly [number, T])[],
): ReadonlyMap<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const [key, value] of pairs) {
    const group = groups.get(key)
    if (group) group.push(value)
    else groups.set(key, [value])
  }
  return groups
}
