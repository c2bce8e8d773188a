import { EventEmitter, once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request that arrived. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Somebody on loopback who gets deliveries. */
export interface Receiver {
  readonly url: string
  readonly port: number
  /** Everything that arrived so far. */
  readonly received: readonly Received[]
  /** The oldest request that was not taken yet, once there is one. */
  next(): Promise<Received>
  stop(): Promise<void>
}

/**
 * Starts a receiver on a free port.
 *
 * @param answer answers a request, 204 by default. It may leave it unanswered.
 * @param tls speaks TLS with this certificate.
 */
export async function startReceiver(
  answer: (response: ServerResponse, request: Received) => void = (response) =>
    response.writeHead(204).end(),
  port = 0,
  tls?: { cert: Buffer; key: Buffer },
): Promise<Receiver> {
  const received: Received[] = []
  let taken = 0
  const arrivals = new EventEmitter()
  const listener: RequestListener = async (request, response) => {
    const { method = '', url: path = '', headers } = request
    const whole = { method, path, headers, body: await text(request) }
    received.push(whole)
    arrivals.emit('arrival')
    answer(response, whole)
  }
  const server = tls ? createSecureServer(tls, listener) : createServer(listener)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${bound}/in`,
    port: bound,
    received,
    async next() {
      for (;;) {
        const request = received[taken]
        if (request) {
          taken++
          return request
        }
        await once(arrivals, 'arrival')
      }
    },
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
