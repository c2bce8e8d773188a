import { sql } from 'kysely'
import {
  listIdsWithTrigrams,
  writeTrigrams,
} from '../../../platform/database/dialects/code-index.ts'
import { type DueQueue, dueQueue } from '../../../platform/database/due-queue.ts'
import { numbersOf } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import { type RepositoryReader, readableBy } from '../access/repository-readers.rows.ts'
import type { CodeFile, CodeIndex } from './schema.ts'

/** Returns the queue of repositories whose index may be old. */
export function codeIndexQueue(db: Db): DueQueue {
  const due = db
    .selectFrom('code_indexes')
    .select(['repository_id as id', 'repository_id as ownerId', 'due_time as dueTime'])
  return dueQueue(db, due)
}

/** Makes all repositories due that have no entry yet, as after a restore. */
export async function wakeMissingIndexes(tx: Tx): Promise<void> {
  await tx
    .insertInto('code_indexes')
    .columns(['repository_id', 'due_time'])
    .expression((eb) =>
      eb
        .selectFrom('repositories')
        .select((eb) => ['repositories.id', eb.lit(0).as('due_time')])
        .where('repositories.id', 'not in', eb.selectFrom('code_indexes').select('repository_id')),
    )
    .execute()
}

export function findCodeIndex(db: Db, repositoryId: number): Promise<CodeIndex | undefined> {
  return db
    .selectFrom('code_indexes')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/** Returns what the index has of some repositories, by their ids. */
export async function findCodeIndexes(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, CodeIndex>> {
  if (repositoryIds.length === 0) return new Map()
  const found = await db
    .selectFrom('code_indexes')
    .selectAll()
    .where('repository_id', 'in', numbersOf(JSON.stringify(repositoryIds)))
    .execute()
  return new Map(found.map((index) => [index.repository_id, index]))
}

/** Returns the indexed files of a repository. */
export function listCodeFiles(db: Db, repositoryId: number): Promise<CodeFile[]> {
  return db
    .selectFrom('code_files')
    .select(['id', 'repository_id', 'path', 'blob_id', 'bytes'])
    .where('repository_id', '=', repositoryId)
    .execute()
}

/** Returns the bytes of the indexed texts of all repositories. */
export async function bytesOfAll(db: Db): Promise<number> {
  const { bytes } = await db
    .selectFrom('code_indexes')
    .select((eb) => eb.fn.sum<number | null>('bytes').as('bytes'))
    .executeTakeFirstOrThrow()
  return Number(bytes ?? 0)
}

/** Returns the repositories whose files are in the index without an entry that leads to them. */
export async function listIndexesWithoutEntry(db: Db): Promise<number[]> {
  const found = await db
    .selectFrom('code_files')
    .select('repository_id')
    .distinct()
    .where('repository_id', 'not in', db.selectFrom('code_indexes').select('repository_id'))
    .orderBy('repository_id')
    .execute()
  return found.map(({ repository_id }) => repository_id)
}

/** Returns the finished entries whose bytes are not those of their files. */
export async function listWrongSizes(
  db: Db,
): Promise<{ readonly repositoryId: number; readonly stored: number; readonly actual: number }[]> {
  const { rows } = await sql<{ id: number; stored: number; actual: number }>`
    select repository_id as id, bytes as stored, actual from (
      select repository_id, bytes, coalesce((select sum(code_files.bytes) from code_files
        where code_files.repository_id = code_indexes.repository_id), 0) as actual
      from code_indexes where due_time is null) as sizes
    where bytes <> actual order by repository_id`.execute(db)
  return rows.map(({ id, stored, actual }) => ({
    repositoryId: Number(id),
    stored: Number(stored),
    actual: Number(actual),
  }))
}

/** Returns the finished entries whose commit is not that of the default branch. */
export function listOldIndexes(
  db: Db,
): Promise<{ readonly repositoryId: number; readonly commitId: string | null }[]> {
  return db
    .selectFrom('code_indexes')
    .leftJoin('repositories', 'repositories.id', 'code_indexes.repository_id')
    .leftJoin('branches', (join) =>
      join
        .onRef('branches.repository_id', '=', 'code_indexes.repository_id')
        .onRef('branches.name', '=', 'repositories.default_branch'),
    )
    .select(['code_indexes.repository_id as repositoryId', 'code_indexes.commit_id as commitId'])
    .where('code_indexes.due_time', 'is', null)
    .where('code_indexes.commit_id', 'is not', null)
    .where((eb) =>
      eb.or([
        eb('branches.commit_id', 'is', null),
        eb('branches.commit_id', '<>', eb.ref('code_indexes.commit_id')),
      ]),
    )
    .orderBy('code_indexes.repository_id')
    .execute()
}

/** Makes a repository due for a look that compares all files, or that deletes those of no repository. */
export async function renewCodeIndex(tx: Tx, repositoryId: number): Promise<void> {
  const anew = { commit_id: null, due_time: 0 }
  await tx
    .insertInto('code_indexes')
    .values({ repository_id: repositoryId, ...anew })
    .onConflict((conflict) =>
      conflict
        .column('repository_id')
        .doUpdateSet((eb) => ({ ...anew, wake_count: eb('code_indexes.wake_count', '+', 1) })),
    )
    .execute()
}

/**
 * Returns how many repositories wait for a look, and since when the first one does (Unix milliseconds).
 * Undefined if all of them were made due at once, without a time.
 */
export async function countDueIndexes(
  db: Db,
  now: number,
): Promise<{ readonly count: number; readonly since: number | undefined }> {
  const { count, since } = await db
    .selectFrom('code_indexes')
    .where('due_time', '<=', now)
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.min<number | null>(sql`nullif(due_time, 0)`).as('since'),
    ])
    .executeTakeFirstOrThrow()
  return { count: Number(count), since: since === null ? undefined : Number(since) }
}

/** Deletes the entry of a repository that has no files in the index. */
export async function deleteCodeIndex(tx: Tx, repositoryId: number): Promise<void> {
  await tx.deleteFrom('code_indexes').where('repository_id', '=', repositoryId).execute()
}

/** Deletes files and their trigrams. */
export async function deleteCodeFiles(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx
    .deleteFrom('code_files')
    .where('id', 'in', numbersOf(JSON.stringify(ids)))
    .execute()
}

/** Stores a file and its trigrams, unless another look has stored a file of this path. */
export async function insertCodeFile(
  tx: Tx,
  file: Omit<CodeFile, 'id'>,
  trigrams: readonly string[],
): Promise<void> {
  const added = await tx
    .insertInto('code_files')
    .values(file)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
  if (added && trigrams.length > 0) await writeTrigrams(tx, added.id, trigrams)
}

/**
 * Records that the index has a commit.
 *
 * @param next the time of the next look if the repository has changed since the index was read.
 */
export async function finishCodeIndex(
  tx: Tx,
  { repository_id, wake_count, ...found }: Omit<CodeIndex, 'due_time'>,
  next: number,
): Promise<void> {
  const update = () => tx.updateTable('code_indexes').where('repository_id', '=', repository_id)
  await update()
    .set({ ...found, due_time: next })
    .execute()
  await update().set({ due_time: null }).where('wake_count', '=', wake_count).execute()
}

/** Sets the time of the next look. */
export async function restCodeIndex(tx: Tx, repositoryId: number, dueTime: number): Promise<void> {
  await tx
    .updateTable('code_indexes')
    .set({ due_time: dueTime })
    .where('repository_id', '=', repositoryId)
    .execute()
}

/**
 * Returns ids of files that have all trigrams, the latest first. The files of all repositories are among
 * them.
 *
 * @param trigrams at least one.
 * @param before only smaller ids.
 */
export async function listHits(
  db: Db,
  trigrams: readonly string[],
  before: number,
  limit: number,
): Promise<number[]> {
  const hits = await listIdsWithTrigrams(db, trigrams, before, limit)
  return hits.map(({ id }) => Number(id))
}

/** A file that may have a text. */
export interface CodeCandidate {
  readonly repository_id: number
  readonly path: string
}

/** Returns those of some files whose code a reader may read, the latest first. */
export function findReadableFiles(
  db: Db,
  ids: readonly number[],
  reader: RepositoryReader,
  ownerId: number | undefined,
): Promise<CodeCandidate[]> {
  return db
    .selectFrom('repositories')
    .innerJoin('code_files', 'code_files.repository_id', 'repositories.id')
    .select(['code_files.repository_id', 'code_files.path'])
    .where('code_files.id', 'in', numbersOf(JSON.stringify(ids)))
    .where(readableBy(reader, 'code'))
    .$if(ownerId !== undefined, (query) => query.where('repositories.owner_id', '=', ownerId ?? 0))
    .orderBy('code_files.id', 'desc')
    .execute()
}
