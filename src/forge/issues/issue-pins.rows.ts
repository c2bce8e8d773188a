import type { Selectable } from 'kysely'
import { prepareQuery } from '../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import type { Conversation } from '../conversations/schema.ts'

/** The conversations of one kind in a repository. */
export type KindInRepository = Pick<Conversation, 'repository_id' | 'is_pull'>

/** Returns the pinned conversations of one kind in a repository, by position. */
export function listPinned(
  db: Db,
  { repository_id, is_pull }: KindInRepository,
): Promise<Selectable<Schema['issues']>[]> {
  return pinnedOf(db, repository_id, is_pull)
}

const pinnedOf = prepareQuery((db, repositoryId: number, isPull: number) =>
  db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('is_pull', '=', isPull)
    .where('pin_order', 'is not', null)
    .orderBy('pin_order'),
)

/**
 * Stores the order of the pinned conversations of one kind in a repository.
 *
 * @param before the ids of those that are pinned at present, by position.
 * @param after the ids of those that are pinned then.
 */
export async function storePins(
  tx: Tx,
  before: readonly number[],
  after: readonly number[],
): Promise<void> {
  const orders = new Map<number, number | null>([
    ...before.filter((id) => !after.includes(id)).map((id) => [id, null] as const),
    ...after.flatMap((id, i) => (before[i] === id ? [] : [[id, i + 1] as const])),
  ])
  for (const [id, pin_order] of orders)
    await tx.updateTable('issues').set({ pin_order }).where('id', '=', id).execute()
}
