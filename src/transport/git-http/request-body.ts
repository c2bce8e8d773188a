import type { Writable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { HttpRequest } from '../http/requests.ts'

/** Why a body cannot be passed on, and the status that says so. */
export class BodyError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'BodyError'
    this.status = status
  }
}

export interface FeedOptions {
  /** Largest body, as sent and as decompressed: a few KiB of gzip can be many GiB of zeros. */
  readonly maxBytes: number
  /** Called for every piece that arrived. */
  readonly onProgress: () => void
}

/**
 * Passes the body of a request on to a process, no faster than that reads, and ends its input.
 *
 * A process that does not want to read any more gets no more; what is left is read and dropped,
 * because git clients read the answer when they have sent everything.
 *
 * @throws BodyError 413 beyond `maxBytes`, 415 for an unknown content coding, 400 for broken gzip;
 *   the error of the request when it is cut off.
 */
export async function feed(
  request: HttpRequest,
  stdin: Writable,
  { maxBytes, onProgress }: FeedOptions,
): Promise<void> {
  const tooLarge = () =>
    new BodyError(
      413,
      `the request is larger than ${maxBytes} bytes, which is what this server takes`,
    )
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  let bytes = 0
  for await (const chunk of decoded(request)) {
    onProgress()
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge()
    if (stdin.writable && !stdin.write(chunk)) await drained(stdin)
  }
  if (isCutOff(request)) throw new Error('the request was cut off')
  stdin.end()
}

/**
 * Whether a body that has ended did so too early. Over HTTP/2 its stream ends as if all were well.
 */
function isCutOff(request: HttpRequest): boolean {
  return 'stream' in request ? request.stream.aborted : !request.complete
}

/**
 * The body without its content coding. Leaving it early does not end the connection, over which the
 * refusal is to go.
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
    // Codes of zlib begin so; anything else is the connection's.
    const broken = error instanceof Error && 'code' in error && /^Z_/.test(String(error.code))
    throw broken ? new BodyError(400, 'the body is not the gzip that it claims to be') : error
  } finally {
    request.unpipe(gunzip)
    gunzip.destroy()
  }
}

/** Resolves when a stream takes more, or never will. */
export function drained(stream: Pick<Writable, 'on' | 'off'>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done)
      stream.off('close', done)
      resolve()
    }
    stream.on('drain', done)
    stream.on('close', done)
  })
}
