import type { Selectable } from 'kysely'
import { numbersOf, prepareFirst, prepareQuery } from '../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import type { Repository } from '../repositories/schema.ts'
import type { Conversation } from './schema.ts'

export function findConversation(db: Db, id: number): Promise<Conversation | undefined> {
  return db.selectFrom('issues').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the conversation of a repository with a number. */
export const findConversationNumbered = prepareFirst((db, repositoryId: number, number: number) =>
  db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('number', '=', number),
)

/** Returns the conversations with some ids, by id. */
export async function findConversationsByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Selectable<Schema['issues']>>> {
  if (ids.length === 0) return new Map()
  const found = await conversationsByIds(db, JSON.stringify(ids))
  return new Map(found.map((conversation) => [conversation.id, conversation]))
}

const conversationsByIds = prepareQuery((db, ids: string) =>
  db.selectFrom('issues').selectAll().where('id', 'in', numbersOf(ids)),
)

/** @param reason null to unlock. */
export async function setLockReason(tx: Tx, id: number, reason: string | null): Promise<void> {
  await tx.updateTable('issues').set({ lock_reason: reason }).where('id', '=', id).execute()
}

/**
 * Takes the next number of a conversation of a repository.
 *
 * @returns 0 if the repository was deleted. The insert that uses the number then fails.
 */
export async function takeNumber(tx: Tx, repositoryId: number): Promise<number> {
  const taken = await tx
    .updateTable('repositories')
    .set((eb) => ({ last_issue_number: eb('last_issue_number', '+', 1) }))
    .where('id', '=', repositoryId)
    .returning('last_issue_number')
    .executeTakeFirst()
  return taken?.last_issue_number ?? 0
}

/** Groups values by an id, such as that of their conversation, in their order. */
export function grouped<T>(pairs: readonly (readonly [number, T])[]): ReadonlyMap<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const [key, value] of pairs) {
    const group = groups.get(key)
    if (group) group.push(value)
    else groups.set(key, [value])
  }
  return groups
}

/**
 * Returns whether a user has opened an issue of a repository, or a pull request that was merged into
 * its default branch.
 */
export async function hasContributed(
  db: Db,
  { id, default_branch }: Pick<Repository, 'id' | 'default_branch'>,
  userId: number,
): Promise<boolean> {
  const found = await db
    .selectFrom('issues')
    .select('id')
    .where('repository_id', '=', id)
    .where('is_pull', 'in', [0, 1])
    .where('poster_id', '=', userId)
    .where(({ and, eb, or }) =>
      or([
        eb('is_pull', '=', 0),
        and([eb('merge_commit', 'is not', null), eb('base_branch', '=', default_branch)]),
      ]),
    )
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}
