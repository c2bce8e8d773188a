import { Readable } from 'node:stream'
import { create, type DescMessage, type JsonValue, type Registry, toJson } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import type { ConnectNodeAdapterOptions } from '@connectrpc/connect-node'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { ERROR_DOMAIN } from '../errors/index.ts'
import {
  pipe,
  transformDecompressEnvelope,
  transformJoinEnvelopes,
  transformSplitEnvelope,
} from '../rpc/exchange/connect-internals.ts'
import { compileBodyReader, FieldError } from '../rpc/rest/index.ts'

type UniversalHandler = ConnectRouter['handlers'][number]
type UniversalRequest = Parameters<UniversalHandler>[0]
type UniversalResponse = Awaited<ReturnType<UniversalHandler>>

/** How the JSON of Connect calls is read. The values are those that Connect itself was given. */
export interface ConnectJsonOptions {
  readonly readMaxBytes: number
  readonly acceptCompression: NonNullable<ConnectNodeAdapterOptions['acceptCompression']>
  readonly registry: Registry
}

/**
 * Lets the protocols of the Connect library read JSON as REST does, in whatever form they send it.
 *
 * The library's reader drops enum names that do not exist, so that `"role": "ADMNI"` would pass for
 * no role at all, and takes field masks in lowerCamelCase only. Here the body is read by REST's
 * reader first, and handed on in canonical form; what REST refuses is refused.
 */
export function readConnectJsonStrictly(router: ConnectRouter, options: ConnectJsonOptions): void {
  for (const [i, handler] of router.handlers.entries()) {
    const canonical = compileCanonical(handler.method.input, options.registry)
    const strict = async (request: UniversalRequest) => {
      if (hasJsonFrames(request))
        return handler({ ...request, body: canonicalFrames(request, canonical, options) })
      if (isJsonQuery(request)) return readQuery(handler, request, canonical, options)
      // The library refuses a body that announces to be too large, and reads none of it.
      if (!hasJsonBody(request) || announcedBytes(request) > options.readMaxBytes)
        return handler(request)
      const received = await receive(request.body, options.readMaxBytes)
      const coding = request.header.get('content-encoding')
      const bytes = received.complete && (await decode(received.complete, coding, options))
      // What is too large, broken or cut off is left to the library, which has an answer for that.
      if (!bytes) return handler({ ...request, body: received.replay() })
      try {
        const header = new Headers(request.header)
        header.delete('content-encoding')
        return await handler({ ...request, header, body: canonical(bytes) })
      } catch (error) {
        if (error instanceof FieldError) return malformed(error.message)
        throw error
      }
    }
    router.handlers[i] = Object.assign(strict, handler)
  }
}

/**
 * Reads the JSON of a message and returns it in the one form that the library's reader takes whole.
 */
type Canonical = (bytes: Uint8Array) => JsonValue

function compileCanonical(desc: DescMessage, registry: Registry): Canonical {
  const read = compileBodyReader(desc, '*', registry)
  return (bytes) => {
    const message = create(desc)
    read(bytes, message)
    try {
      return toJson(desc, message, { registry })
    } catch {
      // A field mask may have paths that no JSON can name.
      throw new FieldError('', 'a value has no JSON form')
    }
  }
}

type BodyRequest = UniversalRequest & { readonly body: AsyncIterable<Uint8Array> }

function hasJsonBody(request: UniversalRequest): request is BodyRequest {
  return (
    request.method === 'POST' &&
    hasBody(request) &&
    /^application\/json(?:$|[; ])/i.test(contentTypeOf(request))
  )
}

/**
 * Whether messages come as streams of Connect have them, and all calls of gRPC and gRPC-Web: with a
 * length in front.
 */
function hasJsonFrames(request: UniversalRequest): request is BodyRequest {
  return (
    hasBody(request) &&
    /^application\/(?:connect|grpc|grpc-web)\+json(?:$|[; ])/i.test(contentTypeOf(request))
  )
}

function hasBody({ body }: UniversalRequest): boolean {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

function contentTypeOf({ header }: UniversalRequest): string {
  return header.get('content-type') ?? ''
}

/**
 * The same messages in canonical form, and not compressed. What is too large or broken fails as it
 * does in the library.
 */
function canonicalFrames(
  { header, body }: BodyRequest,
  canonical: Canonical,
  { acceptCompression, readMaxBytes }: ConnectJsonOptions,
): AsyncIterable<Uint8Array> {
  const coding = header.get('grpc-encoding') ?? header.get('connect-content-encoding')
  const compression = acceptCompression.find(({ name }) => name === coding) ?? null
  const rewrite = async function* (
    frames: AsyncIterable<{ readonly flags: number; readonly data: Uint8Array }>,
  ) {
    for await (const { flags, data } of frames)
      yield { flags, data: canonicalFrame(data, canonical) }
  }
  return pipe(
    body,
    transformSplitEnvelope(readMaxBytes),
    transformDecompressEnvelope(compression, readMaxBytes),
    rewrite,
    transformJoinEnvelopes(),
  )
}

function canonicalFrame(data: Uint8Array, canonical: Canonical): Uint8Array {
  try {
    return Buffer.from(JSON.stringify(canonical(data)))
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    const info = { reason: 'MALFORMED_REQUEST', domain: ERROR_DOMAIN }
    throw new ConnectError(error.message, Code.InvalidArgument, undefined, [
      { desc: ErrorInfoSchema, value: info },
    ])
  }
}

/** Whether the message is in the query, https://connectrpc.com/docs/protocol#unary-get-request. */
function isJsonQuery({ method, url }: UniversalRequest): boolean {
  return method === 'GET' && new URL(url).searchParams.get('encoding') === 'json'
}

async function readQuery(
  handler: UniversalHandler,
  request: UniversalRequest,
  canonical: Canonical,
  options: ConnectJsonOptions,
): Promise<UniversalResponse> {
  const url = new URL(request.url)
  const query = url.searchParams
  const message = query.get('message') ?? ''
  try {
    const encoded = query.get('base64') === '1' ? base64Decode(message) : Buffer.from(message)
    const bytes = await decode(encoded, query.get('compression'), options)
    if (!bytes) return await handler(request)
    query.set('message', JSON.stringify(canonical(bytes)))
    query.delete('base64')
    query.delete('compression')
    return await handler({ ...request, url: url.href })
  } catch (error) {
    if (error instanceof FieldError) return malformed(error.message)
    throw error
  }
}

function announcedBytes({ header }: UniversalRequest): number {
  return Number(header.get('content-length') ?? 0)
}

/** A body as far as it was read. */
interface Received {
  /** All of it; undefined when it is too large, or breaks off. */
  readonly complete: Buffer | undefined
  /**
   * What was read, from its beginning, and how that ended. Of a body that is too large it is too
   * much already.
   */
  replay(): AsyncIterable<Uint8Array>
}

async function receive(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Received> {
  const rest = body[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let size = 0
  let failure: unknown
  let ended = false
  try {
    while (!ended && size <= maxBytes) {
      const { done, value } = await rest.next()
      if (done) ended = true
      else {
        chunks.push(value)
        size += value.length
      }
    }
  } catch (error) {
    failure = error
  }
  return {
    complete: ended ? Buffer.concat(chunks) : undefined,
    async *replay() {
      yield* chunks
      if (failure !== undefined) throw failure
    },
  }
}

/** Takes the content coding off; undefined when it is unknown, broken, or hides too much. */
async function decode(
  bytes: Uint8Array,
  coding: string | null,
  options: ConnectJsonOptions,
): Promise<Uint8Array | undefined> {
  if (coding === null || coding === 'identity') return bytes
  try {
    return await options.acceptCompression
      .find(({ name }) => name === coding)
      ?.decompress(bytes, options.readMaxBytes)
  } catch {
    return undefined
  }
}

/** The library's own answer to JSON that it cannot read. */
function malformed(message: string): UniversalResponse {
  const body = Buffer.from(JSON.stringify({ code: 'invalid_argument', message }))
  const header = new Headers({
    'content-type': 'application/json',
    'content-length': String(body.length),
  })
  return { status: 400, header, body: Readable.from([body]) }
}
