import type http from 'node:http'
import type http2 from 'node:http2'
import net, { type AddressInfo, type Socket } from 'node:net'
import { Admission } from './admission.ts'
import { countAnswers } from './answers.ts'
import { ClientConnection } from './connection.ts'
import { PeerCredits } from './credit.ts'
import { createHttp1Server } from './http1.ts'
import { createHttp2Server } from './http2.ts'
import { defaultListenerLimits, type ListenerLimits } from './limits.ts'
import { Outgoing } from './outgoing.ts'
import { detectHttpVersion, type HttpVersion } from './preface.ts'
import { type Certificate, createTlsLayer } from './tls.ts'

export interface ListenOptions {
  /** An address or a name: `127.0.0.1`, `::1`, `0.0.0.0`, `localhost`. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** With a certificate the port speaks TLS only. */
  readonly tls?: Certificate
  /** Called for every request of either version; it must not throw. */
  readonly handler: (
    request: http.IncomingMessage | http2.Http2ServerRequest,
    response: http.ServerResponse | http2.Http2ServerResponse,
  ) => void
  readonly limits?: Partial<ListenerLimits>
  /**
   * The network by which the limits of what waits for readers count a request; left out, that of
   * the connection's other end.
   */
  readonly networkOf?: (
    request: http.IncomingMessage | http2.Http2ServerRequest,
  ) => string | undefined
  /**
   * What went wrong with a connection. Strangers cause these at will, so they belong in a debug log
   * at most.
   */
  readonly onConnectionError?: (error: Error) => void
}

export interface Listener {
  /** With the real port: `http://127.0.0.1:8080`, `https://[::1]:8443`. */
  readonly url: string
  /** The number of open connections. */
  readonly connections: () => number
  /**
   * What the listener holds at the moment: open connections, bytes that wait for readers, open
   * streams of messages.
   */
  readonly figures: () => {
    readonly connections: number
    readonly waitingBytes: number
    readonly streams: number
  }
  /**
   * Stops accepting, closes idle connections at once, lets requests in flight finish for at most
   * `graceMs` and destroys the rest. Resolves when every socket is gone. Calls after the first wait
   * for the same end.
   */
  close(graceMs: number): Promise<void>
}

// When a TCP connection has been silent for so long the kernel asks whether the peer is there
// (SO_KEEPALIVE, tcp(7)). It finds the half-open ones among HTTP/1.1 connections that wait for a
// slow answer, where the protocol has no ping.
const TCP_KEEP_ALIVE_DELAY_MS = 60_000

/**
 * Opens the port. In clear text HTTP/1.1 and HTTP/2 with prior knowledge are told apart by the
 * first bytes; `Upgrade: h2c` is ignored, as RFC 9113 §3.1 retires it. With a certificate ALPN
 * chooses.
 *
 * Rejects when the address cannot be had or the certificate cannot be used, with a message fit for
 * the operator.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const limits = { ...defaultListenerLimits, ...options.limits }
  const report = options.onConnectionError ?? (() => {})
  const admission = new Admission<ClientConnection>(
    limits.maxConnections,
    limits.maxConnectionsPerPeer,
  )
  const outgoing = new Outgoing(limits)
  const credits = new PeerCredits(limits.maxAbandonedBurst, limits.maxAbandonedPerSecond)
  const start = createProtocols(options, limits, report)

  const server = net.createServer(
    { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_DELAY_MS },
    (socket) => {
      socket.on('error', report)
      const connection = new ClientConnection(socket, limits, {
        credits,
        outgoing: outgoing.open(),
      })
      const isRefused = connection.peer !== undefined && credits.isOverdrawn(connection.peer)
      if (isRefused || !admission.admit(connection)) {
        socket.destroy()
        return
      }
      socket.once('close', () => {
        admission.remove(connection)
        connection.outgoing.close()
      })
      start(connection)
    },
  )
  await bind(server, options)
  // From here on errors are those of accept(2): most likely no file descriptor is left, so an idle
  // connection gives its own.
  server.on('error', (error) => {
    report(error)
    admission.evictIdle()
  })

  const sweep = setInterval(() => {
    const nowMs = performance.now()
    for (const connection of admission) connection.inspect(nowMs)
    outgoing.sweep(nowMs)
  }, limits.sweepIntervalMs).unref()

  let closed: Promise<void> | undefined
  return {
    url: urlOf(server.address(), options),
    connections: () => admission.size,
    figures: () => ({
      connections: admission.size,
      waitingBytes: outgoing.bytes,
      streams: outgoing.streams,
    }),
    close(graceMs) {
      closed ??= closeGracefully(server, admission, graceMs).finally(() => clearInterval(sweep))
      return closed
    },
  }
}

/** Returns the function that starts the right protocol on an admitted connection. */
function createProtocols(
  options: ListenOptions,
  limits: ListenerLimits,
  report: (error: Error) => void,
): (connection: ClientConnection) => void {
  const count = countAnswers(options.networkOf)
  const http1Server = createHttp1Server(limits, options.handler, count)
  const http2Server = createHttp2Server(limits, options.handler, report, count)
  const speak = (connection: ClientConnection, socket: Socket, version: HttpVersion): void => {
    const server = version === 'http2' ? http2Server : http1Server
    server.speak(connection, socket)
  }
  if (options.tls === undefined) {
    return (connection) =>
      detectHttpVersion(connection.socket, (version) =>
        speak(connection, connection.socket, version),
      )
  }
  try {
    return createTlsLayer(options.tls, limits, speak, report)
  } catch (cause) {
    throw new Error(`cannot use the TLS certificate or its key: ${messageOf(cause)}`, { cause })
  }
}

function bind(server: net.Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const reason =
        cause.code === 'EADDRINUSE'
          ? 'the address is in use'
          : cause.code === 'EACCES'
            ? 'permission denied (ports below 1024 are privileged)'
            : cause.message
      reject(new Error(`cannot listen on ${authority(host, port)}: ${reason}`, { cause }))
    }
    server.once('error', onError)
    server.listen(port, host, () => {
      server.off('error', onError)
      resolve()
    })
  })
}

async function closeGracefully(
  server: net.Server,
  admission: Admission<ClientConnection>,
  graceMs: number,
): Promise<void> {
  // The server's own 'close' comes when the last socket is destroyed, a moment before that socket
  // says so.
  const gone = Array.from(
    admission,
    ({ socket }) => new Promise((resolve) => socket.once('close', resolve)),
  )
  gone.push(new Promise((resolve) => server.close(resolve)))
  const deadline = setTimeout(() => {
    for (const connection of admission) connection.evict()
  }, graceMs)
  for (const connection of admission) connection.drain()
  await Promise.all(gone)
  clearTimeout(deadline)
}

function urlOf(address: AddressInfo | string | null, { host, port, tls }: ListenOptions): string {
  const scheme = tls === undefined ? 'http' : 'https'
  const boundPort = address !== null && typeof address === 'object' ? address.port : port
  return `${scheme}://${authority(host, boundPort)}`
}

function authority(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
