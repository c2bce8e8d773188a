import { Code, ConnectError } from '@connectrpc/connect'
import { messageTooLarge } from '../exchange/errors.ts'
import { type Cancellable, joinInTurns } from '../exchange/write-turns.ts'

/**
 * Envelopes: the length-prefixed messages of gRPC, gRPC-Web and Connect streams. Each begins with a
 * byte of flags and the length of the data in four bytes
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Length-Prefixed-Message).
 */
export interface Envelope {
  readonly flags: number
  readonly data: Uint8Array
}

/** Flag of compressed data. */
export const COMPRESSED = 1

const PREFIX_BYTES = 5

/** Returns an envelope as bytes. */
export function envelope(flags: number, data: string | Uint8Array): Buffer {
  const size = typeof data === 'string' ? Buffer.byteLength(data) : data.length
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + size)
  writePrefix(bytes, flags, size)
  if (typeof data === 'string') bytes.write(data, PREFIX_BYTES)
  else bytes.set(data, PREFIX_BYTES)
  return bytes
}

/** Returns an envelope of data that may be large, after later turns of the event loop if so. */
export function envelopeInTurns(
  flags: number,
  data: Uint8Array,
  call: Cancellable,
): Buffer | Promise<Buffer> {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES)
  writePrefix(prefix, flags, data.length)
  return joinInTurns([prefix, data], call)
}

function writePrefix(bytes: Buffer, flags: number, size: number): void {
  bytes[0] = flags
  bytes.writeUInt32BE(size, 1)
}

/**
 * Returns the largest size of content with one envelope.
 *
 * @param maxBytes largest size of the data.
 */
export function maxContentBytes(maxBytes: number): number {
  return PREFIX_BYTES + maxBytes
}

/**
 * Returns the only envelope of complete content. Throws Unimplemented for none and for more than
 * one, InvalidArgument for one that is cut off, and ResourceExhausted for one that is too large.
 */
export function onlyEnvelope(content: Buffer, maxBytes: number): Envelope {
  if (content.length === 0) throw missingMessage()
  const end = endOfEnvelope(content, maxBytes)
  if (end === undefined || end > content.length) throw cutOff()
  if (end < content.length)
    throw new ConnectError('the request has more than one message', Code.Unimplemented)
  return { flags: content[0] ?? 0, data: content.subarray(PREFIX_BYTES, end) }
}

/** Creates the error of a request without the message that its method needs. */
function missingMessage(): ConnectError {
  return new ConnectError('the request has no message', Code.Unimplemented)
}

/**
 * Yields the envelopes of content as they arrive. Throws InvalidArgument for one that is cut off,
 * and ResourceExhausted for one that is too large, before its data has arrived.
 */
export async function* envelopesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Envelope> {
  let pending: Uint8Array[] = []
  let size = 0
  let needed = PREFIX_BYTES
  for await (const chunk of chunks) {
    pending.push(chunk)
    size += chunk.length
    if (size < needed) continue
    let rest = Buffer.concat(pending)
    let end = endOfEnvelope(rest, maxBytes)
    while (end !== undefined && end <= rest.length) {
      yield { flags: rest[0] ?? 0, data: rest.subarray(PREFIX_BYTES, end) }
      rest = rest.subarray(end)
      end = endOfEnvelope(rest, maxBytes)
    }
    pending = [rest]
    size = rest.length
    needed = end ?? PREFIX_BYTES
  }
  if (size > 0) throw cutOff()
}

/** Returns the end of the first envelope; undefined if its prefix is incomplete. */
function endOfEnvelope(content: Buffer, maxBytes: number): number | undefined {
  if (content.length < PREFIX_BYTES) return undefined
  const size = content.readUInt32BE(1)
  if (size > maxBytes) throw messageTooLarge(maxBytes)
  return PREFIX_BYTES + size
}

function cutOff(): ConnectError {
  return new ConnectError('the request ends within a message', Code.InvalidArgument)
}
