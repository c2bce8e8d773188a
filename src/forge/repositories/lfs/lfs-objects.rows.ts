import { numbersOf, textsOf } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { ContentStore, StoreChange } from '../attachments/schema.ts'
import type { LfsContent, LfsObject } from './schema.ts'

/** Returns an object of a repository with its content. */
export function findLfsContent(
  db: Db,
  repositoryId: number,
  oid: string,
): Promise<LfsContent | undefined> {
  return db
    .selectFrom('lfs_objects')
    .innerJoin('lfs_contents', 'lfs_contents.oid', 'lfs_objects.oid')
    .selectAll('lfs_contents')
    .where('repository_id', '=', repositoryId)
    .where('lfs_objects.oid', '=', oid)
    .executeTakeFirst()
}

/** Returns those of some objects that at least one of some repositories has, with their contents. */
export async function findLfsContents(
  db: Db,
  repositoryIds: readonly number[],
  oids: readonly string[],
): Promise<ReadonlyMap<string, LfsContent>> {
  if (repositoryIds.length === 0 || oids.length === 0) return new Map()
  const found = await db
    .selectFrom('lfs_contents')
    .selectAll()
    .where('oid', 'in', (eb) =>
      eb
        .selectFrom('lfs_objects')
        .select('lfs_objects.oid')
        .where('repository_id', 'in', numbersOf(JSON.stringify(repositoryIds)))
        .where('lfs_objects.oid', 'in', textsOf(JSON.stringify(oids))),
    )
    .execute()
  return new Map(found.map((content) => [content.oid, content]))
}

/** Returns whether a repository has any object. */
export async function hasLfsObjects(db: Db, repositoryId: number): Promise<boolean> {
  const found = await db
    .selectFrom('lfs_objects')
    .select('oid')
    .where('repository_id', '=', repositoryId)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Gives a repository access to contents that exist. */
export async function linkLfsObjects(
  tx: Tx,
  repositoryId: number,
  contents: readonly Pick<LfsContent, 'oid' | 'bytes'>[],
  createTime: number,
): Promise<void> {
  if (contents.length === 0) return
  const rows = contents.map(({ oid, bytes }) => ({
    repository_id: repositoryId,
    oid,
    bytes,
    create_time: createTime,
    unreferenced_since: null,
  }))
  await tx
    .insertInto('lfs_objects')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['repository_id', 'oid']).doUpdateSet({ unreferenced_since: null }),
    )
    .execute()
}

/**
 * Takes the marks of objects away that no ref needed, since a push or an upload needs them again. The
 * removal of an object whose mark is gone does nothing.
 *
 * @returns the objects that the repository has.
 */
export async function keepLfsObjects(
  tx: Tx,
  repositoryId: number,
  oids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (oids.length === 0) return new Set()
  const wanted = textsOf(JSON.stringify(oids))
  await tx
    .updateTable('lfs_objects')
    .set({ unreferenced_since: null })
    .where('repository_id', '=', repositoryId)
    .where('oid', 'in', wanted)
    .where('unreferenced_since', 'is not', null)
    .execute()
  const kept = await tx
    .selectFrom('lfs_objects')
    .select('oid')
    .where('repository_id', '=', repositoryId)
    .where('oid', 'in', wanted)
    .execute()
  return new Set(kept.map(({ oid }) => oid))
}

/**
 * Marks an object as needed by no ref, unless the object has a mark.
 *
 * @returns false if the repository does not have the object.
 */
export async function markLfsObject(
  tx: Tx,
  repositoryId: number,
  oid: string,
  now: number,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('lfs_objects')
    .set((eb) => ({ unreferenced_since: eb.fn.coalesce('unreferenced_since', eb.val(now)) }))
    .where('repository_id', '=', repositoryId)
    .where('oid', '=', oid)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Removes those of some objects from a repository whose marks are at most as new as a time.
 *
 * @param until in Unix seconds.
 * @returns the number of objects that were removed.
 */
export async function deleteMarkedLfsObjects(
  tx: Tx,
  repositoryId: number,
  oids: readonly string[],
  until: number,
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('lfs_objects')
    .where('repository_id', '=', repositoryId)
    .where('oid', 'in', textsOf(JSON.stringify(oids)))
    .where('unreferenced_since', '<=', until)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Gives a repository access to all objects of another one. */
export async function copyLfsObjects(
  tx: Tx,
  [fromId, toId]: readonly [number, number],
  createTime: number,
): Promise<void> {
  await tx
    .insertInto('lfs_objects')
    .columns(['repository_id', 'oid', 'bytes', 'create_time'])
    .expression((eb) =>
      eb
        .selectFrom('lfs_objects')
        .select(({ val }) => [val(toId).as('to_id'), 'oid', 'bytes', val(createTime).as('now')])
        .where('repository_id', '=', fromId),
    )
    .execute()
}

/** Stores the row of a content; an upload of the same content replaces where it is. */
export async function putLfsContent(tx: Tx, content: LfsContent): Promise<void> {
  await tx
    .insertInto('lfs_contents')
    .values(content)
    .onConflict((conflict) =>
      conflict.column('oid').doUpdateSet({ bytes: content.bytes, store: content.store }),
    )
    .execute()
}

/** Returns whether a store has a content that objects need. */
export async function lfsContentExists(
  db: Db,
  { oid, store }: Pick<LfsContent, 'oid' | 'store'>,
): Promise<boolean> {
  const found = await db
    .selectFrom('lfs_contents')
    .select('oid')
    .where('oid', '=', oid)
    .where('store', '=', store)
    .executeTakeFirst()
  return found !== undefined
}

/** Names the store that has all contents. */
export async function setStoreOfLfsContents(tx: Tx, store: ContentStore): Promise<void> {
  await tx.updateTable('lfs_contents').set({ store }).where('store', '<>', store).execute()
}

/** Changes the store of a content. @returns false if the row is not as it was. */
export async function setStoreOfLfsContent(
  tx: Tx,
  oid: string,
  { from, to }: StoreChange,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('lfs_contents')
    .set({ store: to })
    .where('oid', '=', oid)
    .where('store', '=', from)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns contents with ids after one, in the order of their ids. */
export function pageOfLfsContents(db: Db, after: string, limit: number): Promise<LfsContent[]> {
  return db
    .selectFrom('lfs_contents')
    .selectAll()
    .where('oid', '>', after)
    .orderBy('oid')
    .limit(limit)
    .execute()
}

/** Returns objects of a repository, in the order of their ids. */
export function listLfsObjects(
  db: Db,
  repositoryId: number,
  after: string,
  limit: number,
): Promise<LfsObject[]> {
  return db
    .selectFrom('lfs_objects')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('oid', '>', after)
    .orderBy('oid')
    .limit(limit)
    .execute()
}

/** Orders of a list of objects: the newest or the largest first. */
export type LfsObjectOrder = 'created' | 'size'

/** Returns a page of the objects of a repository, and the number of all. */
export async function pageOfLfsObjects(
  db: Db,
  repositoryId: number,
  order: LfsObjectOrder,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<{ readonly objects: LfsObject[]; readonly total: number }> {
  const all = db.selectFrom('lfs_objects').where('repository_id', '=', repositoryId)
  const objects = await all
    .selectAll()
    .orderBy(order === 'size' ? 'bytes' : 'create_time', 'desc')
    .orderBy('oid')
    .limit(limit)
    .offset(offset)
    .execute()
  const { total } = await all
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { objects, total }
}
