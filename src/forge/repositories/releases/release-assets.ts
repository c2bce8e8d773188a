import type { Tx } from '../../../platform/database/schema.ts'
import { type Caller, requireScope, type SignedIn } from '../../core/access.ts'
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
import { deleteDiscardedFiles } from '../attachments/storage-deletions.ts'
import {
  type Download,
  type DownloadRequest,
  FILE_NAME,
  openDownload,
  storeFile,
} from '../attachments/stored-files.ts'
import type { ReposApp } from '../ports.ts'
import { findTag } from '../refs/tags.rows.ts'
import * as rows from './release-assets.rows.ts'
import { deleteRelease, findRelease, updateRelease } from './releases.rows.ts'
import type { Release, ReleaseAsset } from './schema.ts'

/** Assets of one release, all of which lists of releases contain. */
export const MAX_ASSETS = 250

/** The longest file name on Linux. */
const MAX_NAME_BYTES = 255

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
  const upload = { caller, repositoryId: repository_id, kind: 'releases', content } as const
  return storeFile(app, upload, assetRules(app), async (file, checkQuota) => {
    await reopen()
    return changeWatched(app, async (tx) => {
      await checkQuota(tx)
      // The release may have been deleted meanwhile, or reduced to its tag.
      if (!(await findRelease(tx, repository_id, release.id)))
        throw new DomainError('RELEASE_NOT_FOUND')
      checkCount(await rows.countReleaseAssets(tx, release.id))
      const asset = {
        repository_id,
        release_id: release.id,
        ...file,
        name,
        create_time: nowSeconds(app.clock),
      }
      await recordAssetChange(app, tx, caller, release)
      return rows.insertReleaseAsset(tx, asset)
    })
  })
}

/** The rules of uploads of assets. */
export function assetRules({ settings }: ReposApp) {
  const maxBytes = settings.maxAssetBytes
  return {
    maxBytes,
    allowsEmpty: true,
    tooLarge: () => new DomainError('ASSET_TOO_LARGE', { max_bytes: String(maxBytes) }),
    noFile: () => new DomainError('INVALID_UPLOAD'),
    gone: () => new DomainError('RELEASE_NOT_FOUND'),
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
  await changeWatched(app, async (tx) => {
    found(await rows.findReleaseAsset(tx, release.id, id))
    await rows.deleteReleaseAsset(tx, id)
    await recordAssetChange(app, tx, caller, release)
  })
  deleteDiscardedFiles(app)
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
  await changeWatched(app, async (tx) => {
    const present = await findRelease(tx, repository_id, id)
    if (!present) throw new DomainError('RELEASE_NOT_FOUND')
    await recordReleaseChange(app, tx, caller, present, undefined)
    await rows.deleteAssetsOfRelease(tx, id)
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
  })
  deleteDiscardedFiles(app)
}

/**
 * Returns the content of an asset to a caller who can see its release.
 *
 * @throws ASSET_NOT_FOUND; SCOPE_MISSING for a token without `read:repository`
 */
export async function download(
  app: ReposApp,
  caller: Caller,
  uuid: string,
  request: DownloadRequest,
): Promise<Download> {
  const asset = found(await rows.findAttachment(app.db, uuid))
  // A caller without access gets ASSET_NOT_FOUND in all cases.
  const open = await openRepositoryById(app, caller, asset.repository_id, 'read', 'releases').catch(
    notFoundInstead,
  )
  if (asset.draft === 1 && !seesDrafts(caller, open)) throw new DomainError('ASSET_NOT_FOUND')
  requireScope(caller, 'read:repository')
  const count = () => rows.countDownload(app.db, asset.id)
  return openDownload(app, asset, request, count, () => new DomainError('ASSET_NOT_FOUND'))
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
