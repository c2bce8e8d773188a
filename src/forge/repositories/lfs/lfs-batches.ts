import { transaction } from '../../../platform/database/database.ts'
import type { DirectUpload } from '../../../platform/objects/object-store.ts'
import { nowSeconds } from '../../core/core.ts'
import type { ReposApp } from '../ports.ts'
import { type Quota, quotaOfRepository } from '../quotas/quota-checks.ts'
import type { OpenLfs } from './lfs-access.ts'
import { beginDirectUploads, type LfsDirectUpload } from './lfs-direct-uploads.ts'
import { createLfsLink, type LfsObjectId, type LfsOperation, linkExpiry } from './lfs-links.ts'
import { intactContents, linkFromNetwork } from './lfs-networks.ts'
import { keepLfsObjects } from './lfs-objects.rows.ts'
import { EMPTY_OID, isLfsOid, lfsKey } from './lfs-objects.ts'
import { endLfsReservations, reserveLfsObjects } from './lfs-reservations.rows.ts'
import type { LfsContent } from './schema.ts'

/** What a client asks for (git-lfs, docs/api/batch.md). Values of objects are as the client sent them. */
export interface LfsBatch {
  readonly operation: LfsOperation
  readonly objects: readonly LfsObjectId[]
  readonly hashAlgorithm: string
  /** Whether the client cannot transfer with the store. */
  readonly isThroughServer?: boolean
}

/** The answer for an object of a batch. */
export interface LfsBatchEntry extends LfsObjectId {
  /** `stored`: nothing to upload. `transfer`: the client may transfer the object. */
  readonly outcome: 'stored' | 'transfer' | { readonly status: number; readonly message: string }
  /** Authorises the transfer; undefined where none is needed. */
  readonly link?: string | undefined
  /** The request to the store; undefined for a transfer through the server. */
  readonly direct?: DirectUpload | undefined
}

/** Free space that uploads leave. */
export const RESERVE_BYTES = 256 * 1024 * 1024

/**
 * Answers a batch, with an entry for each object in the order of the request.
 *
 * @throws QUOTA_EXCEEDED for an upload whose objects do not fit together.
 */
export async function answerBatch(
  app: ReposApp,
  open: OpenLfs,
  batch: LfsBatch,
): Promise<LfsBatchEntry[]> {
  const { operation, objects, hashAlgorithm, isThroughServer = false } = batch
  if (hashAlgorithm !== 'sha256')
    return objects.map((object) => refused(object, 409, 'the hash algorithm has to be sha256'))
  const oids = [...new Set(objects.filter(isValid).map(({ oid }) => oid))]
  const own = await intactContents(app, [open.repository.id], oids)
  if (operation === 'download') {
    const urls = await downloadUrls(app, isThroughServer ? [] : own.values())
    return objects.map((object) => ({
      ...downloadEntry(app, open, own, object),
      direct: urls.get(object.oid),
    }))
  }
  const missing = oids.filter((oid) => !own.has(oid) && oid !== EMPTY_OID)
  const linked = await linkFromNetwork(app, open, missing)
  const stored = new Map([...own, ...linked])
  // A push of their pointers follows.
  await transaction(app.db, (tx) => keepLfsObjects(tx, open.repository.id, [...own.keys()]))
  const { maxLfsBytes } = app.settings
  const wanted = objects.filter(
    (object) => isValid(object) && !stored.has(object.oid) && object.bytes <= maxLfsBytes,
  )
  const sizes = new Map(wanted.map((object) => [object.oid, object.bytes]))
  const bytes = sumOf(sizes)
  const uploader = open.caller.kind === 'user' ? open.caller : undefined
  const quota = await quotaOfRepository(app, uploader, open.repository.id, 'lfs')
  const hasRoom = bytes === 0 || (await app.disk.hasRoom(bytes + RESERVE_BYTES))
  if (quota && hasRoom) await reserve(app, open.repository.id, quota, sizes)
  const isDirect = hasRoom && !isThroughServer
  const direct = isDirect
    ? await beginDirectUploads(
        app,
        wanted.filter((object) => object.bytes > 0),
      )
    : new Map()
  return objects.map((object) => uploadEntry(app, open, { stored, hasRoom, direct }, object))
}

/**
 * Reserves the bytes of uploads until their links expire, in place of what earlier batches have reserved for
 * the same objects.
 *
 * @param sizes bytes by SHA-256.
 * @throws QUOTA_EXCEEDED
 */
async function reserve(
  app: ReposApp,
  repositoryId: number,
  quota: Quota,
  sizes: ReadonlyMap<string, number>,
): Promise<void> {
  if (sizes.size === 0) return
  const objects = [...sizes].map(([oid, bytes]) => ({ oid, bytes }))
  const now = nowSeconds(app.clock)
  await transaction(app.db, async (tx) => {
    await endLfsReservations(tx, repositoryId, [...sizes.keys()], now)
    await quota.check(tx, sumOf(sizes))
    await reserveLfsObjects(tx, repositoryId, objects, linkExpiry(app))
  })
}

function sumOf(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}

/** Returns the requests by which a client reads contents from their store, by SHA-256. */
async function downloadUrls(
  app: ReposApp,
  contents: Iterable<LfsContent>,
): Promise<ReadonlyMap<string, DirectUpload>> {
  const as = {
    method: 'GET',
    contentType: 'application/octet-stream',
    disposition: 'attachment',
  } as const
  const urls = new Map<string, DirectUpload>()
  for (const { oid, store } of contents) {
    const url = await app.objects.of(store).direct?.downloadUrl(lfsKey(oid), as)
    if (url !== undefined) urls.set(oid, { url, headers: {} })
  }
  return urls
}

function isValid({ oid, bytes }: LfsObjectId): boolean {
  return isLfsOid(oid) && Number.isSafeInteger(bytes) && bytes >= 0
}

function refused(object: LfsObjectId, status: number, message: string): LfsBatchEntry {
  return { ...object, outcome: { status, message } }
}

function invalidEntry(object: LfsObjectId, content: LfsContent | undefined) {
  if (!isValid(object)) return refused(object, 422, 'the oid or the size is not valid')
  const bytes = object.oid === EMPTY_OID ? 0 : (content?.bytes ?? object.bytes)
  return bytes === object.bytes ? undefined : refused(object, 422, 'the object has another size')
}

function downloadEntry(
  app: ReposApp,
  { repository, requester }: OpenLfs,
  own: ReadonlyMap<string, LfsContent>,
  object: LfsObjectId,
): LfsBatchEntry {
  const content = own.get(object.oid)
  const invalid = invalidEntry(object, content)
  if (invalid) return invalid
  if (!content && object.oid !== EMPTY_OID)
    return refused(object, 404, 'the repository does not have this object')
  const target = { repositoryId: repository.id, operation: 'download' } as const
  return { ...object, outcome: 'transfer', link: createLfsLink(app, requester, target, object) }
}

function uploadEntry(
  app: ReposApp,
  { repository, requester, branch }: OpenLfs,
  {
    stored,
    hasRoom,
    direct: uploads,
  }: {
    readonly stored: ReadonlyMap<string, LfsContent>
    readonly hasRoom: boolean
    readonly direct: ReadonlyMap<string, LfsDirectUpload>
  },
  object: LfsObjectId,
): LfsBatchEntry {
  const content = stored.get(object.oid)
  const invalid = invalidEntry(object, content)
  if (invalid) return invalid
  if (content) return { ...object, outcome: 'stored' }
  const { maxLfsBytes } = app.settings
  if (object.bytes > maxLfsBytes)
    return refused(
      object,
      413,
      `the object is larger than the ${maxLfsBytes} bytes that this server takes`,
    )
  if (!hasRoom) return refused(object, 507, 'the disk of the server is full')
  const direct = uploads.get(object.oid)
  const operation = 'upload'
  const target = {
    repositoryId: repository.id,
    operation,
    branch,
    uploadId: direct?.uploadId,
  } as const
  const link = createLfsLink(app, requester, target, object)
  return { ...object, outcome: 'transfer', link, direct }
}
