import { once } from 'node:events'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { ConnectRouter, Transport } from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { createRpc } from '../../../src/platform/rpc/index.ts'

/** A running server of the RPC protocols over cleartext HTTP/2, and a gRPC connection to it. */
export interface RpcServer {
  readonly url: string
  readonly transport: Transport
  /** Ends calls as a server does that stops. */
  stop(): Promise<void>
}

/** Serves what `routes` registers on a free port of the loopback interface. */
export async function startRpcServer(routes: (router: ConnectRouter) => void): Promise<RpcServer> {
  const shutdown = new AbortController()
  const rpc = createRpc({ shutdownSignal: shutdown.signal })
  routes(rpc.router)
  const server = createServer(rpc.handlers().all)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sessionManager = new Http2SessionManager(url)
  return {
    url,
    transport: createGrpcTransport({ baseUrl: url, sessionManager }),
    async stop() {
      shutdown.abort()
      sessionManager.abort()
      server.close()
      await once(server, 'close')
    },
  }
}
