import type { Socket } from 'node:net'
import tls from 'node:tls'
import type { ClientConnection } from './connection.ts'
import type { ListenerLimits } from './limits.ts'
import type { HttpVersion } from './preface.ts'

/** A PEM certificate chain and its private key. */
export interface Certificate {
  readonly cert: Buffer
  readonly key: Buffer
}

/**
 * Returns a function that does the TLS handshake on a connection and hands over the secured socket
 * with the protocol ALPN chose (HTTP/1.1 when the client offers none). A handshake that fails, and
 * plain text, close the connection. Throws when OpenSSL does not accept the certificate or its key.
 */
export function createTlsLayer(
  certificate: Certificate,
  limits: ListenerLimits,
  secured: (connection: ClientConnection, socket: Socket, version: HttpVersion) => void,
  report: (error: Error) => void,
): (connection: ClientConnection) => void {
  // Node does not tell which socket a TLS socket wraps; on one listening port the peer's address
  // and port do (RFC 9293 §3.3.1).
  const handshakes = new Map<string, ClientConnection>()
  const server = tls.createServer({
    ...certificate,
    // RFC 8996 retires what is older.
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
    // A peer that reuses its port at once may already be back under the same name.
    connection.socket.once('close', () => {
      if (handshakes.get(endpoint) === connection) handshakes.delete(endpoint)
    })
    server.emit('connection', connection.socket)
  }
}

function endpointOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}
