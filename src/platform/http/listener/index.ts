import type http from 'node:http'
import net, { type Socket } from 'node:net'
import { Admission } from './admission.ts'
import { countAnswers } from './answers.ts'
import { ClientConnection } from './connection.ts'
import { PeerCredits } from './credit.ts'
import { createHttp1Server } from './http1.ts'
import { createHttp2Server } from './http2.ts'
import type { Http2Request, Http2Response } from './http2-messages.ts'
import { defaultListenerLimits, type ListenerLimits } from './limits.ts'
import { Outgoing } from './outgoing.ts'
import { openPort, PORT_OPTIONS, portOf, urlOf } from './port.ts'
import { detectSsh } from './ssh-detection.ts'
import { type Certificate, createTlsLayer, detectHttpVersion, type HttpVersion } from './tls.ts'

export interface ListenOptions {
  /** An address or a name: `127.0.0.1`, `::1`, `0.0.0.0`, `localhost`. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** With a certificate, the port accepts TLS only. */
  readonly tls?: Certificate
  /** Set where another process has opened the port. */
  readonly passed?: PassedConnections | undefined
  /** Called for each request of either version. Must not throw. */
  readonly handler: (
    request: http.IncomingMessage | Http2Request,
    response: http.ServerResponse | Http2Response,
  ) => void
  /**
   * Takes connections that begin as SSH, with the bytes that were read, and destroys the socket when
   * another process has the connection. Where it is absent, such connections are malformed HTTP.
   */
  readonly onSsh?: ((socket: Socket, begun: Buffer) => void) | undefined
  readonly limits?: Partial<ListenerLimits>
  /**
   * Returns the network that limits of unread bytes apply to. By default, the network of the
   * connection.
   */
  readonly networkOf?: (request: http.IncomingMessage | Http2Request) => string | undefined
  /** Called for errors of connections. Any client can cause them, so log them at level debug. */
  readonly onConnectionError?: (error: Error) => void
}

/** The connections of a port that another process has opened. */
export interface PassedConnections {
  readonly port: number
  /** Calls a function with each connection. */
  onConnection(accept: (socket: Socket) => void): void
}

export interface Listener {
  /** The URL with the actual port, such as `http://127.0.0.1:8080` or `https://[::1]:8443`. */
  readonly url: string
  /** Returns the number of open connections. */
  readonly connections: () => number
  /** Returns the number of open connections, unread bytes and open message streams. */
  readonly figures: () => {
    readonly connections: number
    readonly waitingBytes: number
    readonly streams: number
  }
  /**
   * Lets clients of this server connect anew: HTTP/2 sessions end after their requests, and other
   * connections after their next response. Silent ones stay open.
   */
  leave(): void
  /**
   * Stops accepting, closes idle connections at once, lets requests in flight finish for at most
   * `graceMs` and destroys the rest. Resolves when all sockets are closed. Later calls wait for the
   * first.
   */
  close(graceMs: number): Promise<void>
}

/**
 * Opens the port. Without TLS, the first bytes distinguish HTTP/1.1 from HTTP/2 with prior
 * knowledge. `Upgrade: h2c` is ignored, as RFC 9113 §3.1 deprecates it. With TLS, ALPN selects the
 * version.
 *
 * @throws Error with a message for the operator when the address or the certificate cannot be used.
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

  const sweeps = sweepsOf(admission, outgoing, limits.sweepIntervalMs)

  const server = net.createServer(PORT_OPTIONS, (socket) => {
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
    sweeps.begin()
    socket.once('close', () => {
      admission.remove(connection)
      connection.outgoing.close()
    })
    const { onSsh } = options
    if (!onSsh) return start(connection)
    detectSsh(socket, (begun) => {
      if (begun) onSsh(socket, begun)
      else start(connection)
    })
  })
  if (options.passed === undefined) await openPort(server, options)
  else acceptPassed(server, options.passed)
  // Later errors come from accept(2), most likely because no file descriptor is left. Closing an
  // idle connection frees one.
  server.on('error', (error) => {
    report(error)
    admission.evictIdle()
  })

  let closed: Promise<void> | undefined
  return {
    url: urlOf(options, options.passed?.port ?? portOf(server), options.tls !== undefined),
    connections: () => admission.size,
    figures: () => ({
      connections: admission.size,
      waitingBytes: outgoing.bytes,
      streams: outgoing.streams,
    }),
    leave() {
      for (const connection of admission) connection.leave()
    },
    close(graceMs) {
      closed ??= closeGracefully(server, admission, graceMs).finally(sweeps.end)
      return closed
    },
  }
}

/** Looks at all connections from time to time, while there are some. A server without connections sleeps. */
function sweepsOf(
  admission: Admission<ClientConnection>,
  outgoing: Outgoing,
  intervalMs: number,
): { readonly begin: () => void; readonly end: () => void } {
  let timer: NodeJS.Timeout | undefined
  const end = () => {
    clearInterval(timer)
    timer = undefined
  }
  const sweep = () => {
    const nowMs = performance.now()
    for (const connection of admission) connection.inspect(nowMs)
    outgoing.sweep(nowMs)
    if (admission.size === 0) end()
  }
  return {
    begin: () => {
      timer ??= setInterval(sweep, intervalMs).unref()
    },
    end,
  }
}

/** Creates the function that starts the protocol of an admitted connection. */
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

/** Accepts connections from another process until the server closes. */
function acceptPassed(server: net.Server, passed: PassedConnections): void {
  let isClosed = false
  server.once('close', () => {
    isClosed = true
  })
  passed.onConnection((socket) => {
    if (isClosed) socket.destroy()
    else server.emit('connection', socket)
  })
}

async function closeGracefully(
  server: net.Server,
  admission: Admission<ClientConnection>,
  graceMs: number,
): Promise<void> {
  // The server emits 'close' when the last socket is destroyed, just before that socket emits its
  // own 'close'.
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

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
