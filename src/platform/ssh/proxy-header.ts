import { isIP, type Socket } from 'node:net'

/**
 * The header by which a load balancer names the client of a connection: versions 1 and 2 of the
 * PROXY protocol (HAProxy, proxy-protocol.txt).
 */

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const FIXED_BYTES = 16

/** Of version 1 (section 2.1). */
const MAX_LINE_BYTES = 107
/** Of version 2: addresses, and values that nothing here reads. */
const MAX_HEADER_BYTES = 4096

const HEADER_TIMEOUT_MS = 5_000

/** A header, and the bytes behind it. */
interface ProxyHeader {
  /** Undefined where the load balancer itself is the client, for example to check the server. */
  readonly address: string | undefined
  readonly rest: Buffer
}

/**
 * Reads the header of a connection, and leaves the bytes behind it in the socket.
 *
 * @param use gets the address of the client. A connection without a valid header is destroyed.
 */
export function readProxyHeader(socket: Socket, use: (address: string | undefined) => void): void {
  let begun: Buffer = Buffer.alloc(0)
  const timeout = setTimeout(() => socket.destroy(), HEADER_TIMEOUT_MS)
  const onError = () => socket.destroy()
  const onClose = () => clearTimeout(timeout)
  const read = (chunk: Buffer) => {
    begun = Buffer.concat([begun, chunk])
    const header = proxyHeaderIn(begun)
    if (header === undefined) return
    clearTimeout(timeout)
    socket.off('data', read).off('close', onClose)
    if (header === 'malformed') {
      socket.destroy()
      return
    }
    socket.pause()
    use(header.address)
    socket.off('error', onError)
    if (header.rest.length > 0 && !socket.destroyed) socket.unshift(header.rest)
  }
  socket.on('error', onError).on('close', onClose).on('data', read)
}

/** Returns the header that data begins with; undefined while it is not complete. */
export function proxyHeaderIn(data: Buffer): ProxyHeader | 'malformed' | undefined {
  if (startsAs(data, SIGNATURE)) return data.length < FIXED_BYTES ? undefined : binaryHeader(data)
  if (!startsAs(data, Buffer.from('PROXY '))) return 'malformed'
  const end = data.indexOf('\r\n')
  if (end < 0) return data.length < MAX_LINE_BYTES ? undefined : 'malformed'
  const [, family, ...fields] = data.toString('latin1', 0, end).split(' ')
  const rest = data.subarray(end + 2)
  if (family === 'UNKNOWN') return { address: undefined, rest }
  const [source = ''] = fields
  const isAddress = isIP(source) !== 0 && family === `TCP${isIP(source)}`
  const isValid = isAddress && end + 2 <= MAX_LINE_BYTES && fields.length === 4
  return isValid ? { address: source, rest } : 'malformed'
}

function startsAs(data: Buffer, beginning: Buffer): boolean {
  const length = Math.min(data.length, beginning.length)
  return data.subarray(0, length).equals(beginning.subarray(0, length))
}

/** Reads a header of version 2 (section 2.2). */
function binaryHeader(data: Buffer): ProxyHeader | 'malformed' | undefined {
  const [command, family] = [data.readUInt8(12), data.readUInt8(13)]
  const length = data.readUInt16BE(14)
  if (command >> 4 !== 2 || (command & 15) > 1 || length > MAX_HEADER_BYTES) return 'malformed'
  const end = FIXED_BYTES + length
  if (data.length < end) return undefined
  const rest = data.subarray(end)
  const isLocal = (command & 15) === 0
  const addresses = data.subarray(FIXED_BYTES, end)
  if (isLocal || family >> 4 === 0) return { address: undefined, rest }
  if (family === 0x11 && length >= 12) return { address: addresses.subarray(0, 4).join('.'), rest }
  if (family === 0x21 && length >= 36) return { address: ipv6Of(addresses), rest }
  return 'malformed'
}

function ipv6Of(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1)
}
