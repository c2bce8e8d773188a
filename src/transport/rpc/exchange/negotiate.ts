import type { IncomingHttpHeaders } from 'node:http'
import { Code, ConnectError } from '@connectrpc/connect'
import { unsupportedCoding, unsupportedMediaType } from '../rest/errors.ts'
import { mediaTypeOf } from './compression.ts'
import type { Compression } from './connect-internals.ts'

/**
 * The timeout of a call in milliseconds, undefined if none is asked for: the first of
 * `Connect-Timeout-Ms`, `Grpc-Timeout` and `X-Server-Timeout` that is present. Throws
 * InvalidArgument if it is malformed or above the maximum.
 */
export function timeoutOf(headers: IncomingHttpHeaders, maxTimeoutMs: number): number | undefined {
  // Most requests have none, and nothing is faster than a look for each.
  if (
    !('connect-timeout-ms' in headers || 'grpc-timeout' in headers || 'x-server-timeout' in headers)
  )
    return undefined
  for (const [name, parse] of timeoutHeaders) {
    const text = headers[name]
    if (text === undefined) continue
    const timeoutMs = parse(String(text))
    if (timeoutMs === undefined)
      throw new ConnectError(`malformed ${name}: ${text}`, Code.InvalidArgument)
    if (timeoutMs <= maxTimeoutMs) return timeoutMs
    throw new ConnectError(
      `timeout ${timeoutMs} ms must be at most ${maxTimeoutMs} ms`,
      Code.InvalidArgument,
    )
  }
  return undefined
}

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, TimeoutUnit. */
const grpcUnitMs: ReadonlyMap<string, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1000],
  ['m', 1],
  ['u', 0.001],
  ['n', 0.000001],
])

const timeoutHeaders: readonly (readonly [
  name: string,
  parse: (text: string) => number | undefined,
])[] = [
  ['connect-timeout-ms', (text) => (/^\d{1,10}$/.test(text) ? Number(text) : undefined)],
  ['grpc-timeout', grpcTimeout],
  // Digits are bounded as in the others.
  [
    'x-server-timeout',
    (text) => (/^\d{1,8}(?:\.\d{1,9})?$/.test(text) ? Number(text) * 1000 : undefined),
  ],
]

function grpcTimeout(text: string): number | undefined {
  const unitMs = grpcUnitMs.get(text.slice(-1))
  return unitMs !== undefined && /^\d{1,8}.$/.test(text)
    ? Number(text.slice(0, -1)) * unitMs
    : undefined
}

/** Throws 415 unless a Content-Type, if there is one, says JSON in UTF-8. */
export function checkJson(contentType: string | undefined): void {
  if (contentType === undefined || contentType === 'application/json') return
  if (!/^application\/(?:[^/\s]+\+)?json$/.test(mediaTypeOf(contentType)))
    throw unsupportedMediaType(contentType)
  const charset = /;\s*charset\s*=\s*("?)([^\s;"]*)\1\s*(?:;|$)/i.exec(contentType)?.[2]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) throw unsupportedMediaType(contentType)
}

/** The coding of request content, undefined for none. Throws 415 for one that is not served. */
export function requestCoding(
  contentEncoding: string | undefined,
  available: readonly Compression[],
): Compression | undefined {
  if (contentEncoding === undefined) return undefined
  const name = contentEncoding.trim().toLowerCase()
  if (name === '' || name === 'identity') return undefined
  const compression = available.find(
    (candidate) => candidate.name === (name === 'x-gzip' ? 'gzip' : name),
  )
  if (compression === undefined) {
    throw unsupportedCoding(
      name,
      available.map((candidate) => candidate.name),
    )
  }
  return compression
}

/**
 * The coding for an answer by `Accept-Encoding` (RFC 9110 12.5.3), undefined for none: the highest
 * weight, and the order of `available` among equals. Without the header no coding is used: clients
 * that send none rarely decode.
 */
export function responseCoding<Coding extends Pick<Compression, 'name'>>(
  acceptEncoding: string | undefined,
  available: readonly Coding[],
): Coding | undefined {
  if (acceptEncoding === undefined || available.length === 0) return undefined
  const weights = weightsOf(acceptEncoding)
  const otherwise = weights.get('*') ?? 0
  let best: Coding | undefined
  // A coding that is less welcome than none is not used.
  let bestWeight = weights.get('identity') ?? 0
  for (const compression of available) {
    const weight = weights.get(compression.name) ?? otherwise
    if (weight > 0 && (weight > bestWeight || (best === undefined && weight === bestWeight))) {
      best = compression
      bestWeight = weight
    }
  }
  return best
}

/** Available codings in the server's order of preference: br, gzip, then the others as given. */
export function byPreference(available: readonly Compression[]): readonly Compression[] {
  const rank = ({ name }: Compression) => (name === 'br' ? 0 : name === 'gzip' ? 1 : 2)
  return [...available].sort((a, b) => rank(a) - rank(b))
}

/** Whether a client asks for server-sent events by name, at least as much as for lines of JSON. */
export function wantsEvents(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const weights = weightsOf(accept)
  const events = weights.get('text/event-stream') ?? 0
  return events > 0 && events >= (weights.get('application/x-ndjson') ?? 0)
}

/** Whether a client said that it takes trailers (RFC 9110 10.1.4). */
export function wantsTrailers({ te }: IncomingHttpHeaders): boolean {
  return te !== undefined && (weightsOf(String(te)).get('trailers') ?? 0) > 0
}

/**
 * Members of a list header with their weights (RFC 9110 12.4.2). A malformed weight counts as 0.
 */
function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const member of header.split(',')) {
    const [name = '', ...parameters] = member.split(';')
    const weight = parameters
      .map((parameter) => parameter.trim())
      .find((parameter) => /^q=/i.test(parameter))
    weights.set(name.trim().toLowerCase(), weight === undefined ? 1 : weightOf(weight.slice(2)))
  }
  return weights
}

function weightOf(text: string): number {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0
}

/** Whether `If-None-Match` lists an entity tag by weak comparison, or is `*` (RFC 9110 13.1.2). */
export function tagMatches(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true
  // Tags may contain commas, so they are picked out, not split.
  const opaqueTags: string[] = ifNoneMatch.match(/"[^"]*"/g) ?? []
  return opaqueTags.includes(tag.startsWith('W/') ? tag.slice(2) : tag)
}
