import type { Selectable } from 'kysely'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import type { Conversation, NewReference, StoredReference } from './schema.ts'

/** The text of a conversation, or one of its comments. */
export interface ReferenceSource {
  readonly conversation: Pick<Conversation, 'id' | 'repository_id' | 'is_pull'>
  /** Undefined for the title and the description. */
  readonly commentId?: number
}

/** A conversation with the columns of its kind. */
export type ConversationRow = Selectable<Schema['issues']>

/** Returns the references of a text. */
export function referencesOfText(
  db: Db,
  { conversation, commentId }: ReferenceSource,
): Promise<StoredReference[]> {
  return db
    .selectFrom('issue_references')
    .selectAll()
    .where('source_id', '=', conversation.id)
    .where('comment_id', commentId === undefined ? 'is' : '=', commentId ?? null)
    .execute()
}

/** Returns conversations of a repository by their numbers. */
export function conversationsNumbered(
  db: Db,
  repositoryId: number,
  numbers: readonly number[],
): Promise<ConversationRow[]> {
  return db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('number', 'in', numbersOf(JSON.stringify(numbers)))
    .execute()
}

/**
 * Stores references, and moves the time of the last change of their targets. A target that was
 * deleted meanwhile gets none.
 *
 * @param now undefined to keep the times.
 */
export async function insertReferences(
  tx: Tx,
  references: readonly NewReference[],
  now?: number,
): Promise<void> {
  // In the order of ids, so that concurrent changes wait for each other in one order.
  for (const reference of [...references].sort((a, b) => a.target_id - b.target_id)) {
    const { numUpdatedRows } = await tx
      .updateTable('issues')
      .set((eb) => ({ update_time: now ?? eb.ref('update_time') }))
      .where('id', '=', reference.target_id)
      .executeTakeFirst()
    if (numUpdatedRows > 0) await tx.insertInto('issue_references').values(reference).execute()
  }
}

export async function deleteReferences(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await tx.deleteFrom('issue_references').where('id', 'in', ids).execute()
}
