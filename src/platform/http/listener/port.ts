import type { Server } from 'node:net'

/** An address to listen on. */
export interface Address {
  /** An address or a name: `127.0.0.1`, `::1`, `0.0.0.0`, `localhost`. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
}

/**
 * Options of a `net.Server`. Silence of this length lets the kernel probe the peer (SO_KEEPALIVE,
 * tcp(7)), which finds half-open HTTP/1.1 connections that wait for a slow response, since HTTP/1.1
 * has no ping.
 */
export const PORT_OPTIONS = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
}

/**
 * Opens a port.
 *
 * @throws Error with a message for the operator when the address cannot be used.
 */
export function openPort(server: Server, { host, port }: Address): Promise<void> {
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

/** Returns the number of an open port. */
export function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port is open')
  return address.port
}

/** Returns the URL of an open port, such as `http://127.0.0.1:8080` or `https://[::1]:8443`. */
export function urlOf({ host }: Pick<Address, 'host'>, port: number, isTls: boolean): string {
  return `${isTls ? 'https' : 'http'}://${authority(host, port)}`
}

function authority(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
