import type { App } from '../../forge/app.ts'
import { holderOf } from '../../forge/core/access.ts'
import { outsideError } from '../../forge/core/errors.ts'
import { type LfsNeed, type OpenLfs, openLfs } from '../../forge/repositories/lfs/lfs-access.ts'
import { acceptDirectUpload } from '../../forge/repositories/lfs/lfs-direct-uploads.ts'
import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import {
  type AcceptedLink,
  LFS_LINK_PREFIX,
  type LfsObjectId,
  type LfsRequester,
  readLfsLink,
} from '../../forge/repositories/lfs/lfs-links.ts'
import { sizeOfLfsObject } from '../../forge/repositories/lfs/lfs-objects.ts'
import { FairSlots } from '../../platform/concurrency/fair-slots.ts'
import { Pace } from '../../platform/concurrency/pace.ts'
import { answerTo } from '../../platform/http/listener/answers.ts'
import { type HttpRequest, type HttpResponse, requestIdOf } from '../../platform/http/requests.ts'
import { authenticate, sudoOfQuery } from '../authentication/authenticate.ts'
import type { PeerOf } from '../authentication/peers.ts'
import { readableHeaders } from '../git-http/authorize.ts'
import { isClosed } from '../git-http/index.ts'
import { abort } from '../git-http/session.ts'
import type { Metrics } from '../operator-pages/metrics.ts'
import {
  answerError,
  answerJson,
  answerRefusal,
  checkMediaTypes,
  RETRY_AFTER_SECONDS,
  readJson,
} from './answers.ts'
import { batchAnswer, branchIn, readBatch, readObject } from './batches.ts'
import { answerLocks } from './locks.ts'
import { type LfsEndpoint, type LfsRoute, readLfsRoute } from './routes.ts'
import { checkUpload, type Follow, receiveObject, sendObject } from './transfers.ts'

/** Transfers at the same time. One account, or one peer without an account, has at most half. */
const MAX_TRANSFERS = 64

/** Creates the slots of transfers of Git LFS, over HTTP and SSH together. */
export function createLfsSlots(): FairSlots {
  return new FairSlots({
    max: MAX_TRANSFERS,
    full: () => new LfsError(429, 'too many transfers at the moment'),
  })
}

/** The parts of the server that requests use. */
interface LfsParts {
  readonly app: App
  readonly peerOf: PeerOf
  readonly slots: FairSlots
  readonly metrics: Metrics
}

/** A request whose path is one of Git LFS. */
interface LfsExchange {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly route: LfsRoute
  /** Who asks, once the credentials are read: the id of an account, or of a deploy key. */
  readonly known: { user?: number; deploy_key?: number }
}

/**
 * Creates the handler of the HTTP API of Git LFS (git-lfs, docs/api).
 *
 * @returns a handler that answers requests of Git LFS only, and returns whether a request was one.
 */
export function createGitLfs(
  parts: LfsParts,
): (request: HttpRequest, response: HttpResponse) => boolean {
  return (request, response) => {
    const route = readLfsRoute(request.method ?? '', request.url ?? '')
    if (!route) return false
    const exchange = { request, response, route, known: {} }
    observe(parts, exchange)
    answer(parts, exchange).catch((error: unknown) => {
      const refusal = outsideError(error)
      if (response.headersSent || response.destroyed) {
        parts.app.log.debug({ err: error }, 'a request of Git LFS was cut off')
        return abort(response)
      }
      try {
        answerRefusal(request, response, refusal ?? error)
      } catch (err) {
        // The client has left, or the server is at fault.
        parts.app.log[isClosed(request) ? 'debug' : 'error']({ err }, 'a request of Git LFS failed')
        answerError(request, response, 500, 'the server failed')
      }
    })
    return true
  }
}

/** Requests that change something. */
const CHANGES: ReadonlySet<string> = new Set(['upload', 'lock', 'unlock'])

/** Counts and logs a request: changes and refusals at level info, reads at level debug. */
function observe({ app, metrics, peerOf }: LfsParts, exchange: LfsExchange) {
  const { request, response, route, known } = exchange
  const beganMs = performance.now()
  response.once('close', () => {
    const durationMs = performance.now() - beganMs
    const { statusCode: status } = response
    const operation = route.endpoint?.kind ?? 'none'
    metrics.countGitRequest('lfs', status, durationMs)
    const isRefused = status >= 400 && status !== 401
    app.log[isRefused || CHANGES.has(operation) ? 'info' : 'debug']({
      request_id: requestIdOf(request.headers),
      lfs: operation,
      repository: `${route.name.owner}/${route.name.repo}`,
      status,
      cut_off: response.writableFinished ? undefined : true,
      duration_ms: Math.round(durationMs * 1000) / 1000,
      peer: peerOf(request).address,
      ...known,
    })
  })
}

async function answer(parts: LfsParts, exchange: LfsExchange): Promise<void> {
  const { app, peerOf } = parts
  const { request, response, route } = exchange
  const counted = answerTo(request)
  if (counted?.fullBound() || counted?.enterStream()) {
    const headers = { 'retry-after': RETRY_AFTER_SECONDS }
    return answerError(request, response, 429, 'read earlier answers of the server first', headers)
  }
  if (!app.settings.lfs) throw new LfsError(404, 'Git LFS is off')
  const { endpoint } = route
  if (!endpoint) throw new LfsError(404, 'Git LFS has nothing at this path')
  if (endpoint.kind === 'wrong method')
    return answerError(request, response, 405, `this path takes ${endpoint.allow}`, {
      allow: endpoint.allow,
    })
  if (request.headers.sudo !== undefined || sudoOfQuery(request) !== undefined)
    throw new LfsError(403, 'Git takes no Sudo.')
  const link = await linkOf(app, peerOf, request)
  const requester = link?.requester ?? {
    kind: 'caller' as const,
    caller: await authenticate(app, readableHeaders(request), peerOf(request)),
  }
  if (requester.kind === 'deploy key') exchange.known.deploy_key = requester.keyId
  else if (requester.caller.kind === 'user') exchange.known.user = requester.caller.user.id
  await answerEndpoint(parts, exchange, endpoint, { link, requester })
}

/** Reads the link of a request; undefined for other credentials and without any. */
async function linkOf(
  app: App,
  peerOf: PeerOf,
  request: HttpRequest,
): Promise<AcceptedLink | undefined> {
  const [, text] = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  if (!text?.startsWith(LFS_LINK_PREFIX)) return undefined
  return readLfsLink(app, text, peerOf(request))
}

/** Whom a request acts for, and by which link. */
interface Credentials {
  readonly link: AcceptedLink | undefined
  readonly requester: LfsRequester
}

async function answerEndpoint(
  parts: LfsParts,
  exchange: LfsExchange,
  endpoint: LfsEndpoint,
  credentials: Credentials,
): Promise<void> {
  const { app } = parts
  const { request, response } = exchange
  switch (endpoint.kind) {
    case 'batch': {
      checkMediaTypes(request)
      const body = await readJson(request)
      const batch = readBatch(body)
      const level = batch.operation === 'upload' ? 'write' : 'read'
      const need = { level, branch: branchIn(body) } as const
      const open = await openFor(app, exchange, credentials, need)
      return answerJson(response, 200, await batchAnswer(app, open, batch))
    }
    case 'download': {
      const open = await openFor(app, exchange, credentials, { level: 'read' })
      const send = (follow: Follow) => sendObject(app, open, endpoint.oid, exchange, follow)
      await inSlot(parts, exchange, open, send)
      return
    }
    case 'upload': {
      const open = await openByUploadLink(app, exchange, credentials, endpoint)
      await checkUpload(app, request, endpoint)
      const store = (follow: Follow) => receiveObject(app, open, endpoint, exchange, follow)
      if (!(await inSlot(parts, exchange, open, store))) return
      response.writeHead(200, { 'content-length': '0', 'cache-control': 'no-store' })
      response.end()
      return
    }
    case 'verify': {
      checkMediaTypes(request)
      const object = readObject(await readJson(request))
      const { oid } = endpoint
      const open = await openByUploadLink(app, exchange, credentials, { oid })
      if (object.oid !== oid) throw new LfsError(422, 'the oid differs from that of the path')
      await verifyUpload(app, open, object, credentials.link?.uploadId)
      return answerJson(response, 200, {})
    }
    default: {
      const open = (need: LfsNeed) => openFor(app, exchange, credentials, need)
      return answerLocks(app, endpoint, { request, response, query: exchange.route.query, open })
    }
  }
}

/** Checks that the repository has an uploaded object, which the client may have sent to the store. */
async function verifyUpload(
  app: App,
  open: OpenLfs,
  object: LfsObjectId,
  uploadId: string | undefined,
): Promise<void> {
  const stored = await sizeOfLfsObject(app, open.repository.id, object.oid).catch(
    (error: unknown) => {
      if (error instanceof LfsError && error.status === 404 && uploadId !== undefined)
        return undefined
      throw error
    },
  )
  if (stored === undefined && uploadId !== undefined)
    return acceptDirectUpload(app, open, object, uploadId)
  if (stored !== object.bytes) throw new LfsError(422, 'the object has another size')
}

/** Opens the repository of a request. A link counts for its own repository and operation only. */
async function openFor(
  app: App,
  { route }: LfsExchange,
  { link, requester }: Credentials,
  need: LfsNeed,
): Promise<OpenLfs> {
  const open = await openLfs(app, requester, route.name, need)
  if (!link) return open
  const isCovered = need.level === 'read' || link.operation === 'upload'
  if (link.repositoryId === open.repository.id && isCovered) return open
  throw new LfsError(403, 'the link is not for this repository or this operation')
}

/** Opens the repository of an upload, which needs a link of that upload. */
async function openByUploadLink(
  app: App,
  exchange: LfsExchange,
  credentials: Credentials,
  { oid, bytes }: Pick<LfsObjectId, 'oid'> & Partial<LfsObjectId>,
): Promise<OpenLfs> {
  const { link } = credentials
  const need = { level: 'write', branch: link?.branch } as const
  const open = await openFor(app, exchange, credentials, need)
  const object = link?.object
  if (object?.oid === oid && (bytes === undefined || object.bytes === bytes)) return open
  throw new LfsError(403, 'the upload needs the link of a batch: ask for the batch again')
}

/** Runs a transfer in a slot. Returns false when there is none. */
async function inSlot(
  { slots }: LfsParts,
  { request, response }: LfsExchange,
  { caller }: OpenLfs,
  transfer: (follow: Follow) => Promise<void>,
): Promise<boolean> {
  if (isClosed(request)) return false
  const pace = new Pace()
  const release = slots.tryAcquire({
    holder: holderOf(caller),
    isTooSlow: () => pace.isTooSlow(),
    evict: () => abort(response),
  })
  if (!release) {
    const headers = { 'retry-after': RETRY_AFTER_SECONDS }
    answerError(request, response, 429, 'too many transfers at the moment', headers)
    return false
  }
  try {
    await transfer((chunks) => pace.follow(chunks))
    return true
  } finally {
    release()
  }
}
