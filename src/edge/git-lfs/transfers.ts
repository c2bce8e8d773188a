import type { App } from '../../forge/app.ts'
import type { OpenLfs } from '../../forge/repositories/lfs/lfs-access.ts'
import { RESERVE_BYTES } from '../../forge/repositories/lfs/lfs-batches.ts'
import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import type { LfsObjectId } from '../../forge/repositories/lfs/lfs-links.ts'
import {
  type OpenLfsObject,
  openLfsObject,
  sizeOfLfsObject,
  storeLfsObject,
} from '../../forge/repositories/lfs/lfs-objects.ts'
import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import { drained } from '../../platform/rpc/index.ts'
import { bodyOf } from '../git-http/request-body.ts'
import { abort } from '../git-http/session.ts'

/** Longest time of a transfer without a byte. */
export const TRANSFER_IDLE_TIMEOUT_MS = 60_000

/**
 * Checks an upload before its content is read.
 *
 * @throws LfsError 413, 415, 422, 507
 */
export async function checkUpload(
  app: App,
  { headers }: HttpRequest,
  object: LfsObjectId,
): Promise<void> {
  if (headers['content-encoding'] !== undefined)
    throw new LfsError(415, 'an object has no content coding')
  const length = headers['content-length']
  if (length !== undefined && Number(length) !== object.bytes)
    throw new LfsError(422, 'the content has another size than the object')
  await checkRoom(app, object)
}

/**
 * Checks that the server takes an object of a size.
 *
 * @throws LfsError 413, 507
 */
export async function checkRoom(app: App, { bytes }: LfsObjectId): Promise<void> {
  if (bytes > app.settings.maxLfsBytes)
    throw new LfsError(
      413,
      `the object is larger than the ${app.settings.maxLfsBytes} bytes that this server takes`,
    )
  if (!(await app.disk.hasRoom(bytes + RESERVE_BYTES)))
    throw new LfsError(507, 'the disk of the server is full')
}

/**
 * Stores the content of a request.
 *
 * @throws as `storeLfsObject`
 */
export async function receiveObject(
  app: App,
  open: OpenLfs,
  object: LfsObjectId,
  { request, response }: Exchange,
  follow: Follow,
): Promise<void> {
  const idle = setTimeout(() => abort(response), TRANSFER_IDLE_TIMEOUT_MS)
  const onProgress = () => idle.refresh()
  try {
    // The store stops reading at the first byte behind the object.
    const body = bodyOf(request, { maxBytes: Number.POSITIVE_INFINITY, onProgress })
    await storeLfsObject(app, open, object, follow(body))
  } finally {
    clearTimeout(idle)
  }
}

interface Exchange {
  readonly request: HttpRequest
  readonly response: HttpResponse
}

/** Passes chunks on and measures their speed. */
export type Follow = (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>

/** Sends an object, or a part of one (RFC 9110 section 14). */
export async function sendObject(
  app: App,
  { repository }: OpenLfs,
  oid: string,
  { request, response }: Exchange,
  follow: Follow,
): Promise<void> {
  const { headers, method } = request
  const entityTag = `"${oid}"`
  if (knows(headers['if-none-match'], entityTag)) {
    await sizeOfLfsObject(app, repository.id, oid)
    response.writeHead(304, { etag: entityTag, 'cache-control': CACHE_CONTROL })
    response.end()
    return
  }
  // A client with a part of another version gets the whole object.
  const isPartWanted = (headers['if-range'] ?? entityTag) === entityTag
  const opened = await openLfsObject(
    app,
    repository.id,
    oid,
    isPartWanted ? headers.range : undefined,
  )
  try {
    response.writeHead(opened.range ? 206 : 200, objectHeaders(entityTag, opened))
    if (method === 'HEAD') response.end()
    else await sendContent(response, follow(opened.content))
  } finally {
    opened.content.destroy()
  }
}

function knows(header: string | undefined, entityTag: string): boolean {
  return header?.split(',').some((tag) => ['*', entityTag].includes(tag.trim())) ?? false
}

const CACHE_CONTROL = 'private, max-age=31536000, immutable'

function objectHeaders(etag: string, { bytes, range }: OpenLfsObject) {
  return {
    'content-type': 'application/octet-stream',
    'content-length': range ? range.last - range.first + 1 : bytes,
    ...(range && { 'content-range': `bytes ${range.first}-${range.last}/${bytes}` }),
    'accept-ranges': 'bytes',
    etag,
    // Users supply the content, so browsers must neither execute nor render it.
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': CACHE_CONTROL,
  }
}

/** Sends content at the speed of its reader. Content that cannot be read to its end is cut off. */
async function sendContent(response: HttpResponse, content: AsyncIterable<Buffer>): Promise<void> {
  const idle = setTimeout(() => abort(response), TRANSFER_IDLE_TIMEOUT_MS)
  try {
    for await (const chunk of content) {
      if (response.destroyed) return
      idle.refresh()
      if (!response.write(chunk)) await drained(response)
    }
    response.end()
  } catch (error) {
    abort(response)
    throw error
  } finally {
    clearTimeout(idle)
  }
}
