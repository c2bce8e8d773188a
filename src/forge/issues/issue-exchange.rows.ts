import { type Insertable, type Selectable, sql } from 'kysely'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import type { StoredReference } from '../conversations/schema.ts'
import { sourceReadable } from '../conversations/timeline.rows.ts'
import type { RepositoryReader } from '../repositories/access/repository-readers.rows.ts'

export type ExportedIssue = Selectable<Schema['issues']>

export interface ExportedEvent extends Selectable<Schema['issue_timeline']> {
  /** The place of the other conversation of an event about two; null for other events. */
  readonly other_number: number | null
  readonly other_repository_id: number | null
}

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

/**
 * Returns the events of issues, oldest first. Those about two conversations come with the place of the
 * other one, if the reader may read that.
 */
export function eventsOf(
  db: Db,
  issueIds: readonly number[],
  reader: RepositoryReader,
): Promise<ExportedEvent[]> {
  return db
    .selectFrom('issue_timeline as event')
    .leftJoin('issues as source', 'source.id', 'event.source_id')
    .selectAll('event')
    .select(['source.number as other_number', 'source.repository_id as other_repository_id'])
    .where('event.issue_id', 'in', issueIds)
    .where((eb) => eb.or([eb('event.source_id', 'is', null), sourceReadable(reader)]))
    .orderBy('event.create_time')
    .orderBy('event.id')
    .execute()
}

/** Returns the references of the commits of a repository to some of its issues, oldest first. */
export function commitReferencesOf(
  db: Db,
  repositoryId: number,
  issueIds: readonly number[],
): Promise<StoredReference[]> {
  return db
    .selectFrom('issue_references')
    .selectAll()
    .where('target_id', 'in', issueIds)
    .where('type', '=', 'commit_ref')
    .where('repository_id', '=', repositoryId)
    .orderBy('create_time')
    .orderBy('id')
    .execute()
}

/** A conversation that an issue names. */
export interface ExportedLink {
  readonly kind: 'dependencies' | 'blocks' | 'children' | 'parent' | 'duplicate_of'
  readonly issue_id: number
  readonly other_number: number | null
  readonly other_repository_id: number | null
}

/**
 * Returns what issues depend on, what waits for them, their parts by position, their parents and their
 * originals, as far as the reader may read these.
 */
export function linksOf(
  db: Db,
  issueIds: readonly number[],
  reader: RepositoryReader,
): Promise<ExportedLink[]> {
  const ids = numbersOf(JSON.stringify(issueIds))
  const place = sql.lit(0).$castTo<number>()
  const links = db
    .selectFrom('issue_dependencies')
    .select(['issue_id', 'depends_on_id as other_id', kindOf('dependencies'), place.as('place')])
    .where('issue_id', 'in', ids)
    .unionAll(
      db
        .selectFrom('issue_dependencies')
        .select(['depends_on_id as issue_id', 'issue_id as other_id'])
        .select([kindOf('blocks'), place.as('place')])
        .where('depends_on_id', 'in', ids),
    )
    .unionAll(
      db
        .selectFrom('sub_issues')
        .select(['parent_id as issue_id', 'issue_id as other_id'])
        .select([kindOf('children'), 'position as place'])
        .where('parent_id', 'in', ids),
    )
    .unionAll(
      db
        .selectFrom('sub_issues')
        .select(['issue_id', 'parent_id as other_id', kindOf('parent'), place.as('place')])
        .where('issue_id', 'in', ids),
    )
    .unionAll(
      db
        .selectFrom('issues')
        .select(['id as issue_id', 'duplicate_of_id as other_id', kindOf('duplicate_of')])
        .select(place.as('place'))
        .where('id', 'in', ids)
        .where('duplicate_of_id', 'is not', null)
        .$castTo<{ issue_id: number; other_id: number; kind: string; place: number }>(),
    )
  return db
    .selectFrom(links.as('link'))
    .innerJoin('issues as source', 'source.id', 'link.other_id')
    .select(['link.issue_id', 'link.kind', 'source.number as other_number'])
    .select('source.repository_id as other_repository_id')
    .where(sourceReadable(reader))
    .orderBy('link.issue_id')
    .orderBy('link.place')
    .orderBy('source.repository_id')
    .orderBy('source.number')
    .$castTo<ExportedLink>()
    .execute()
}

function kindOf(kind: ExportedLink['kind']) {
  return sql.lit(kind).$castTo<string>().as('kind')
}

/** Returns the comments of a conversation with their times, in the order in which they were stored. */
export function commentTimesOf(
  db: Db,
  conversationId: number,
): Promise<{ readonly id: number; readonly create_time: number }[]> {
  return db
    .selectFrom('issue_comments')
    .select(['id', 'create_time'])
    .where('issue_id', '=', conversationId)
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

/** The next issue of an import whose links and references are made. */
interface NextIssue {
  readonly id: number
  /** Position among the issues of the import, from 0. */
  readonly position: number
}

/** Counts the next issue whose links and references are made. @returns undefined if there is none. */
export async function countReferring(tx: Tx, id: number): Promise<NextIssue | undefined> {
  const found = await importById(tx, id)
  const issueId = found && importedIds(found)[found.referring]
  if (!found || issueId === undefined) return undefined
  const { numUpdatedRows } = await tx
    .updateTable('issue_imports')
    .set({ referring: found.referring + 1 })
    .where('id', '=', id)
    .where('referring', '=', found.referring)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return countReferring(tx, id)
  return { id: issueId, position: found.referring }
}

/** Returns an import. */
export function importById(db: Db, id: number): Promise<Import | undefined> {
  return db.selectFrom('issue_imports').selectAll().where('id', '=', id).executeTakeFirst()
}

/**
 * Counts a file of an import, which is stored or left out.
 *
 * @param problem why the file is left out.
 * @returns false if the file was counted already.
 */
export async function countFile(
  tx: Tx,
  id: number,
  position: number,
  problem?: string,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('issue_imports')
    .set({ files_done: position + 1 })
    .where('id', '=', id)
    .where('files_done', '=', position)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  if (problem !== undefined) await addProblems(tx, id, [problem])
  return true
}

/** More problems are not kept. */
const MAX_PROBLEMS = 1000

/** Notes what an import leaves out. */
export async function addProblems(tx: Tx, id: number, added: readonly string[]): Promise<void> {
  const found = added.length === 0 ? undefined : await importById(tx, id)
  if (!found) return
  const problems = JSON.stringify([...problemsOf(found), ...added].slice(0, MAX_PROBLEMS))
  await tx.updateTable('issue_imports').set({ problems }).where('id', '=', id).execute()
}

/** Removes what an import no longer leaves out. */
export async function removeProblem(tx: Tx, id: number, problem: string): Promise<void> {
  const found = problem === '' ? undefined : await importById(tx, id)
  if (!found) return
  const problems = JSON.stringify(problemsOf(found).filter((one) => one !== problem))
  await tx.updateTable('issue_imports').set({ problems }).where('id', '=', id).execute()
}

/** Returns what an import has left out. */
export function problemsOf({ problems }: Pick<Import, 'problems'>): readonly string[] {
  // `addProblems` wrote the text.
  return JSON.parse(problems) as string[]
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
