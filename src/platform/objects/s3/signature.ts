import { createHash, createHmac } from 'node:crypto'
import { encodeStrictly } from './s3-address.ts'

/**
 * Signature version 4 of Amazon S3.
 *
 * Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html and
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
export interface AccessKeys {
  readonly id: string
  readonly secret: string
}

/** What a signature depends on. */
export interface SignedRequest {
  readonly method: string
  readonly url: URL
  /** Headers in lower case, all of which are signed, without `host`. */
  readonly headers: Readonly<Record<string, string>>
  readonly region: string
  readonly timeMs: number
}

const ALGORITHM = 'AWS4-HMAC-SHA256'
const UNSIGNED = 'UNSIGNED-PAYLOAD'

/** The SHA-256 of nothing. */
export const EMPTY_SHA256 = sha256('')

/**
 * Returns the headers of a request with its signature.
 *
 * @param payloadSha256 in hexadecimal.
 */
export function signedHeaders(
  request: SignedRequest,
  keys: AccessKeys,
  payloadSha256: string,
): Record<string, string> {
  const time = timeText(request.timeMs)
  const headers = { ...request.headers, 'x-amz-content-sha256': payloadSha256, 'x-amz-date': time }
  const names = namesOf(headers)
  const signature = sign({ ...request, headers }, keys, { time, names, payloadSha256 })
  const credential = `${keys.id}/${scopeOf(time, request.region)}`
  return {
    ...headers,
    authorization: `${ALGORITHM} Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

/** Returns a URL that everyone can use for a while, with the headers of the request. */
export function signedUrl(request: SignedRequest, keys: AccessKeys, expirySeconds: number): URL {
  const time = timeText(request.timeMs)
  const names = namesOf(request.headers)
  const url = new URL(request.url)
  const parameters = {
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${keys.id}/${scopeOf(time, request.region)}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': String(expirySeconds),
    'X-Amz-SignedHeaders': names.join(';'),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  url.search = canonicalQuery(url)
  const signature = sign({ ...request, url }, keys, { time, names, payloadSha256: UNSIGNED })
  url.search += `&X-Amz-Signature=${signature}`
  return url
}

function sign(
  { method, url, headers, region }: SignedRequest,
  keys: AccessKeys,
  details: { readonly time: string; readonly names: string[]; readonly payloadSha256: string },
): string {
  const { time, names, payloadSha256 } = details
  const all: Readonly<Record<string, string>> = { ...headers, host: url.host }
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url),
    ...names.map((name) => `${name}:${(all[name] ?? '').trim().replace(/\s+/g, ' ')}`),
    '',
    names.join(';'),
    payloadSha256,
  ].join('\n')
  const scope = scopeOf(time, region)
  const text = [ALGORITHM, time, scope, sha256(canonical)].join('\n')
  const key = scope
    .split('/')
    .reduce<string | Buffer>((key, part) => hmac(key, part), `AWS4${keys.secret}`)
  return hmac(key, text).toString('hex')
}

function namesOf(headers: Readonly<Record<string, string>>): string[] {
  return [...Object.keys(headers), 'host'].sort()
}

/** Returns the query of a URL, encoded and sorted as the signature needs it. */
export function canonicalQuery(url: URL): string {
  return [...url.searchParams]
    .map(([name, value]) => `${encodeStrictly(name)}=${encodeStrictly(value)}`)
    .sort()
    .join('&')
}

/** The time in ISO 8601 without punctuation. */
function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/[-:]|\.\d+/g, '')
}

function scopeOf(time: string, region: string): string {
  return `${time.slice(0, 8)}/${region}/s3/aws4_request`
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
