import type { Request } from './requests.ts'

/** Frame types (RFC 9113 section 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
} as const

/** Frame flags. Flags with the same bit belong to different frame types. */
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const

/** The largest window (RFC 9113 section 6.9.1), so that the client never delays a response. */
const MAX_WINDOW_BYTES = 2 ** 31 - 1
const INITIAL_WINDOW_BYTES = 65_535
const SETTINGS_INITIAL_WINDOW_SIZE = 4

/** Returns a frame with its header of nine bytes. */
export function frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = new Uint8Array(),
): Buffer {
  const bytes = Buffer.alloc(9 + payload.length)
  bytes.writeUIntBE(payload.length, 0, 3)
  bytes.writeUInt8(type, 3)
  bytes.writeUInt8(flags, 4)
  bytes.writeUInt32BE(streamId, 5)
  bytes.set(payload, 9)
  return bytes
}

/** Returns the length of the payload of the frame at `at`. */
export function frameLength(bytes: Buffer, at: number): number {
  return bytes.readUIntBE(at, 3)
}

/** Returns a frame that lets the server send more bytes on the connection. */
export function windowUpdate(bytes: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(bytes)
  return frame(FRAME.windowUpdate, 0, 0, payload)
}

/** The connection preface of a client (RFC 9113 section 3.4). */
export const PREFACE: Buffer = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(FRAME.settings, 0, 0, initialWindowSetting()),
  windowUpdate(MAX_WINDOW_BYTES - INITIAL_WINDOW_BYTES),
])

function initialWindowSetting(): Buffer {
  const payload = Buffer.alloc(6)
  payload.writeUInt16BE(SETTINGS_INITIAL_WINDOW_SIZE)
  payload.writeUInt32BE(MAX_WINDOW_BYTES, 2)
  return payload
}

/** Returns HEADERS, and DATA if the request has content. */
export function encodeRequest(blocks: HeaderBlocks, streamId: number, request: Request): Buffer {
  const { body } = request
  const block = blocks.encode(request)
  if (body.length === 0)
    return frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, streamId, block)
  return Buffer.concat([
    frame(FRAME.headers, FLAG.endHeaders, streamId, block),
    frame(FRAME.data, FLAG.endStream, streamId, body),
  ])
}

/** Number of entries of HPACK's static table. The dynamic table follows (RFC 7541 appendix A). */
const STATIC_ENTRIES = 61

/**
 * First bytes of an indexed field, of a literal with indexing, and of a literal without (RFC 7541
 * section 6).
 */
const INDEXED = 0x80
const LITERAL_INDEXED = 0x40
const LITERAL_PATH = 0x04

/**
 * The header blocks of one connection (RFC 7541). As with real clients, the first block puts its
 * fields into the table of the server, and later blocks refer to them. Only the path is always a
 * literal.
 */
export class HeaderBlocks {
  readonly #authority: string
  #references: readonly Buffer[] | undefined

  constructor(authority: string) {
    this.#authority = authority
  }

  /** The headers of all requests of a connection must be the same except for the path. */
  encode({ method, path, headers, body }: Request): Buffer {
    // The path comes first, because pseudo-headers precede all others.
    const spelledPath = Buffer.concat([Buffer.from([LITERAL_PATH]), text(path)])
    if (this.#references !== undefined) return Buffer.concat([spelledPath, ...this.#references])
    const fields = Object.entries({
      ':method': method,
      ':scheme': 'http',
      ':authority': this.#authority,
      'user-agent': 'bench',
      accept: '*/*',
      ...headers,
      ...(body.length > 0 && { 'content-length': String(body.length) }),
    })
    // The newest entry has the lowest index.
    this.#references = fields.map((_, i) =>
      Buffer.from([INDEXED | (STATIC_ENTRIES + fields.length - i)]),
    )
    const literals = fields.map(([name, value]) =>
      Buffer.concat([Buffer.from([LITERAL_INDEXED]), text(name), text(value)]),
    )
    return Buffer.concat([spelledPath, ...literals])
  }
}

/**
 * The largest length that fits into the first byte beside the Huffman bit (RFC 7541 section 5.1).
 */
const MAX_SHORT_LENGTH = 126

/** Returns a string literal without Huffman coding (RFC 7541 section 5.2). */
function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  const { length } = bytes
  if (length <= MAX_SHORT_LENGTH) return Buffer.concat([Buffer.from([length]), bytes])
  const rest = length - MAX_SHORT_LENGTH - 1
  if (rest >= 2 ** 14) throw new Error('a header of more than 16 KiB')
  const tail = rest < 128 ? [rest] : [128 | (rest & 127), rest >> 7]
  return Buffer.concat([Buffer.from([MAX_SHORT_LENGTH + 1, ...tail]), bytes])
}
