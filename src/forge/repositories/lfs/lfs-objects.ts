import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { createYielder } from '../../../platform/concurrency/yielding.ts'
import { transaction } from '../../../platform/database/database.ts'
import type { Caller } from '../../core/access.ts'
import { type ByteRange, readRange } from '../../core/byte-ranges.ts'
import { nowSeconds } from '../../core/core.ts'
import { endStorageDeletion, queueStorageDeletion } from '../attachments/storage-deletions.rows.ts'
import { cancelDeletion, postponeDeletion } from '../attachments/storage-deletions.ts'
import type { ReposApp } from '../ports.ts'
import { quotaOfRepository } from '../quotas/quota-checks.ts'
import type { OpenLfs } from './lfs-access.ts'
import { LfsError } from './lfs-error.ts'
import type { LfsObjectId } from './lfs-links.ts'
import {
  findLfsContent,
  lfsContentExists,
  linkLfsObjects,
  putLfsContent,
} from './lfs-objects.rows.ts'
import { endLfsReservations } from './lfs-reservations.rows.ts'

/** The beginning of the keys of all contents. */
export const LFS_KEYS = 'lfs/'

/** The empty object, which everyone has without a row. */
export const EMPTY_OID = createHash('sha256').digest('hex')

const OID = /^[0-9a-f]{64}$/

/** Returns whether a text has the form of an id of an object. */
export function isLfsOid(text: string): boolean {
  return OID.test(text)
}

/** Returns the key of a content: `lfs/ab/cd/<oid>`. */
export function lfsKey(oid: string): string {
  return `${LFS_KEYS}${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`
}

/** The repository that gets an object, and who sees numbers of its quota; undefined for the server. */
type UploadPlace = Pick<OpenLfs, 'repository'> & { readonly caller: Caller | undefined }

/** How long the content of an upload may be without a row: longer than any upload takes. */
export const UPLOAD_SECONDS = 24 * 60 * 60

/**
 * Stores an object while it is uploaded, once its content is verified, and then its row.
 *
 * @throws LfsError 422 for other content; SERVER_BUSY if the content of an earlier object is deleted
 *   at this moment; DELETED_MEANWHILE if the repository was deleted; QUOTA_EXCEEDED.
 */
export async function storeLfsObject(
  app: ReposApp,
  place: UploadPlace,
  object: LfsObjectId,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const verified = verifiedContent(content, object)
  if (object.oid === EMPTY_OID) {
    for await (const chunk of verified) void chunk
    return
  }
  const store = app.objects.current
  await storeContent(app, place, object, () =>
    store.put(lfsKey(object.oid), verified, object.bytes),
  )
}

/**
 * Writes a content, and then the row of an object. Before the content is written, its deletion is
 * queued, so that a crash leaves nothing behind. The transaction that stores the row cancels the
 * deletion.
 *
 * @param write stores nothing if it fails.
 * @throws what `write` throws; SERVER_BUSY, DELETED_MEANWHILE, QUOTA_EXCEEDED
 */
export async function storeContent(
  app: ReposApp,
  { repository, caller }: UploadPlace,
  object: LfsObjectId,
  write: () => Promise<unknown>,
): Promise<void> {
  const { oid, bytes } = object
  const uploader = caller?.kind === 'user' ? caller : undefined
  const quota = await quotaOfRepository(app, uploader, repository.id, 'lfs')
  const store = app.objects.current
  const place = { store: store.name, object_key: lfsKey(oid) }
  const now = nowSeconds(app.clock)
  const dueTime = now + UPLOAD_SECONDS
  const deletionId = await transaction(app.db, async (tx) => {
    await postponeDeletion(app, tx, place, dueTime)
    if (await lfsContentExists(tx, { oid, store: store.name })) return undefined
    return queueStorageDeletion(tx, { ...place, due_time: dueTime })
  })
  try {
    await write()
  } catch (error) {
    // Nothing was stored. Another upload of the object may have succeeded.
    if (deletionId !== undefined)
      await transaction(app.db, (tx) => endStorageDeletion(tx, deletionId))
    throw error
  }
  await transaction(app.db, async (tx) => {
    await cancelDeletion(app, tx, place)
    await putLfsContent(tx, { oid, bytes, store: store.name, create_time: now })
    // The row takes the place of the reservation.
    if (quota) await endLfsReservations(tx, repository.id, [oid], now)
    if (!(await findLfsContent(tx, repository.id, oid))) await quota?.check(tx, bytes)
    await linkLfsObjects(tx, repository.id, [object], now)
  })
}

/**
 * Passes content on, and compares it with the object. Fails before the last byte could be taken as
 * the end.
 *
 * @throws LfsError 422, the only status after which clients do not repeat an upload.
 */
export async function* verifiedContent(
  content: AsyncIterable<Uint8Array>,
  { oid, bytes }: LfsObjectId,
): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256')
  const yielder = createYielder()
  let seen = 0
  for await (const chunk of content) {
    seen += chunk.length
    if (seen > bytes) throw new LfsError(422, 'the content is longer than the size of the object')
    hash.update(chunk)
    yield chunk
    const pause = yielder.yield()
    if (pause) await pause
  }
  if (seen < bytes) throw new LfsError(422, 'the content is shorter than the size of the object')
  if (hash.digest('hex') !== oid) throw new LfsError(422, 'the content has another SHA-256')
}

/** An object that is read. */
export interface OpenLfsObject {
  /** Size of the whole object in bytes. */
  readonly bytes: number
  /** Undefined for the whole object. */
  readonly range: ByteRange | undefined
  /** Must be read or destroyed. */
  readonly content: Readable
}

/**
 * Returns the size of an object of a repository.
 *
 * @throws LfsError 404
 */
export async function sizeOfLfsObject(
  app: ReposApp,
  repositoryId: number,
  oid: string,
): Promise<number> {
  if (oid === EMPTY_OID) return 0
  const content = await findLfsContent(app.db, repositoryId, oid)
  if (!content) throw missing()
  return content.bytes
}

/**
 * Opens an object of a repository.
 *
 * @param rangeText a `Range` header; undefined for the whole object.
 * @throws LfsError 404, RANGE_NOT_SATISFIABLE
 */
export async function openLfsObject(
  app: ReposApp,
  repositoryId: number,
  oid: string,
  rangeText: string | undefined,
): Promise<OpenLfsObject> {
  const content = await findLfsContent(app.db, repositoryId, oid)
  const bytes = oid === EMPTY_OID ? 0 : content?.bytes
  if (bytes === undefined) throw missing()
  const range = rangeText === undefined ? undefined : readRange(rangeText, bytes)
  if (!content) return { bytes, range, content: Readable.from([]) }
  const opened = await app.objects.of(content.store).get(lfsKey(oid), range)
  if (opened?.bytes === bytes) return { bytes, range, content: opened.content }
  opened?.content.destroy()
  throw missing()
}

function missing(): LfsError {
  return new LfsError(404, 'the repository does not have this object')
}
