import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Conversation } from './schema.ts'

/**
 * Returns the ids of the conversations that a conversation depends on: those of its repository
 * first, then by repository and number.
 */
export async function listDependencyIds(
  db: Db,
  { id, repository_id }: Pick<Conversation, 'id' | 'repository_id'>,
  offset: number,
  limit: number,
): Promise<number[]> {
  const found = await selectDependencies(db, id)
    .select('issues.id')
    .orderBy(sql`case when issues.repository_id = ${repository_id} then 0 else 1 end`)
    .orderBy('issues.repository_id')
    .orderBy('issues.number')
    .limit(limit)
    .offset(offset)
    .execute()
  return found.map((dependency) => dependency.id)
}

/** Returns the length of that list. */
export async function countDependencies(db: Db, conversationId: number): Promise<number> {
  const { count } = await selectDependencies(db, conversationId)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Returns whether a conversation depends on an open one. */
export async function isBlocked(db: Db, conversationId: number): Promise<boolean> {
  const open = await selectDependencies(db, conversationId)
    .select('issues.id')
    .where(sql<boolean>`issues.state = 'OPEN'`)
    .limit(1)
    .executeTakeFirst()
  return open !== undefined
}

function selectDependencies(db: Db, conversationId: number) {
  return db
    .selectFrom('issue_dependencies')
    .innerJoin('issues', 'issues.id', 'issue_dependencies.depends_on_id')
    .where('issue_dependencies.issue_id', '=', conversationId)
}

export async function dependsOn(db: Db, conversationId: number, otherId: number): Promise<boolean> {
  const found = await db
    .selectFrom('issue_dependencies')
    .select('depends_on_id')
    .where('issue_id', '=', conversationId)
    .where('depends_on_id', '=', otherId)
    .executeTakeFirst()
  return found !== undefined
}

/** @throws a foreign key violation if one of the users was deleted. */
export async function insertDependency(
  tx: Tx,
  conversationId: number,
  dependsOnId: number,
): Promise<void> {
  await tx
    .insertInto('issue_dependencies')
    .values({ issue_id: conversationId, depends_on_id: dependsOnId })
    .execute()
}

export async function deleteDependency(
  tx: Tx,
  conversationId: number,
  dependsOnId: number,
): Promise<void> {
  await tx
    .deleteFrom('issue_dependencies')
    .where('issue_id', '=', conversationId)
    .where('depends_on_id', '=', dependsOnId)
    .execute()
}
