import { createGunzip } from 'node:zlib'
import type { HttpRequest } from '../../platform/http/requests.ts'

/** A body that cannot be passed on, with the HTTP status of the refusal. */
export class BodyError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'BodyError'
    this.status = status
  }
}

export interface BodyOptions {
  /** Largest body, as sent and as decompressed: a few KiB of gzip can be many GiB of zeros. */
  readonly maxBytes: number
  /** Called for each chunk that arrives. */
  readonly onProgress: () => void
}

/**
 * Yields the body of a request without its content coding.
 *
 * @throws BodyError 413 beyond `maxBytes`, 415 for an unknown content coding, 400 for broken gzip;
 *   the error of the request when it is cut off.
 */
export async function* bodyOf(
  request: HttpRequest,
  { maxBytes, onProgress }: BodyOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const tooLarge = () =>
    new BodyError(413, `the request is larger than the ${maxBytes} bytes that this server takes`)
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  let bytes = 0
  for await (const chunk of decoded(request)) {
    onProgress()
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    yield chunk
  }
  if (isCutOff(request)) throw new Error('the request was cut off')
}

/** The first chunks of a body. */
export interface Opening {
  readonly chunks: readonly Buffer[]
  /** Whether there are no other chunks. */
  readonly isWhole: boolean
}

/**
 * Reads a body as long as it may be a short text with one of some beginnings.
 *
 * @param body is left at the first chunk after the opening.
 */
export async function readOpening(
  body: AsyncGenerator<Buffer, void, undefined>,
  beginnings: readonly Buffer[],
  maxBytes: number,
): Promise<Opening> {
  const chunks: Buffer[] = []
  const longest = Math.max(...beginnings.map(({ length }) => length))
  let bytes = 0
  while (bytes <= maxBytes) {
    const { value, done } = await body.next()
    if (done) return { chunks, isWhole: true }
    chunks.push(value)
    bytes += value.length
    const begun = Buffer.concat(chunks, Math.min(bytes, longest))
    if (!beginnings.some((beginning) => isAlike(begun, beginning))) break
  }
  return { chunks, isWhole: false }
}

/** Returns whether one of two texts begins with the other. */
function isAlike(one: Buffer, other: Buffer): boolean {
  const length = Math.min(one.length, other.length)
  return one.subarray(0, length).equals(other.subarray(0, length))
}

/** Yields a body again from its first chunk. */
export async function* reopened(
  { chunks }: Opening,
  rest: AsyncGenerator<Buffer, void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  yield* chunks
  yield* rest
}

/** Returns whether a body ended too early. Over HTTP/2 such a stream ends without an error. */
function isCutOff(request: HttpRequest): boolean {
  return 'stream' in request ? request.stream.aborted : !request.complete
}

/**
 * Returns the body without its content coding. Ending the iteration early keeps the connection
 * open, since the refusal is sent over it.
 */
function decoded(request: HttpRequest): AsyncIterable<Buffer> {
  const coding = request.headers['content-encoding']?.toLowerCase() ?? 'identity'
  switch (coding) {
    case 'identity':
      return request.iterator({ destroyOnReturn: false })
    case 'gzip':
    case 'x-gzip':
      return gunzipped(request)
    default:
      throw new BodyError(
        415,
        `the content coding ${JSON.stringify(coding)} is not supported, gzip is`,
      )
  }
}

async function* gunzipped(request: HttpRequest): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  const cutOff = (error?: Error) => gunzip.destroy(error ?? new Error('the request was cut off'))
  request.once('error', cutOff)
  request.once('close', () => {
    if (isCutOff(request)) cutOff()
  })
  request.pipe(gunzip)
  try {
    yield* gunzip
  } catch (error) {
    // Only codes of zlib begin with Z_. Other errors are errors of the connection.
    const broken = error instanceof Error && 'code' in error && /^Z_/.test(String(error.code))
    throw broken ? new BodyError(400, 'the body is not the gzip that it claims to be') : error
  } finally {
    request.unpipe(gunzip)
    gunzip.destroy()
  }
}
