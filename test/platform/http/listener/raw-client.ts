import { once } from 'node:events'
import net from 'node:net'

/** A TCP client that says exactly what a test tells it to. */
export interface RawClient {
  readonly socket: net.Socket
  /** Everything received so far, bytes as Latin-1. */
  received(): string
  /**
   * Resolves with everything received as soon as it contains `text`. Rejects when the connection
   * closes first.
   */
  until(text: string): Promise<string>
  /** Resolves with everything received when the connection is gone, reset or not. */
  readonly closed: Promise<string>
}

/** Connects to the host and port of `url`, and sends `first` in the same breath. */
export async function connectRaw(url: string, first = ''): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = net.connect({ host: hostname, port: Number(port), noDelay: true })
  socket.write(first)
  await once(socket, 'connect')
  let text = ''
  const waiting = new Set<() => void>()
  const wake = (): void => {
    for (const check of waiting) check()
  }
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    wake()
  })
  // How a connection ends is the server's choice; that it ends is what tests wait for.
  socket.on('error', () => {})
  const closed = new Promise<string>((resolve) => {
    socket.on('close', () => {
      resolve(text)
      wake()
    })
  })
  const until = (wanted: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (text.includes(wanted)) resolve(text)
        else if (socket.destroyed)
          reject(
            new Error(`closed after ${JSON.stringify(text)}, without ${JSON.stringify(wanted)}`),
          )
        else return
        waiting.delete(check)
      }
      waiting.add(check)
      check()
    })
  return { socket, received: () => text, until, closed }
}

/** Frame types, flags and error codes of RFC 9113 that the tests send or look for. */
export const frameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  continuation: 9,
}
export const endStream = 1
export const endHeaders = 4
export const ack = 1

/** One HTTP/2 frame (RFC 9113 §4.1). */
export function frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(9)
  header.writeUIntBE(payload.length, 0, 3)
  header.writeUInt8(type, 3)
  header.writeUInt8(flags, 4)
  header.writeUInt32BE(streamId, 5)
  return Buffer.concat([header, payload])
}

/**
 * `GET http://a/` in HPACK: indexed fields 2, 6 and 4 of the static table, then a literal
 * `:authority`.
 */
export const getRequestHeaders = Buffer.from([0x82, 0x86, 0x84, 0x41, 0x01, 0x61])
/** `GET http://a/hold`, the path as a literal with the name of field 4. */
export const holdRequestHeaders = Buffer.concat([
  Buffer.from([0x82, 0x86, 0x04, 0x05]),
  Buffer.from('/hold'),
  Buffer.from([0x41, 0x01, 0x61]),
])
/** The same as `getRequestHeaders` with POST, field 3. */
export const postRequestHeaders = Buffer.from([0x83, 0x86, 0x84, 0x41, 0x01, 0x61])

/** A frame of the server, with the error code of RST_STREAM and GOAWAY. */
export interface ReceivedFrame {
  readonly type: number
  readonly streamId: number
  readonly payload: Buffer
  readonly errorCode: number | undefined
}

/** The complete frames in what a server sent. */
export function framesOf(received: string): ReceivedFrame[] {
  const bytes = Buffer.from(received, 'latin1')
  const frames: ReceivedFrame[] = []
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    if (end > bytes.length) break
    const type = bytes.readUInt8(at + 3)
    const payload = bytes.subarray(at + 9, end)
    const errorAt = type === frameType.rstStream ? 0 : type === frameType.goaway ? 4 : undefined
    const errorCode = errorAt === undefined ? undefined : payload.readUInt32BE(errorAt)
    frames.push({ type, streamId: bytes.readUInt32BE(at + 5), payload, errorCode })
    at = end
  }
  return frames
}
