import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { ContentStore, StoreChange } from '../attachments/schema.ts'
import type { NewReleaseAsset, ReleaseAsset } from './schema.ts'

/** A file with a row. */
export interface StoredAttachment {
  readonly id: number
  readonly uuid: string
  readonly repository_id: number
  readonly bytes: number
  readonly store: ContentStore
}

/** Returns the assets of releases, oldest first. */
export function listReleaseAssets(db: Db, releaseIds: readonly number[]): Promise<ReleaseAsset[]> {
  return assetsOfReleases(db, JSON.stringify(releaseIds))
}

const assetsOfReleases = prepareQuery((db, releaseIds: string) =>
  db
    .selectFrom('release_assets')
    .selectAll()
    .where('release_id', 'in', numbersOf(releaseIds))
    .orderBy('id'),
)

/** Returns the asset of a release with an id. */
export function findReleaseAsset(
  db: Db,
  releaseId: number,
  id: number,
): Promise<ReleaseAsset | undefined> {
  return db
    .selectFrom('release_assets')
    .selectAll()
    .where('release_id', '=', releaseId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Returns the asset of a download URL, with its release. */
export function findAttachment(
  db: Db,
  uuid: string,
): Promise<(ReleaseAsset & { readonly draft: number }) | undefined> {
  return db
    .selectFrom('release_assets')
    .innerJoin('releases', 'releases.id', 'release_assets.release_id')
    .selectAll('release_assets')
    .select('releases.draft')
    .where('uuid', '=', uuid)
    .executeTakeFirst()
}

/** Returns the number of assets of a release. */
export async function countReleaseAssets(db: Db, releaseId: number): Promise<number> {
  const { count } = await db
    .selectFrom('release_assets')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('release_id', '=', releaseId)
    .executeTakeFirstOrThrow()
  return count
}

export function insertReleaseAsset(tx: Tx, asset: NewReleaseAsset): Promise<ReleaseAsset> {
  return tx.insertInto('release_assets').values(asset).returningAll().executeTakeFirstOrThrow()
}

/** Renames an asset. Returns undefined if it has been deleted. */
export function renameReleaseAsset(
  tx: Tx,
  id: number,
  name: string,
): Promise<ReleaseAsset | undefined> {
  return tx
    .updateTable('release_assets')
    .set({ name })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Counts a download. */
export async function countDownload(db: Db, id: number): Promise<void> {
  await db
    .updateTable('release_assets')
    .set((eb) => ({ download_count: eb('download_count', '+', 1) }))
    .where('id', '=', id)
    .execute()
}

/** Deletes an asset. */
export async function deleteReleaseAsset(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('release_assets').where('id', '=', id).execute()
}

/** Deletes the assets of a release. */
export async function deleteAssetsOfRelease(tx: Tx, releaseId: number): Promise<void> {
  await tx.deleteFrom('release_assets').where('release_id', '=', releaseId).execute()
}

/** Changes the store of an asset. @returns false if the row is not as it was. */
export async function setStoreOfAsset(
  tx: Tx,
  row: { readonly id: number; readonly repository_id: number },
  { from, to }: StoreChange,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('release_assets')
    .set({ store: to })
    .where('id', '=', row.id)
    .where('repository_id', '=', row.repository_id)
    .where('store', '=', from)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Names the store that has all files. */
export async function setStoreOfAssets(tx: Tx, store: ContentStore): Promise<void> {
  await tx.updateTable('release_assets').set({ store }).where('store', '<>', store).execute()
}

/**
 * Returns a page of all files with a row, sorted by uuid.
 *
 * @param after the last uuid of the previous page; empty for the first page
 */
export function pageOfAttachments(
  db: Db,
  after: string,
  limit: number,
): Promise<StoredAttachment[]> {
  return db
    .selectFrom('release_assets')
    .select(['id', 'uuid', 'bytes', 'repository_id', 'store'])
    .where('uuid', '>', after)
    .orderBy('uuid')
    .limit(limit)
    .execute()
}
