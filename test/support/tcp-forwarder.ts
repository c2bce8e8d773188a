import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** An address that leads to one of several servers, as the virtual address of an operator does. */
export interface TcpForwarder {
  readonly port: number
  /** Ends all connections, and leads new ones to another port. */
  leadTo(port: number): void
  /** Passes on no more bytes, like a network that loses all packets. Connections stay open. */
  hang(): void
  stop(): Promise<void>
}

/** Starts a forwarder on a free port of loopback. */
export async function startForwarder(port: number): Promise<TcpForwarder> {
  let target = port
  let isHanging = false
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    socket.on('error', () => {})
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  const pass = (from: Socket, to: Socket) => {
    from.on('data', (bytes) => {
      if (!isHanging) to.write(bytes)
    })
    from.once('close', () => to.destroy())
  }
  const server = createServer((client) => {
    keep(client)
    if (isHanging) return
    const remote = connect(target, '127.0.0.1')
    keep(remote)
    pass(client, remote)
    pass(remote, client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const endAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: address.port,
    leadTo(next) {
      target = next
      isHanging = false
      endAll()
    },
    hang() {
      isHanging = true
    },
    async stop() {
      server.close()
      endAll()
      await once(server, 'close')
    },
  }
}
