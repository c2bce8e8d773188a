import { type Insertable, type Selectable, sql } from 'kysely'
import { numbersOf } from '../../platform/database/prepared.ts'
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

/** Counts a record of an import. @returns the import; undefined if the record was counted already. */
export function countRecord(tx: Tx, id: number, done: number): Promise<Import | undefined> {
  return tx
    .updateTable('issue_imports')
    .set({ done: done + 1 })
    .where('id', '=', id)
    .where('done', '=', done)
    .returningAll()
    .executeTakeFirst()
}

/** Notes an issue that an import has stored. */
export async function addImportedIssue(
  tx: Tx,
  { id, issue_ids }: Import,
  issueId: number,
): Promise<void> {
  const ids = JSON.stringify([...importedIds({ issue_ids }), issueId])
  await tx.updateTable('issue_imports').set({ issue_ids: ids }).where('id', '=', id).execute()
}

/** Returns the ids of the issues that an import has stored, in their order. */
export function importedIds({ issue_ids }: Pick<Import, 'issue_ids'>): readonly number[] {
  // `addImportedIssue` wrote the text.
  return JSON.parse(issue_ids) as number[]
}

/**
 * Counts the next issue whose references are made.
 *
 * @returns its id; undefined if there is none.
 */
export async function countReferring(tx: Tx, id: number): Promise<number | undefined> {
  const found = await tx
    .selectFrom('issue_imports')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  const issueId = found && importedIds(found)[found.referring]
  if (!found || issueId === undefined) return undefined
  const { numUpdatedRows } = await tx
    .updateTable('issue_imports')
    .set({ referring: found.referring + 1 })
    .where('id', '=', id)
    .where('referring', '=', found.referring)
    .executeTakeFirst()
  return numUpdatedRows > 0 ? issueId : countReferring(tx, id)
}

/** Returns which of some numbers conversations of a repository have, or had before their transfer. */
export async function usedNumbers(
  db: Db,
  repositoryId: number,
  numbers: readonly number[],
): Promise<ReadonlySet<number>> {
  const isAsked = numbersOf(JSON.stringify(numbers))
  const found = await db
    .selectFrom('issues')
    .select('number')
    .where('repository_id', '=', repositoryId)
    .where('number', 'in', isAsked)
    .unionAll(
      db
        .selectFrom('issue_transfers')
        .select('number')
        .where('repository_id', '=', repositoryId)
        .where('number', 'in', isAsked),
    )
    .execute()
  return new Set(found.map(({ number }) => number))
}

/** Makes the next number of a repository higher than a number. Other new numbers wait until the end. */
export async function passNumber(tx: Tx, repositoryId: number, number: number): Promise<void> {
  await sql`update repositories set last_issue_number =
    case when last_issue_number < ${number} then ${number} else last_issue_number end
    where id = ${repositoryId}`.execute(tx)
}
