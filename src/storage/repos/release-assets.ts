import type { NewReleaseAsset, ReleaseAsset } from '../schema/releases.ts'
import type { Db, Tx } from '../schema/schema.ts'

/** A file that a row says is there. */
export interface StoredAttachment {
  readonly uuid: string
  readonly repository_id: number
  readonly bytes: number
}

/** The assets of releases, oldest first. */
export function listReleaseAssets(db: Db, releaseIds: readonly number[]): Promise<ReleaseAsset[]> {
  return db
    .selectFrom('release_assets')
    .selectAll()
    .where('release_id', 'in', releaseIds)
    .orderBy('id')
    .execute()
}

/** The asset of a release with an id. */
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

/** The asset behind a download URL, and where its release is. */
export function findAttachment(
  db: Db,
  uuid: string,
): Promise<
  (ReleaseAsset & { readonly repository_id: number; readonly draft: number }) | undefined
> {
  return db
    .selectFrom('release_assets')
    .innerJoin('releases', 'releases.id', 'release_assets.release_id')
    .selectAll('release_assets')
    .select(['releases.repository_id', 'releases.draft'])
    .where('uuid', '=', uuid)
    .executeTakeFirst()
}

/** How many a release has. */
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

/** Gives an asset another name; undefined when it is gone. */
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

/** Deletes the assets of a release and returns the uuids of their files. */
export async function deleteAssetsOfRelease(tx: Tx, releaseId: number): Promise<string[]> {
  const deleted = await tx
    .deleteFrom('release_assets')
    .where('release_id', '=', releaseId)
    .returning('uuid')
    .execute()
  return deleted.map(({ uuid }) => uuid)
}

/** Forgets assets whose files are gone. */
export async function deleteReleaseAssets(tx: Tx, uuids: readonly string[]): Promise<void> {
  for (const uuid of uuids) await tx.deleteFrom('release_assets').where('uuid', '=', uuid).execute()
}

/**
 * A part of all files that rows say are there, in the order of their uuids.
 *
 * @param after uuid of the last one before; empty for the first part.
 */
export function pageOfAttachments(
  db: Db,
  after: string,
  limit: number,
): Promise<StoredAttachment[]> {
  return db
    .selectFrom('release_assets')
    .innerJoin('releases', 'releases.id', 'release_assets.release_id')
    .select(['uuid', 'bytes', 'repository_id'])
    .where('uuid', '>', after)
    .orderBy('uuid')
    .limit(limit)
    .execute()
}
