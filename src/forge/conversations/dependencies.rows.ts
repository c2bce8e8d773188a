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
    .select('pull_requests.id')
    .orderBy(sql`case when pull_requests.repository_id = ${repository_id} then 0 else 1 end`)
    .orderBy('pull_requests.repository_id')
    .orderBy('pull_requests.number')
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
    .select('pull_requests.id')
    .where(sql<boolean>`pull_requests.state = 'OPEN'`)
    .limit(1)
    .executeTakeFirst()
  return open !== undefined
}

function selectDependencies(db: Db, conversationId: number) {
  return db
    .selectFrom('pull_dependencies')
    .innerJoin('pull_requests', 'pull_requests.id', 'pull_dependencies.depends_on_id')
    .where('pull_dependencies.pull_request_id', '=', conversationId)
}

export async function dependsOn(db: Db, conversationId: number, otherId: number): Promise<boolean> {
  const found = await db
    .selectFrom('pull_dependencies')
    .select('depends_on_id')
    .where('pull_request_id', '=', conversationId)
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
    .insertInto('pull_dependencies')
    .values({ pull_request_id: conversationId, depends_on_id: dependsOnId })
    .execute()
}

export async function deleteDependency(
  tx: Tx,
  conversationId: number,
  dependsOnId: number,
): Promise<void> {
  await tx
    .deleteFrom('pull_dependencies')
    .where('pull_request_id', '=', conversationId)
    .where('depends_on_id', '=', dependsOnId)
    .execute()
}
