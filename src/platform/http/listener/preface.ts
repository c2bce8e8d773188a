import type { Socket } from 'node:net'

/** The client connection preface of HTTP/2 (RFC 9113 §3.4). */
export const http2Preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** The protocols of the port. */
export type HttpVersion = 'http1' | 'http2'

/**
 * Reads the first bytes of a connection until they determine the protocol, returns them to the
 * socket and calls `decided`. The first byte that differs from the HTTP/2 preface means HTTP/1.1,
 * for `POST` the second byte. `decided` is not called for a connection that closes before.
 */
export function detectHttpVersion(socket: Socket, decided: (version: HttpVersion) => void): void {
  const chunks: Buffer[] = []
  let matched = 0

  const decide = (version: HttpVersion): void => {
    socket.off('readable', onReadable)
    socket.unshift(Buffer.concat(chunks))
    decided(version)
  }

  const onReadable = (): void => {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) return
    chunks.push(chunk)
    const rest = http2Preface.subarray(matched)
    const compared = Math.min(chunk.length, rest.length)
    matched += compared
    if (!chunk.subarray(0, compared).equals(rest.subarray(0, compared))) decide('http1')
    else if (matched === http2Preface.length) decide('http2')
  }

  socket.on('readable', onReadable)
}
