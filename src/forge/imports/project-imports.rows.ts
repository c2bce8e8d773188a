import { sql } from 'kysely'
import { type DueQueue, dueQueue } from '../../platform/database/due-queue.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { NewProjectImport, ProjectImport, ProjectImportChanges } from './schema.ts'

/** Inserts an import, and marks the repository. */
export async function insertProjectImport(tx: Tx, row: NewProjectImport): Promise<ProjectImport> {
  await markImporting(tx, row.repository_id, 1)
  return tx.insertInto('project_imports').values(row).returningAll().executeTakeFirstOrThrow()
}

async function markImporting(tx: Tx, repositoryId: number, importing: 0 | 1): Promise<void> {
  await tx.updateTable('repositories').set({ importing }).where('id', '=', repositoryId).execute()
}

/** Sets the website of a new repository. */
export async function setWebsiteOf(tx: Tx, repositoryId: number, website: string): Promise<void> {
  await tx.updateTable('repositories').set({ website }).where('id', '=', repositoryId).execute()
}

export function findProjectImport(db: Db, id: number): Promise<ProjectImport | undefined> {
  return db.selectFrom('project_imports').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the import of a repository. */
export function findImportOf(db: Db, repositoryId: number): Promise<ProjectImport | undefined> {
  return db
    .selectFrom('project_imports')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/** Lists the imports of a user, the latest first. */
export function listImportsOf(
  db: Db,
  userId: number,
  offset: number,
  limit: number,
): Promise<ProjectImport[]> {
  return db
    .selectFrom('project_imports')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function countImportsOf(db: Db, userId: number): Promise<number> {
  const { count } = await db
    .selectFrom('project_imports')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/** Changes an import that has not ended. @returns the import; undefined if it has ended. */
export function updateProjectImport(
  tx: Tx,
  id: number,
  changes: ProjectImportChanges,
): Promise<ProjectImport | undefined> {
  return tx
    .updateTable('project_imports')
    .set(changes)
    .where('id', '=', id)
    .where('state', 'in', ['RUNNING', 'WAITING'])
    .returningAll()
    .executeTakeFirst()
}

/**
 * Ends an import, and forgets its secrets.
 *
 * @param now Unix seconds.
 * @returns false if the import had ended.
 */
export async function endProjectImport(
  tx: Tx,
  { id, repository_id }: Pick<ProjectImport, 'id' | 'repository_id'>,
  end: Pick<ProjectImport, 'state' | 'message'>,
  now: number,
): Promise<boolean> {
  const none = { secrets: null, due_time: null, cursor: '' }
  const ended = await updateProjectImport(tx, id, { ...end, ...none, end_time: now })
  if (!ended) return false
  await tx.deleteFrom('project_import_items').where('import_id', '=', id).execute()
  await markImporting(tx, repository_id, 0)
  return true
}

/** Notes that a record is stored. @returns false if it was stored before. */
export async function noteItem(
  tx: Tx,
  importId: number,
  kind: string,
  sourceId: string,
): Promise<boolean> {
  const row = { import_id: importId, kind, source_id: sourceId }
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('project_import_items')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Takes back a note. */
export async function removeItem(
  tx: Tx,
  importId: number,
  kind: string,
  sourceId: string,
): Promise<void> {
  await tx
    .deleteFrom('project_import_items')
    .where('import_id', '=', importId)
    .where('kind', '=', kind)
    .where('source_id', '=', sourceId)
    .execute()
}

/** Returns which of some records are stored. */
export async function storedItems(
  db: Db,
  importId: number,
  kind: string,
  sourceIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (sourceIds.length === 0) return new Set()
  const rows = await db
    .selectFrom('project_import_items')
    .select('source_id')
    .where('import_id', '=', importId)
    .where('kind', '=', kind)
    .where('source_id', 'in', sourceIds)
    .execute()
  return new Set(rows.map(({ source_id }) => source_id))
}

/** The imports that run, in the order of their due times. */
export function importQueue(db: Db): DueQueue {
  return dueQueue(
    db,
    db
      .selectFrom('project_imports')
      .innerJoin('repositories', 'repositories.id', 'project_imports.repository_id')
      .select([
        'project_imports.id as id',
        'repositories.owner_id as ownerId',
        'project_imports.due_time as dueTime',
      ])
      .where('project_imports.due_time', 'is not', null),
  )
}

/** Returns the accounts here by their identities at the provider with an origin. */
export async function identitiesOf(
  db: Db,
  origin: string,
  identifiers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (identifiers.length === 0) return new Map()
  const rows = await db
    .selectFrom('linked_identities as identity')
    .innerJoin('identity_providers as provider', 'provider.id', 'identity.provider_id')
    .select(['identity.extern_uid', 'identity.user_id', 'provider.identifier_claim'])
    // The provider tells who somebody is by this address.
    .where(sql<boolean>`substr(provider.user_info_url, 1, ${origin.length + 1}) = ${`${origin}/`}`)
    .where('identity.extern_uid', 'in', identifiers)
    .execute()
  return new Map(rows.map((row) => [`${row.identifier_claim} ${row.extern_uid}`, row.user_id]))
}

/** Returns what is noted of one kind. */
export async function itemsOf(db: Db, importId: number, kind: string): Promise<string[]> {
  const found = await db
    .selectFrom('project_import_items')
    .select('source_id')
    .where('import_id', '=', importId)
    .where('kind', '=', kind)
    .orderBy('source_id')
    .execute()
  return found.map(({ source_id }) => source_id)
}
