import { createServer, type Server, type Socket } from 'node:net'
import { type Address, openPort, PORT_OPTIONS, portOf } from '../../platform/http/listener/port.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Connections that wait while no worker process is ready; more are closed. */
const MAX_WAITING = 512

/** Connections that each worker process may be slow to take; more are closed. */
const MAX_PASSING = 512

/**
 * The port of all worker processes. The primary process accepts the connections and passes each to
 * the worker process with the fewest connections. It reads and writes none of them.
 *
 * The operating system could divide them as well (`listen` on one socket in all processes), but
 * wakes whichever process it likes. Clients of HTTP/2 have one connection for hours, so that one
 * process would often serve most of them.
 */
export class ConnectionHandover {
  readonly #server: Server
  readonly #workers: () => Iterable<WorkerProcess>
  readonly #waiting = new Set<Socket>()

  private constructor(workers: () => Iterable<WorkerProcess>) {
    this.#workers = workers
    this.#server = createServer({ ...PORT_OPTIONS, pauseOnConnect: true }, (socket) => {
      // The worker process finds out.
      socket.on('error', () => {})
      this.#handOver(socket)
    })
  }

  /** @throws Error with a message for the operator when the address cannot be used. */
  static async open(
    address: Address,
    workers: () => Iterable<WorkerProcess>,
  ): Promise<ConnectionHandover> {
    const handover = new ConnectionHandover(workers)
    await openPort(handover.#server, address)
    // accept(2) can fail later, most likely because no file descriptor is left. It is tried again.
    handover.#server.on('error', () => {})
    return handover
  }

  get port(): number {
    return portOf(this.#server)
  }

  /** Passes on the connections that wait. */
  passWaiting(): void {
    for (const socket of [...this.#waiting]) {
      this.#waiting.delete(socket)
      this.#handOver(socket)
    }
  }

  /** Closes the port, and the connections that wait. */
  close(): void {
    this.#server.close()
    for (const socket of this.#waiting) socket.destroy()
    this.#waiting.clear()
  }

  #handOver(socket: Socket): void {
    const [worker] = [...this.#workers()].filter(({ isReady }) => isReady).sort(byLoad)
    if (worker && worker.passing < MAX_PASSING) worker.pass(socket)
    else if (!worker && this.#waiting.size < MAX_WAITING) this.#waiting.add(socket)
    else socket.destroy()
  }
}

/**
 * Sorts worker processes by their load, the next one to get a connection first. A process that does
 * not take connections, such as a stopped one, comes after those that do.
 */
function byLoad(a: WorkerProcess, b: WorkerProcess): number {
  return a.passing - b.passing || a.connections - b.connections || a.passedAtMs - b.passedAtMs
}
