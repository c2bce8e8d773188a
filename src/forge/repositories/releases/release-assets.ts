import type { Tx } from '../../../platform/database/schema.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { type ByteRange, readRange } from '../../core/byte-ranges.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import {
  openForWriting,
  openRepository,
  openRepositoryById,
  seesDrafts,
  visibleRelease,
} from '../access/permissions.ts'
import { changeWatched, recordReleaseChange } from '../activity/repository-events.ts'
import type { ReposApp } from '../ports.ts'
import { findTag } from '../refs/tags.rows.ts'
import {
  AttachmentGoneError,
  AttachmentTooLargeError,
  openAttachment,
  removeAttachment,
  writeAttachment,
} from './attachment-files.ts'
import * as rows from './release-assets.rows.ts'
import { deleteRelease, findRelease, updateRelease } from './releases.rows.ts'
import type { Release, ReleaseAsset } from './schema.ts'

/**
 * Files attached to releases. An upload writes the file before its row, and a deletion deletes the
 * row before its file. So a row always has its file, and `doctor` removes files without a row.
 */

/** Assets of one release, all of which lists of releases contain. */
export const MAX_ASSETS = 250

/** The longest file name on Linux. */
const MAX_NAME_BYTES = 255

/** A name that is valid for a file wherever it is saved. */
const FILE_NAME = /^(?!\.{1,2}$)[^/\\\p{Cc}\p{Cs}]+$/u

/** The whole or a part of an asset. */
export interface Download {
  readonly asset: ReleaseAsset
  /** Undefined for the whole asset. */
  readonly range: ByteRange | undefined
  /** The content. Its file stays open until this is read to its end or stopped. */
  readonly chunks: AsyncIterable<Buffer>
}

/** Returns the assets of a release, oldest first. */
export async function listAssets(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  releaseId: number,
): Promise<ReleaseAsset[]> {
  const open = await openRepository(app, caller, name, 'read', 'releases')
  const { id } = visibleRelease(
    caller,
    open,
    await findRelease(app.db, open.repository.id, releaseId),
  )
  return rows.listReleaseAssets(app.db, [id])
}

/** Returns an asset of a release. */
export async function getAsset(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  releaseId: number,
  id: number,
): Promise<ReleaseAsset> {
  const open = await openRepository(app, caller, name, 'read', 'releases')
  const release = visibleRelease(
    caller,
    open,
    await findRelease(app.db, open.repository.id, releaseId),
  )
  return found(await rows.findReleaseAsset(app.db, release.id, id))
}

/** Opens a release for a change of its assets. */
export async function openAssets(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  releaseId: number,
): Promise<Release> {
  const open = await openForWriting(app, caller, name)
  return visibleRelease(caller, open, await findRelease(app.db, open.repository.id, releaseId))
}

/** An upload of an asset. */
export interface Upload {
  readonly name: string
  readonly content: AsyncIterable<Uint8Array>
  readonly reopen: () => Promise<Release>
}

/**
 * Stores an asset of a release while it is uploaded.
 *
 * @param reopen opens the release again. An upload can take hours, and the permissions at its end
 *   count.
 */
export async function addAsset(
  app: ReposApp,
  caller: SignedIn,
  release: Release,
  { name, content, reopen }: Upload,
): Promise<ReleaseAsset> {
  checkName(name)
  checkCount(await rows.countReleaseAssets(app.db, release.id))
  const { repository_id } = release
  const { uuid, bytes } = await storeFile(app, repository_id, content)
  try {
    await reopen()
    return await changeWatched(app, async (tx) => {
      // The release may have been deleted meanwhile, or reduced to its tag.
      if (!(await findRelease(tx, repository_id, release.id)))
        throw new DomainError('RELEASE_NOT_FOUND')
      checkCount(await rows.countReleaseAssets(tx, release.id))
      const asset = {
        release_id: release.id,
        uuid,
        name,
        bytes,
        create_time: nowSeconds(app.clock),
      }
      await recordAssetChange(app, tx, caller, release)
      return rows.insertReleaseAsset(tx, asset)
    })
  } catch (error) {
    await removeAttachment(app.attachments, repository_id, uuid)
    throw error
  }
}

async function storeFile(app: ReposApp, repositoryId: number, content: AsyncIterable<Uint8Array>) {
  const { maxAssetBytes } = app.settings
  try {
    return await writeAttachment(app.attachments, repositoryId, content, maxAssetBytes)
  } catch (error) {
    if (error instanceof AttachmentTooLargeError) {
      throw new DomainError('ASSET_TOO_LARGE', { max_bytes: String(maxAssetBytes) })
    }
    // The deletion of a repository deletes its folder, too.
    if (error instanceof AttachmentGoneError) throw new DomainError('RELEASE_NOT_FOUND')
    throw error
  }
}

/** Renames an asset. An empty name changes nothing. */
export async function renameAsset(
  app: ReposApp,
  caller: SignedIn,
  release: Release,
  id: number,
  name: string,
): Promise<ReleaseAsset> {
  return changeWatched(app, async (tx) => {
    const asset = found(await rows.findReleaseAsset(tx, release.id, id))
    if (name === '') return asset
    checkName(name)
    await recordAssetChange(app, tx, caller, release)
    return found(await rows.renameReleaseAsset(tx, id, name))
  })
}

/** Deletes an asset. */
export async function deleteAsset(
  app: ReposApp,
  caller: SignedIn,
  release: Release,
  id: number,
): Promise<void> {
  const { uuid } = await changeWatched(app, async (tx) => {
    const asset = found(await rows.findReleaseAsset(tx, release.id, id))
    await rows.deleteReleaseAsset(tx, id)
    await recordAssetChange(app, tx, caller, release)
    return asset
  })
  removeFiles(app, release.repository_id, [uuid])
}

/** Records that a release was edited, since a change of its assets is an edit. */
async function recordAssetChange(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  { repository_id, id }: Release,
): Promise<void> {
  const present = await findRelease(tx, repository_id, id)
  await recordReleaseChange(app, tx, caller, present, present)
}

/** Deletes a release with its assets. If its tag exists, the row stays as the entry of the tag. */
export async function removeReleaseRow(
  app: ReposApp,
  caller: SignedIn,
  { id, repository_id, tag_name }: Release,
): Promise<void> {
  const uuids = await changeWatched(app, async (tx) => {
    const present = await findRelease(tx, repository_id, id)
    if (!present) throw new DomainError('RELEASE_NOT_FOUND')
    await recordReleaseChange(app, tx, caller, present, undefined)
    const deleted = await rows.deleteAssetsOfRelease(tx, id)
    const isTagThere = (await findTag(tx, repository_id, tag_name)) !== undefined
    if (isTagThere)
      await updateRelease(tx, id, {
        tag_only: 1,
        draft: 0,
        prerelease: 0,
        target: '',
        title: '',
        note: '',
      })
    else await deleteRelease(tx, id)
    return deleted
  })
  removeFiles(app, repository_id, uuids)
}

/** Removes files in the background, since no row refers to them any more. */
function removeFiles(app: ReposApp, repositoryId: number, uuids: readonly string[]): void {
  if (uuids.length === 0) return
  app.background.run('remove attachments', async () => {
    for (const uuid of uuids) await removeAttachment(app.attachments, repositoryId, uuid)
  })
}

/**
 * Returns the content of an asset to a caller who can see its release.
 *
 * @param rangeText a `Range` header. Undefined for the whole asset.
 * @param isCounted whether to count the download.
 */
export async function download(
  app: ReposApp,
  caller: Caller,
  uuid: string,
  rangeText: string | undefined,
  isCounted: boolean,
): Promise<Download> {
  const asset = found(await rows.findAttachment(app.db, uuid))
  const { repository_id, draft } = asset
  // A caller without access gets ASSET_NOT_FOUND in all cases.
  const open = await openRepositoryById(app, caller, repository_id, 'read', 'releases').catch(
    notFoundInstead,
  )
  if (draft === 1 && !seesDrafts(caller, open)) throw new DomainError('ASSET_NOT_FOUND')
  const range = rangeText === undefined ? undefined : readRange(rangeText, asset.bytes)
  // A client that continues an interrupted download was counted before.
  if (isCounted && (range === undefined || range.first === 0))
    await rows.countDownload(app.db, asset.id)
  const file = await openAttachment(app.attachments, repository_id, uuid)
  // The release has just been deleted.
  if (!file) throw new DomainError('ASSET_NOT_FOUND')
  return {
    asset,
    range,
    chunks: file.createReadStream(range && { start: range.first, end: range.last }),
  }
}

function notFoundInstead(error: unknown): never {
  throw error instanceof DomainError ? new DomainError('ASSET_NOT_FOUND') : error
}

function found<T>(asset: T | undefined): T {
  if (asset === undefined) throw new DomainError('ASSET_NOT_FOUND')
  return asset
}

function checkName(name: string): void {
  if (!FILE_NAME.test(name)) throw new DomainError('INVALID_FIELD', { field: 'name' })
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw new DomainError('INVALID_FIELD', { field: 'name', max_bytes: String(MAX_NAME_BYTES) })
  }
}

function checkCount(count: number): void {
  if (count >= MAX_ASSETS) throw new DomainError('TOO_MANY_ASSETS', { limit: String(MAX_ASSETS) })
}
