import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Conversation, NewReference, StoredReference } from './schema.ts'

/** The text of a conversation, or one of its comments. */
export interface ReferenceSource {
  readonly conversation: Pick<Conversation, 'id' | 'repository_id' | 'is_pull'>
  /** Undefined for the title and the description. */
  readonly commentId?: number
}

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
): Promise<Conversation[]> {
  return db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('number', 'in', numbersOf(JSON.stringify(numbers)))
    .execute()
}

/** Stores references, and moves the time of the last change of their targets. */
export async function insertReferences(
  tx: Tx,
  references: readonly NewReference[],
  now: number,
): Promise<void> {
  if (references.length === 0) return
  await touchTargets(
    tx,
    references.map(({ target_id }) => target_id),
    now,
  )
  await tx.insertInto('issue_references').values(references).execute()
}

/** In the order of ids, so that concurrent changes wait for each other in one order. */
async function touchTargets(tx: Tx, ids: readonly number[], now: number): Promise<void> {
  for (const id of [...ids].sort((a, b) => a - b))
    await tx.updateTable('issues').set({ update_time: now }).where('id', '=', id).execute()
}

export async function deleteReferences(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await tx.deleteFrom('issue_references').where('id', 'in', ids).execute()
}
