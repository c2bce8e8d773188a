import type { Socket } from 'node:net'
import tls from 'node:tls'
import type { ClientConnection } from './connection.ts'
import type { ListenerLimits } from './limits.ts'

/** A PEM certificate chain and its private key. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
}

/**
 * Creates a function that performs the TLS handshake on a connection and passes on the secured
 * socket with the protocol of ALPN (HTTP/1.1 when the client offers none). A failed handshake
 * closes the connection.
 *
 * @throws Error when OpenSSL does not accept the certificate or its key.
 */
export function createTlsLayer(
  certificate: Certificate,
  limits: ListenerLimits,
  secured: (connection: ClientConnection, socket: Socket, version: HttpVersion) => void,
  report: (error: Error) => void,
): (connection: ClientConnection) => void {
  // Node does not expose the socket under a TLS socket. The peer's address and port identify the
  // connection on one listening port (RFC 9293 §3.3.1).
  const handshakes = new Map<string, ClientConnection>()
  const server = tls.createServer({
    ...certificate,
    // RFC 8996 deprecates older versions.
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: limits.headersTimeoutMs,
  })
  server.on('secureConnection', (socket) => {
    const connection = handshakes.get(endpointOf(socket))
    socket.on('error', report)
    if (connection === undefined) socket.destroy()
    else secured(connection, socket, socket.alpnProtocol === 'h2' ? 'http2' : 'http1')
  })
  server.on('tlsClientError', (error, socket) => {
    report(error)
    socket.destroy()
  })

  return (connection) => {
    const endpoint = endpointOf(connection.socket)
    handshakes.set(endpoint, connection)
    // A peer that reuses its port at once may already have a new connection.
    connection.socket.once('close', () => {
      if (handshakes.get(endpoint) === connection) handshakes.delete(endpoint)
    })
    server.emit('connection', connection.socket)
  }
}

function endpointOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}

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
