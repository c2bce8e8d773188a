import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { readTitle } from '../conversations/conversation-fields.ts'
import { type FileSource, RecordError } from '../conversations/imported-attachments.ts'
import { nowSeconds } from '../core/core.ts'
import { FILE_NAME, storeFile } from '../repositories/attachments/stored-files.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { findTag } from '../repositories/refs/tags.rows.ts'
import {
  countReleaseAssets,
  insertReleaseAsset,
} from '../repositories/releases/release-assets.rows.ts'
import { assetRules, MAX_ASSETS } from '../repositories/releases/release-assets.ts'
import {
  findEntryByTag,
  insertRelease,
  updateRelease,
} from '../repositories/releases/releases.rows.ts'
import type { AssetRecord, ReleaseRecord } from './project-records.ts'
import { authorOf, bodyOf, type Target } from './stored-records.ts'

/** Longer ones are no names of branches and commits. */
const MAX_TARGET_CHARACTERS = 1024

/** Stores a release without its assets, which follow one by one. */
export async function storeRelease(tx: Tx, target: Target, record: ReleaseRecord): Promise<void> {
  const { repositoryId: repository_id } = target
  const { tag: tag_name } = record
  const entry = tag_name && (await findEntryByTag(tx, repository_id, tag_name))
  if (entry && entry.tag_only === 0) throw new RecordError('another release has the tag')
  const hasTag = tag_name !== '' && (await findTag(tx, repository_id, tag_name)) !== undefined
  // A published release has a tag.
  const isDraft = record.isDraft || !hasTag
  if (isDraft && !record.isDraft) target.leftOut('the tag does not exist: the release is a draft')
  const { id: publisher_id, ...original } = authorOf(target, record.author)
  const release = {
    repository_id,
    tag_name,
    tag_only: 0,
    draft: Number(isDraft),
    prerelease: Number(record.isPrerelease),
    publisher_id,
    ...original,
    create_time: record.createTime,
    target: record.target.slice(0, MAX_TARGET_CHARACTERS),
    title: readTitle(record.title),
    note: bodyOf(target, record.note),
  }
  if (entry) await updateRelease(tx, entry.id, release)
  else await insertRelease(tx, release)
}

/**
 * Stores an asset of a release while it is downloaded.
 *
 * @throws RecordError, ASSET_TOO_LARGE, QUOTA_EXCEEDED, and what `open` throws.
 */
export async function storeAsset(
  app: ReposApp,
  place: { readonly repositoryId: number; readonly releaseId: number },
  { name, createTime }: AssetRecord,
  { open, note }: FileSource,
): Promise<void> {
  const { repositoryId: repository_id, releaseId: release_id } = place
  if (!FILE_NAME.test(name) || Buffer.byteLength(name) > MAX_NAME_BYTES)
    throw new RecordError('the name of the file is not allowed')
  if ((await countReleaseAssets(app.db, release_id)) >= MAX_ASSETS)
    throw new RecordError(`a release has at most ${MAX_ASSETS} files`)
  const content = await open()
  const upload = {
    caller: undefined,
    repositoryId: repository_id,
    kind: 'releases',
    content,
  } as const
  await storeFile(app, upload, assetRules(app), async (file, checkQuota) => {
    const create_time = createTime || nowSeconds(app.clock)
    const row = { repository_id, release_id, ...file, name, create_time }
    await transaction(app.db, async (tx) => {
      await checkQuota(tx)
      if (!(await note(tx))) throw new RecordError('the file is imported already')
      await insertReleaseAsset(tx, row)
    })
  })
}

/** The longest file name on Linux. */
const MAX_NAME_BYTES = 255
