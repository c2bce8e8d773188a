import { type SelectQueryBuilder, sql } from 'kysely'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import type { Conversation } from './schema.ts'

/**
 * Returns the ids of the conversations that a conversation depends on: those of its repository
 * first, then by repository; within one, the latest first.
 */
export function listDependencyIds(
  db: Db,
  of: Pick<Conversation, 'id' | 'repository_id'>,
  offset: number,
  limit: number,
): Promise<number[]> {
  return idsIn(selectDependencies(db, of.id), of, offset, limit)
}

/** Returns the length of that list. */
export function countDependencies(db: Db, conversationId: number): Promise<number> {
  return countOf(selectDependencies(db, conversationId))
}

/** Returns the ids of the conversations that depend on a conversation, in the same order. */
export function listDependentIds(
  db: Db,
  of: Pick<Conversation, 'id' | 'repository_id'>,
  offset: number,
  limit: number,
): Promise<number[]> {
  return idsIn(selectDependents(db, of.id), of, offset, limit)
}

/** Returns the length of that list. */
export function countDependents(db: Db, conversationId: number): Promise<number> {
  return countOf(selectDependents(db, conversationId))
}

type Found = SelectQueryBuilder<Schema, 'issue_dependencies' | 'issues', object>

async function idsIn(
  found: Found,
  { repository_id }: Pick<Conversation, 'repository_id'>,
  offset: number,
  limit: number,
): Promise<number[]> {
  const rows = await found
    .select('issues.id')
    .orderBy(sql`case when issues.repository_id = ${repository_id} then 0 else 1 end`)
    .orderBy('issues.repository_id')
    .orderBy('issues.create_time', 'desc')
    .orderBy('issues.id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(({ id }) => id)
}

async function countOf(found: Found): Promise<number> {
  const { count } = await found
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Returns whether a conversation is another one, or waits for the other one directly or through
 * others. Each conversation has at most 100 dependencies, and none is visited twice.
 */
export async function waitsFor(db: Db, conversationId: number, otherId: number): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    with recursive waiting (id) as (
      select cast(${conversationId} as bigint)
      union
      select issue_dependencies.depends_on_id from issue_dependencies
        join waiting on issue_dependencies.issue_id = waiting.id)
    select id from waiting where id = ${otherId}`.execute(db)
  return rows.length > 0
}

/** Returns whether a conversation depends on an open one. */
export async function isBlocked(
  db: Db,
  conversationId: number,
  except: readonly number[] = [],
): Promise<boolean> {
  const open = await selectDependencies(db, conversationId)
    .select('issues.id')
    .where(sql<boolean>`issues.state = 'OPEN'`)
    .$if(except.length > 0, (query) => query.where('issues.id', 'not in', except))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('issues as waiting')
          .innerJoin('repositories', 'repositories.id', 'waiting.repository_id')
          .select('waiting.id')
          .where('waiting.id', '=', conversationId)
          .where('repositories.has_dependencies', '=', 1),
      ),
    )
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

function selectDependents(db: Db, conversationId: number) {
  return db
    .selectFrom('issue_dependencies')
    .innerJoin('issues', 'issues.id', 'issue_dependencies.issue_id')
    .where('issue_dependencies.depends_on_id', '=', conversationId)
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
