import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'

export type ExportedIssue = Selectable<Schema['issues']>

export type ExportedEvent = Selectable<Schema['issue_timeline']>

/** Returns the issues of a repository with numbers above one, by number. */
export function issuesAfter(
  db: Db,
  repositoryId: number,
  number: number,
  limit: number,
): Promise<ExportedIssue[]> {
  return db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('is_pull', '=', 0)
    .where('number', '>', number)
    .orderBy('number')
    .limit(limit)
    .execute()
}

export function labelsOfRepository(
  db: Db,
  repositoryId: number,
): Promise<Selectable<Schema['labels']>[]> {
  return db
    .selectFrom('labels')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('name')
    .orderBy('id')
    .execute()
}

export function milestonesOfRepository(
  db: Db,
  repositoryId: number,
): Promise<Selectable<Schema['milestones']>[]> {
  return db
    .selectFrom('milestones')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** Returns the comments of issues, oldest first. */
export function commentsOfIssues(
  db: Db,
  issueIds: readonly number[],
): Promise<Selectable<Schema['issue_comments']>[]> {
  return db
    .selectFrom('issue_comments')
    .selectAll()
    .where('issue_id', 'in', issueIds)
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** Returns the reactions to issues and to their comments, oldest first. */
export function reactionsOf(
  db: Db,
  issueIds: readonly number[],
): Promise<Selectable<Schema['issue_reactions']>[]> {
  return db
    .selectFrom('issue_reactions')
    .selectAll()
    .where('issue_id', 'in', issueIds)
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** Returns the events of issues that are about one issue each, oldest first. */
export function eventsOf(db: Db, issueIds: readonly number[]): Promise<ExportedEvent[]> {
  return db
    .selectFrom('issue_timeline')
    .selectAll()
    .where('issue_id', 'in', issueIds)
    .where('source_id', 'is', null)
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

export type Import = Selectable<Schema['issue_imports']>

export function findImport(db: Db, repositoryId: number, id: number): Promise<Import | undefined> {
  return db
    .selectFrom('issue_imports')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Returns the import of a user with a request id. */
export function findRequestedImport(
  db: Db,
  repositoryId: number,
  userId: number,
  requestId: string,
): Promise<Import | undefined> {
  return db
    .selectFrom('issue_imports')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('user_id', '=', userId)
    .where('request_id', '=', requestId)
    .executeTakeFirst()
}

/** Stores an import, and deletes those of a repository before a time. */
export async function insertImport(
  tx: Tx,
  row: Insertable<Schema['issue_imports']>,
  before: number,
): Promise<Import> {
  await tx
    .deleteFrom('issue_imports')
    .where('repository_id', '=', row.repository_id)
    .where('create_time', '<', before)
    .execute()
  return tx.insertInto('issue_imports').values(row).returningAll().executeTakeFirstOrThrow()
}

/** Counts a record of an import. @returns false if it was counted already. */
export async function countRecord(tx: Tx, id: number, done: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('issue_imports')
    .set({ done: done + 1 })
    .where('id', '=', id)
    .where('done', '=', done)
    .executeTakeFirst()
  return numUpdatedRows > 0
}

/** Returns the highest number that a repository has used. */
export async function lastNumber(db: Db, repositoryId: number): Promise<number> {
  const found = await db
    .selectFrom('repositories')
    .select('last_issue_number')
    .where('id', '=', repositoryId)
    .executeTakeFirst()
  return found?.last_issue_number ?? 0
}

/** Uses a number of a repository, and all below it. */
export async function useNumber(tx: Tx, repositoryId: number, number: number): Promise<void> {
  await sql`update repositories set last_issue_number = ${number}
    where id = ${repositoryId} and last_issue_number < ${number}`.execute(tx)
}
