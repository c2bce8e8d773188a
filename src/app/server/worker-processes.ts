import { randomInt } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { sumMetrics } from '../../edge/operator-pages/metrics.ts'
import { GroupHost, type HostedProcess } from '../../platform/database/coordination/group-host.ts'
import {
  type Address,
  openPort,
  PORT_OPTIONS,
  portOf,
  urlOf,
} from '../../platform/http/listener/port.ts'
import { type Metrics, WORKER_PROTOCOL } from './worker-messages.ts'
import {
  type ConnectionKind,
  type WorkerEnd,
  WorkerProcess,
  type WorkerProgram,
} from './worker-process.ts'

/** Time of service after which the end of a worker process is no sign of a lasting fault. */
const STEADY_MS = 60_000

/** Longest wait before a worker process is started again. */
const MAX_DELAY_MS = 30_000

/** First wait, which doubles with each further end in a short time. */
const FIRST_DELAY_MS = 250

/** Consecutive failed starts after which the server exits, if no worker process runs: about 90 s. */
const MAX_FAILURES = 10

/** Longest wait for the end of a process with a successor, before the next one is replaced. */
const MAX_RETIREMENT_WAIT_MS = 10_000

/** Numbers of servers and of groups are below this. Those of ended ones are not used again. */
const MAX_NUMBER = 2 ** 31 - 1

/** Options of the worker processes of a server. */
interface WorkerProcessesOptions {
  readonly program: WorkerProgram
  readonly count: number
  readonly listen: Address
  /** Undefined where SSH has no port of its own. */
  readonly sshListen: Address | undefined
  readonly isTls: boolean
  /** Whether the worker processes use one SQLite database, which they coordinate here. */
  readonly isOnSqlite: boolean
  readonly log: Logger
  /** Time between the announcement of a stop and the stop. */
  readonly stopDelayMs: number
  /** Called when no worker process can be started any more. */
  readonly onGivenUp: (error: Error) => void
}

/**
 * Starts worker processes, each of which is a complete server, and replaces those that end.
 *
 * This process does not touch the data, so that it is small and has no reason to fail.
 */
export class WorkerProcesses {
  readonly #options: WorkerProcessesOptions
  /** The processes that run. While one takes the place of another one, both have its number. */
  readonly #running = new Set<WorkerProcess>()
  /** The process that is being replaced while it serves. */
  #leaving: WorkerProcess | undefined
  /** The end of the last restart. */
  #restarted: Promise<void> = Promise.resolve()
  /** Ends in a row in a short time, by number. */
  readonly #failures = new Map<number, number>()
  readonly #restarts = new Set<NodeJS.Timeout>()
  readonly #metrics = new MetricsSum()
  readonly #group: { readonly id: number; readonly host: GroupHost } | undefined
  #handover: ConnectionHandover | undefined
  #sshHandover: ConnectionHandover | undefined
  /** The end of a process before all of them were ready. */
  #lost: WorkerEnd | undefined
  #state: 'starting' | 'serving' | 'stopping' = 'starting'

  constructor(options: WorkerProcessesOptions) {
    this.#options = options
    this.#group = options.isOnSqlite
      ? { id: randomInt(1, MAX_NUMBER), host: new GroupHost() }
      : undefined
  }

  /**
   * Opens the ports and starts all worker processes. A start that fails leaves nothing running.
   *
   * @returns the URL of the server, and the port of SSH where SSH has one of its own.
   * @throws Error with a message for the operator.
   */
  async start(): Promise<{ readonly url: string; readonly sshPort: number | undefined }> {
    const { listen, sshListen, isTls, count } = this.#options
    const workers = () => this.#running
    this.#handover = await ConnectionHandover.open(listen, workers, 'connection')
    try {
      if (sshListen)
        this.#sshHandover = await ConnectionHandover.open(sshListen, workers, 'SSH connection')
      // The first one migrates the tables, and finds what prevents a start.
      await this.#startOne(1)
      const others = Array.from({ length: count - 1 }, (_, index) => this.#startOne(index + 2))
      await Promise.all(others)
      if (this.#lost) throw new Error(this.#lost.reason)
    } catch (error) {
      // The caller of `stop` waits for the end of the processes.
      if (this.#state === 'stopping') return new Promise(() => {})
      this.kill()
      await Promise.all([...workers()].map(({ ended }) => ended))
      throw error
    }
    this.#state = 'serving'
    const url = urlOf(listen, this.#handover.port, isTls)
    return { url, sshPort: this.#sshHandover?.port }
  }

  /**
   * Announces the stop. After the delay, closes the port and lets all worker processes end after their
   * calls. Resolves with whether all of them could finish their calls.
   */
  async drain(): Promise<boolean> {
    this.#state = 'stopping'
    for (const worker of this.#running) worker.announceStop()
    if (this.#options.stopDelayMs > 0) await sleep(this.#options.stopDelayMs)
    this.#stop()
    const ends = [...this.#running].map(async (worker) => {
      const hasServed = worker.isReady
      worker.drain()
      const { code } = await worker.ended
      return code === 0 || !hasServed
    })
    return (await Promise.all(ends)).every((isFinished) => isFinished)
  }

  /** Lets all worker processes read the host keys of SSH again. */
  readHostKeys(): void {
    for (const worker of this.#running) worker.readHostKeys()
  }

  /**
   * Replaces all worker processes, one after the other, by processes of the program that is on the
   * disk now. Each one serves until another one serves in its place, and then finishes its calls.
   *
   * When a new process cannot start, the others go on as before. A later call waits for the first.
   */
  restart(): void {
    this.#restarted = this.#restarted.then(() => this.#restartAll())
  }

  /** Ends all worker processes at once. */
  kill(): void {
    this.#stop()
    for (const worker of this.#running) worker.kill()
  }

  #stop(): void {
    this.#state = 'stopping'
    for (const restart of this.#restarts) clearTimeout(restart)
    this.#handover?.close()
    this.#sshHandover?.close()
  }

  async #restartAll(): Promise<void> {
    for (const worker of [...this.#running]) {
      if (this.#state !== 'serving') return
      // Its replacement, which is about to start, is of the program on the disk.
      if (!worker.isReady) continue
      if (!(await this.#succeed(worker))) return
      worker.retire()
      const longest = sleep(MAX_RETIREMENT_WAIT_MS, undefined, { ref: false })
      await Promise.race([worker.ended, longest])
    }
    this.#options.log.info('all worker processes were restarted')
  }

  /** Starts another process in the place of one that serves. Returns whether it serves. */
  async #succeed(worker: WorkerProcess): Promise<boolean> {
    const { number } = worker
    const { log } = this.#options
    this.#leaving = worker
    try {
      await this.#startOne(number, true)
      log.info({ worker: number, pid: worker.pid }, 'another worker process takes the place')
      return true
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (this.#state !== 'serving') return false
      log.error(
        { worker: number, reason },
        'the restart has failed, and the earlier processes go on',
      )
      if (!this.#running.has(worker)) this.#replace(worker, await worker.ended)
      return false
    } finally {
      this.#leaving = undefined
    }
  }

  /**
   * Starts a worker process. Resolves when it serves.
   *
   * @param isSuccessor whether another process of the number still serves.
   */
  async #startOne(number: number, isSuccessor = false): Promise<void> {
    const port = this.#handover?.port
    if (port === undefined || this.#state === 'stopping') throw new Error('the server is stopping')
    const sshPort = this.#sshHandover?.port
    const serverId = randomInt(1, MAX_NUMBER)
    const group = this.#group && { groupId: this.#group.id, serverId }
    const start = {
      protocol: WORKER_PROTOCOL,
      worker: number,
      workers: this.#options.count,
      port,
      sshPort,
      group,
    }
    await new Promise<void>((resolve, reject) => {
      const worker = new WorkerProcess(this.#options.program, start, {
        onReady: () => {
          worker.tellGitMemoryOfOthers(this.#gitBytesBeside(worker))
          this.#handover?.passWaiting()
          this.#sshHandover?.passWaiting()
          resolve()
        },
        onSumMetrics: (id) => void this.#sumMetrics(worker, id),
        onLeaving: () => this.#leave(worker),
        onGitMemory: () => this.#tellGitMemory(),
        onGroupMessage: (message) => this.#group?.host.receive(hosted, message),
      })
      const hosted: HostedProcess = {
        serverId,
        send: (message) => worker.tellGroup(message),
        kill: () => worker.kill(),
      }
      this.#group?.host.add(hosted)
      this.#running.add(worker)
      void worker.ended.then((end) => {
        this.#running.delete(worker)
        this.#group?.host.remove(hosted)
        this.#metrics.keep(worker)
        this.#tellGitMemory()
        // A restart tells why a successor did not start, and goes on after the end of its predecessor.
        const isPartOfRestart = worker.isRetired || worker === this.#leaving
        const isFailedSuccessor = isSuccessor && worker.servedMs === undefined
        if (this.#state !== 'serving') this.#lost ??= end
        else if (!isPartOfRestart && !isFailedSuccessor) this.#replace(worker, end)
        reject(new Error(end.reason))
      })
    })
  }

  /** Lets one process end after the delay, unless all of them do. */
  #leave(worker: WorkerProcess): void {
    worker.announceStop()
    setTimeout(() => {
      if (this.#state !== 'stopping') worker.drain()
    }, this.#options.stopDelayMs)
  }

  /** Starts another process in the place of one that has ended. */
  #replace({ number, pid, servedMs }: WorkerProcess, { reason }: WorkerEnd): void {
    const { log, onGivenUp } = this.#options
    const isSteady = servedMs !== undefined && servedMs >= STEADY_MS
    const failures = isSteady ? 0 : (this.#failures.get(number) ?? 0) + 1
    this.#failures.set(number, failures)
    const delayMs = restartDelayMs(failures)
    log.error({ worker: number, pid, reason, delayMs }, 'a worker process has ended')
    const isServing = [...this.#running].some(({ isReady }) => isReady)
    if (servedMs === undefined && failures >= MAX_FAILURES && !isServing) {
      onGivenUp(new Error(reason))
      return
    }
    const restart = setTimeout(() => {
      this.#restarts.delete(restart)
      // `#replace` is called again when the start fails.
      this.#startOne(number).then(
        () => log.info({ worker: number }, 'a worker process was replaced'),
        () => {},
      )
    }, delayMs)
    this.#restarts.add(restart)
  }

  async #sumMetrics(worker: WorkerProcess, id: number): Promise<void> {
    worker.answerMetrics(id, await this.#metrics.read(this.#running))
  }

  #tellGitMemory(): void {
    for (const worker of this.#running) worker.tellGitMemoryOfOthers(this.#gitBytesBeside(worker))
  }

  #gitBytesBeside(worker: WorkerProcess): number {
    const others = [...this.#running].filter((other) => other !== worker)
    return others.reduce((total, { gitBytes }) => total + gitBytes, 0)
  }
}

/**
 * Returns the wait before a worker process is started again.
 *
 * @param failures ends in a row in a short time.
 */
export function restartDelayMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1))
}

/** Connections that wait while no worker process is ready; more are closed. */
const MAX_WAITING = 512

/** Connections that each worker process may be slow to take; more are closed. */
const MAX_PASSING = 512

/**
 * A port of all worker processes. The primary process accepts the connections and passes each to
 * the worker process with the fewest connections. It reads and writes none of them.
 *
 * The operating system could divide them as well (`listen` on one socket in all processes), but
 * wakes whichever process it likes. Clients of HTTP/2 have one connection for hours, so that one
 * process would often serve most of them.
 */
class ConnectionHandover {
  readonly #server: Server
  readonly #workers: () => Iterable<WorkerProcess>
  readonly #kind: ConnectionKind
  readonly #waiting = new Set<Socket>()

  private constructor(workers: () => Iterable<WorkerProcess>, kind: ConnectionKind) {
    this.#workers = workers
    this.#kind = kind
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
    kind: ConnectionKind,
  ): Promise<ConnectionHandover> {
    const handover = new ConnectionHandover(workers, kind)
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
    if (worker && worker.passing < MAX_PASSING) worker.pass(socket, this.#kind)
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

/** Time for a worker process to answer. Its earlier metrics count when it does not. */
const MAX_WAIT_MS = 2_000

/**
 * Sums the metrics of worker processes.
 *
 * What an ended process had counted when its metrics were last read stays in the sum. Prometheus
 * would take a smaller sum for a restart, and count everything again
 * (https://prometheus.io/docs/prometheus/latest/querying/functions/#rate).
 */
class MetricsSum {
  #ofEnded: readonly Metrics[] = []

  /** Returns the sum. */
  async read(workers: Iterable<WorkerProcess>): Promise<Metrics> {
    const all = [...workers]
    await Promise.all(all.map((worker) => worker.readMetrics(MAX_WAIT_MS)))
    const metrics = await sumMetrics([...this.#ofEnded, ...all.map((worker) => worker.metrics)])
    await this.#sumEnded()
    return metrics
  }

  /** Keeps the counters of a process that has ended. */
  keep({ metrics }: WorkerProcess): void {
    const counted = metrics.filter(isCounted)
    if (counted.length > 0) this.#ofEnded = [...this.#ofEnded, counted]
  }

  /** Keeps one sum instead of the counters of each process. */
  async #sumEnded(): Promise<void> {
    const ended = this.#ofEnded
    if (ended.length < 2) return
    const summed = await sumMetrics(ended)
    // Otherwise another process has ended meanwhile, or another call has summed.
    if (this.#ofEnded === ended) this.#ofEnded = [summed]
  }
}

/** Returns whether a metric only grows, as opposed to a gauge. */
function isCounted({ type }: Metrics[number]): boolean {
  return type === 'counter' || type === 'histogram'
}
