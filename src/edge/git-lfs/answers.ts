import type { JsonObject } from '@bufbuild/protobuf'
import { DomainError } from '../../forge/core/errors.ts'
import { LfsError } from '../../forge/repositories/lfs/lfs-error.ts'
import { type HttpRequest, type HttpResponse, requestIdOf } from '../../platform/http/requests.ts'
import { REQUEST_ID_HEADER } from '../errors.ts'
import { refusalOf } from '../git-http/authorize.ts'
import { BodyError, bodyOf } from '../git-http/request-body.ts'
import { BASIC_CHALLENGE } from '../git-http/session.ts'

/** The media type of bodies (git-lfs, docs/api/README.md). */
export const LFS_JSON = 'application/vnd.git-lfs+json'

/** Media types of requests, and what an Accept header may admit. */
const JSON_TYPES: readonly string[] = [LFS_JSON, 'application/json']
const ADMITTING: ReadonlySet<string> = new Set([...JSON_TYPES, 'application/*', '*/*'])

/** The largest body of a request. */
const MAX_BODY_BYTES = 1024 * 1024

/** Seconds after which a client that got no slot should try again. */
export const RETRY_AFTER_SECONDS = '10'

/** Sends a JSON object. Does nothing after a response has begun. */
export function answerJson(
  response: HttpResponse,
  status: number,
  body: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': LFS_JSON,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  response.end(text)
}

/** Sends a refusal, in the form whose message `git lfs` shows to its user. */
export function answerError(
  request: HttpRequest,
  response: HttpResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const requestId = requestIdOf(request.headers)
  answerJson(
    response,
    status,
    { message, request_id: requestId },
    {
      [REQUEST_ID_HEADER]: requestId,
      ...(status === 401 && {
        'lfs-authenticate': BASIC_CHALLENGE,
        'www-authenticate': BASIC_CHALLENGE,
      }),
      ...headers,
    },
  )
}

/**
 * Sends what the rules refuse.
 *
 * @throws the error itself when it is not a refusal.
 */
export function answerRefusal(request: HttpRequest, response: HttpResponse, error: unknown): void {
  if (error instanceof LfsError || error instanceof BodyError) {
    answerError(request, response, error.status, error.message)
    return
  }
  const refusal = refusalOf(error)
  if (refusal.outcome === 'moved') throw error
  const bytes = error instanceof DomainError ? error.metadata.bytes : undefined
  const range = bytes !== undefined &&
    refusal.status === 416 && { 'content-range': `bytes */${bytes}` }
  answerError(request, response, refusal.status, refusal.message, { ...refusal.headers, ...range })
}

/**
 * Checks the media types of a request with a JSON answer.
 *
 * @throws LfsError 406, 415
 */
export function checkMediaTypes({ method, headers }: HttpRequest): void {
  const accepted = headers.accept?.split(',').map(typeOf) ?? []
  if (accepted.length > 0 && !accepted.some((type) => ADMITTING.has(type)))
    throw new LfsError(406, `the answer is ${LFS_JSON}`)
  if (method === 'POST' && !JSON_TYPES.includes(typeOf(headers['content-type'] ?? '')))
    throw new LfsError(415, `the content type has to be ${LFS_JSON}`)
}

function typeOf(text: string): string {
  return (text.split(';')[0] ?? '').trim().toLowerCase()
}

/**
 * Reads the JSON object of a request.
 *
 * @throws LfsError 400; BodyError
 */
export async function readJson(request: HttpRequest): Promise<JsonObject> {
  const chunks: Buffer[] = []
  const options = { maxBytes: MAX_BODY_BYTES, onProgress: () => {} }
  for await (const chunk of bodyOf(request, options)) chunks.push(chunk)
  const value = parsed(Buffer.concat(chunks).toString('utf8'))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new LfsError(400, 'the body has to be a JSON object')
  return value as JsonObject
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new LfsError(400, 'the body is not JSON')
  }
}
