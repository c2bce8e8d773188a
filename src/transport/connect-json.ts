import { Readable } from 'node:stream'
import { create, type DescMessage, type JsonValue, type Registry, toJson } from '@bufbuild/protobuf'
import type { ConnectRouter } from '@connectrpc/connect'
import type { ConnectNodeAdapterOptions } from '@connectrpc/connect-node'
import { compileBodyReader, FieldError } from './rest/index.ts'

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
 * Lets the unary calls of the Connect protocol read JSON as REST does.
 *
 * The library's reader drops enum names that do not exist, so that `"role": "ADMNI"` would pass for no role at all, and
 * takes field masks in lowerCamelCase only. Here the body is read by REST's reader first, and handed on in canonical
 * form; what REST refuses is refused.
 */
export function readConnectJsonStrictly(router: ConnectRouter, options: ConnectJsonOptions): void {
  for (const [i, handler] of router.handlers.entries()) {
    if (handler.method.methodKind !== 'unary') continue
    const canonical = compileCanonical(handler.method.input, options.registry)
    const strict = async (request: UniversalRequest) => {
      // The library refuses a body that announces to be too large, and reads none of it.
      if (!hasJsonBody(request) || announcedBytes(request) > options.readMaxBytes) return handler(request)
      const received = await receive(request.body, options.readMaxBytes)
      const bytes = received.complete && (await decode(received.complete, request.header, options))
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

/** Reads the JSON of a message and returns it in the one form that the library's reader takes whole. */
function compileCanonical(desc: DescMessage, registry: Registry): (bytes: Uint8Array) => JsonValue {
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

type JsonRequest = UniversalRequest & { readonly body: AsyncIterable<Uint8Array> }

function hasJsonBody(request: UniversalRequest): request is JsonRequest {
  const { method, header, body } = request
  const json = /^application\/json(?:$|[; ])/i.test(header.get('content-type') ?? '')
  return json && method === 'POST' && typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

function announcedBytes({ header }: UniversalRequest): number {
  return Number(header.get('content-length') ?? 0)
}

/** A body as far as it was read. */
interface Received {
  /** All of it; undefined when it is too large, or breaks off. */
  readonly complete: Buffer | undefined
  /** What was read, from its beginning, and how that ended. Of a body that is too large it is too much already. */
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
async function decode(bytes: Buffer, header: Headers, options: ConnectJsonOptions): Promise<Uint8Array | undefined> {
  const coding = header.get('content-encoding')
  if (coding === null || coding === 'identity') return bytes
  try {
    return await options.acceptCompression.find(({ name }) => name === coding)?.decompress(bytes, options.readMaxBytes)
  } catch {
    return undefined
  }
}

/** The library's own answer to JSON that it cannot read. */
function malformed(message: string): UniversalResponse {
  const body = Buffer.from(JSON.stringify({ code: 'invalid_argument', message }))
  const header = new Headers({ 'content-type': 'application/json', 'content-length': String(body.length) })
  return { status: 400, header, body: Readable.from([body]) }
}
