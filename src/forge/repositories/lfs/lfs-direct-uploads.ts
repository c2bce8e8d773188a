import { randomUUID } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import type { DirectUpload } from '../../../platform/objects/object-store.ts'
import { nowSeconds } from '../../core/core.ts'
import { queueStorageDeletion } from '../attachments/storage-deletions.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { OpenLfs } from './lfs-access.ts'
import { LfsError } from './lfs-error.ts'
import type { LfsObjectId } from './lfs-links.ts'
import { lfsKey, storeContent, UPLOAD_SECONDS } from './lfs-objects.ts'

/**
 * Uploads that clients send to the store themselves. Each goes to a key of its own: at the key of the
 * object, nobody could tell the bytes of the caller from those of somebody else, and the caller would
 * get an object by its SHA-256 alone.
 */

/** An upload to the store. */
export interface LfsDirectUpload extends DirectUpload {
  /** The name of the upload, which its link has. */
  readonly uploadId: string
}

function incomingKey(uploadId: string): string {
  return `incoming/${uploadId}`
}

/**
 * Returns the requests by which a client uploads some objects to the store, by their SHA-256. An object
 * that is missing goes through the server. The deletion of each upload is queued before.
 */
export async function beginDirectUploads(
  app: ReposApp,
  objects: readonly LfsObjectId[],
): Promise<ReadonlyMap<string, LfsDirectUpload>> {
  const { direct, name } = app.objects.current
  const uploads = new Map<string, LfsDirectUpload>()
  if (!direct) return uploads
  for (const { oid, bytes } of objects) {
    const uploadId = randomUUID()
    const request = await direct.upload(incomingKey(uploadId), { bytes, sha256: oid })
    if (request) uploads.set(oid, { ...request, uploadId })
  }
  const dueTime = nowSeconds(app.clock) + UPLOAD_SECONDS
  await transaction(app.db, async (tx) => {
    for (const { uploadId } of uploads.values())
      await queueStorageDeletion(tx, {
        store: name,
        object_key: incomingKey(uploadId),
        due_time: dueTime,
      })
  })
  return uploads
}

/**
 * Stores an object that a client has uploaded to the store. The store has compared the SHA-256.
 *
 * @throws LfsError 404 without such an upload, 422 for another size; as `storeLfsObject`.
 */
export async function acceptDirectUpload(
  app: ReposApp,
  open: OpenLfs,
  object: LfsObjectId,
  uploadId: string,
): Promise<void> {
  const store = app.objects.current
  const from = incomingKey(uploadId)
  const bytes = await store.size(from)
  if (bytes === undefined) throw new LfsError(404, 'the object was not uploaded')
  if (bytes !== object.bytes) {
    await store.delete(from)
    throw new LfsError(422, 'the object has another size')
  }
  await storeContent(app, open, object, async () => {
    const to = lfsKey(object.oid)
    // A damaged object would stay.
    if ((await store.size(to)) !== bytes) await store.delete(to)
    await store.copy(from, to)
  })
  // A failure leaves this to the queue of deletions.
  await store.delete(from).catch((err: unknown) => app.log.debug({ err }, 'an upload was left'))
}
