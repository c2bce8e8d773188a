import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

/** Below are ports of well-known services, some of which browsers refuse. */
const FIRST_PORT = 20_000

/** Ports that this process has returned before. */
const given = new Set<number>()

/**
 * Returns a port of this machine that nothing listens on, for programs that cannot choose one, and
 * for servers that start again on the same port. The system does not give the port to anybody who
 * asks for any port, since it takes those from a range of its own (ip(7), "ip_local_port_range").
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (endOfPorts() - FIRST_PORT))
    if (given.has(port)) continue
    given.add(port)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Where the range of the system begins. One that begins lower leaves too few ports. */
function endOfPorts(): number {
  const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
  const first = Number(range.split(/\s/)[0])
  return first > FIRST_PORT + 1000 ? first : 65_536
}
