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
    .onConflict((conflict) => conflict.doNothing())
    .execute()
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
