import type { Message } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { decompress } from '../exchange/compression.ts'
import type { Compression } from '../exchange/connect-internals.ts'
import { clientGone, messageTooLarge } from '../exchange/errors.ts'
import { type NodeServerRequest, readContent } from '../exchange/node.ts'
import type { FramedCall } from './call.ts'
import {
  COMPRESSED,
  type Envelope,
  envelopesOf,
  maxContentBytes,
  onlyEnvelope,
} from './envelopes.ts'

/** The message of the error for a compressed message without a coding. */
export const UNEXPECTED_COMPRESSION = 'a compressed message without a coding'

/** Reads the only message of a request. */
export async function readMessage(call: FramedCall): Promise<Message> {
  const { request, settings, type } = call
  const { readMaxBytes } = settings
  const maxBytes = maxContentBytes(readMaxBytes)
  // Base64 takes four characters for three bytes, with padding at the end of each part.
  const limit = type.isText ? 2 * maxBytes : maxBytes
  const content = await readContent(request, limit, () => messageTooLarge(readMaxBytes))
  const bytes = type.isText ? decodeText(content) : content
  return messageOf(call, onlyEnvelope(bytes, readMaxBytes))
}

/** Yields the messages of a request as they arrive. */
export async function* readMessages(call: FramedCall): AsyncGenerator<Message> {
  const chunks = chunksOf(call.request)
  const source = call.type.isText ? decodedChunks(chunks) : chunks
  for await (const next of envelopesOf(source, call.settings.readMaxBytes))
    yield await messageOf(call, next)
}

/** Yields the chunks of content. The request stays open when the iteration ends early. */
async function* chunksOf(request: NodeServerRequest): AsyncGenerator<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false })
  } catch {
    throw clientGone()
  }
}

function messageOf(call: FramedCall, { flags, data }: Envelope): Message | Promise<Message> {
  if (flags === 0) return call.format.read(data)
  if (flags !== COMPRESSED)
    throw new ConnectError(`unknown flags of a message: ${flags}`, Code.InvalidArgument)
  // https://github.com/grpc/grpc/blob/master/doc/compression.md
  if (call.requestCoding === undefined)
    throw new ConnectError(UNEXPECTED_COMPRESSION, Code.Internal)
  if (data.length === 0) return call.format.read(data)
  return decompressed(call, call.requestCoding, data)
}

async function decompressed(
  { format, settings: { readMaxBytes } }: FramedCall,
  coding: Compression,
  data: Uint8Array,
): Promise<Message> {
  return format.read(await decompress(coding, data, readMaxBytes, messageTooLarge))
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Decodes base64. Content may consist of several parts with padding (PROTOCOL-WEB of the gRPC
 * project). Throws InvalidArgument for other text.
 */
function decodeText(content: Buffer): Buffer {
  const parts = content.toString('latin1').split(/(?<==)(?=[^=])/)
  return Buffer.concat(
    parts.map((part) => {
      if (!BASE64.test(part))
        throw new ConnectError('the request content is not base64', Code.InvalidArgument)
      return Buffer.from(part, 'base64')
    }),
  )
}

async function* decodedChunks(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const whole = text.length - (text.length % 4)
    rest = text.subarray(whole)
    if (whole > 0) yield decodeText(text.subarray(0, whole))
  }
  if (rest.length > 0) decodeText(rest)
}
