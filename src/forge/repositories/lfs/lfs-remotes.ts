import { DomainError } from '../../core/errors.ts'
import { FetchError, type LfsRemote } from '../lifecycle/upstreams.ts'
import type { ReposApp } from '../ports.ts'
import type { LfsObjectId, LfsOperation } from './lfs-links.ts'

/** Requests to the Git LFS of another server (git-lfs, docs/api/batch.md). */

/** Objects of one batch. */
export const OBJECTS_AT_A_TIME = 100

/** The maximum time without progress of a transfer. */
export const IDLE_TIMEOUT_MS = 60_000

/** The time of a whole import, synchronisation or push, beside that of the Git data. */
export const TOTAL_TIMEOUT_MS = 60 * 60_000

/** An answer to a batch of a hundred objects takes some KiB for each. */
const MAX_ANSWER_BYTES = 1024 * 1024
const REQUEST_TIMEOUT_MS = 60_000

const LFS_JSON = 'application/vnd.git-lfs+json'

/** A request that the other server has named. */
interface RemoteAction {
  readonly href?: unknown
  readonly header?: unknown
}

/** What the other server answers for an object. Nothing of that was checked. */
export interface RemoteAnswer {
  readonly error?: { readonly code?: unknown } | undefined
  readonly actions?: {
    readonly download?: RemoteAction
    readonly upload?: RemoteAction
    readonly verify?: RemoteAction
  }
}

/** A request for an object that may be sent. */
interface RemoteRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Asks for the requests by which objects are transferred.
 *
 * @returns the answers by SHA-256; undefined if the other server does not offer Git LFS, or not for this
 *   repository.
 * @throws FetchError if that server cannot say, so that another try makes sense.
 */
export async function askRemote(
  app: ReposApp,
  { url, authorization }: LfsRemote,
  { operation, objects }: { operation: LfsOperation; objects: readonly LfsObjectId[] },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RemoteAnswer> | undefined> {
  const wanted = objects.map(({ oid, bytes }) => ({ oid, size: bytes }))
  const body = { operation, transfers: ['basic'], objects: wanted }
  const target = {
    url: new URL(`${url.href}/objects/batch`),
    headers: authorization === undefined ? {} : { authorization },
  }
  const { status, text } = await postJson(app, target, body, signal)
  if (status === 200) return answersIn(text)
  app.log.info({ host: url.host, status }, 'a batch of Git LFS was refused')
  if (isPassing(status)) throw new FetchError('the Git LFS of the other server fails')
  if (status === 401)
    throw new FetchError('the Git LFS of the other server refuses the credentials')
  return undefined
}

/** Returns whether a later request may succeed. */
function isPassing(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501)
}

/**
 * Sends JSON.
 *
 * @throws FetchError without an answer.
 */
export async function postJson(
  app: ReposApp,
  { url, headers }: RemoteRequest,
  body: object,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const request = {
    method: 'POST',
    url,
    headers: { ...headers, accept: LFS_JSON, 'content-type': LFS_JSON },
    body: JSON.stringify(body),
  } as const
  const limits = { timeoutMs: REQUEST_TIMEOUT_MS, maxResponseBytes: MAX_ANSWER_BYTES, signal }
  const answer = await app.outbound.send(request, limits).catch((err: unknown) => {
    signal.throwIfAborted()
    app.log.info({ err, host: url.host }, 'a request to a Git LFS failed')
    throw new FetchError('the Git LFS of the other server does not answer')
  })
  return { status: answer.status, text: answer.isTruncated ? '' : answer.body.toString() }
}

function answersIn(text: string): ReadonlyMap<string, RemoteAnswer> | undefined {
  const answers = new Map<string, RemoteAnswer>()
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The other server is none of Git LFS.
    return undefined
  }
  const { objects } = (parsed ?? {}) as { objects?: unknown }
  if (!Array.isArray(objects)) return undefined
  for (const object of objects as ((RemoteAnswer & { oid?: unknown }) | null)[])
    if (typeof object?.oid === 'string') answers.set(object.oid, object)
  return answers
}

/**
 * Returns the request of an action; undefined if there is none that may be sent. A request goes to https,
 * or to the server that was asked. The credentials for that server go nowhere else.
 */
export function remoteRequestOf(
  { url: asked, authorization }: LfsRemote,
  action: RemoteAction | undefined,
): RemoteRequest | undefined {
  if (typeof action?.href !== 'string' || !URL.canParse(action.href)) return undefined
  const url = new URL(action.href)
  const isAsked = url.origin === asked.origin
  if (url.protocol !== 'https:' && !isAsked) return undefined
  const given = Object.entries((action.header ?? {}) as Record<string, unknown>)
  const headers: Record<string, string> = isAsked && authorization ? { authorization } : {}
  for (const [name, value] of given)
    if (typeof value === 'string') headers[name.toLowerCase()] = value
  return { url, headers }
}

/** Returns whether a failure ends the whole transfer: others concern one object. */
export function isFinal(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || error instanceof DomainError || error instanceof FetchError
}
