import type { Socket } from 'node:net'
import type { MetricsOfAll } from '../../edge/operator-pages/metrics.ts'
import type { GroupChannel } from '../../platform/database/coordination/group-membership.ts'
import type { MessageOfHost } from '../../platform/database/coordination/group-messages.ts'
import type { SharedGitMemory } from '../../platform/git/processes/running-processes.ts'
import type { PassedConnections } from '../../platform/http/listener/index.ts'
import {
  type MessageToPrimary,
  type MessageToWorker,
  type Metrics,
  WORKER_PROTOCOL,
} from './worker-messages.ts'

/** Services of the primary process for a server that is one of several worker processes. */
export interface WorkerSurroundings {
  readonly connections: PassedConnections
  /** Undefined where SSH has no port of its own. */
  readonly sshConnections: PassedConnections | undefined
  readonly metrics: MetricsOfAll
  readonly gitMemory: SharedGitMemory
  /** Set where the worker processes use one SQLite database. */
  readonly group: GroupChannel | undefined
}

/** Change of the memory of Git processes that is worth a message. */
const REPORTED_GIT_BYTES = 8 * 1024 ** 2

/** Longest life without the primary process: the time for calls in flight, and some for the rest. */
const MAX_DRAIN_MS = 30_000

/** Longest life of a process that another one has replaced, when the whole server stops. */
const MAX_DRAIN_OF_RETIRED_MS = 20_000

/** Requests of the primary process to a process that serves. */
interface Reactions {
  /** Reports from now on that this process is not ready. */
  readonly announceStop: () => void
  readonly readHostKeys: () => void
  /** Finishes the calls in flight. Called once. */
  readonly drain: () => void
  /** Finishes the calls in flight, which have much time. Called once, and before `drain`. */
  readonly retire: () => void
}

type Start = Extract<MessageToWorker, { kind: 'start' }>

/** The primary process, as a worker process sees it. */
export class PrimaryProcess implements WorkerSurroundings {
  /** Number of this worker process, from 1. */
  readonly worker: number
  readonly connections: PassedConnections
  readonly sshConnections: PassedConnections | undefined
  readonly metrics: MetricsOfAll
  readonly gitMemory: SharedGitMemory
  readonly group: GroupChannel | undefined
  readonly #groupListeners: ((message: MessageOfHost) => void)[] = []
  readonly #ends: (() => void)[] = []
  #isRetiring = false
  readonly #sums = new Map<number, (sum: Metrics | undefined) => void>()
  #lastSum = 0
  #accept: (socket: Socket) => void = (socket) => socket.destroy()
  #acceptSsh: (socket: Socket) => void = (socket) => socket.destroy()
  #readMetrics: () => Promise<Metrics> = async () => []
  #reactions: Reactions | undefined
  #isDraining = false
  #gitBytesOfOthers = 0
  #gitBytes = 0

  private constructor({ worker, workers, port, sshPort, group }: Start) {
    this.worker = worker
    this.connections = {
      port,
      onConnection: (accept) => {
        this.#accept = accept
      },
    }
    this.sshConnections =
      sshPort === undefined
        ? undefined
        : {
            port: sshPort,
            onConnection: (accept) => {
              this.#acceptSsh = accept
            },
          }
    this.metrics = {
      onRead: (read) => {
        this.#readMetrics = read
      },
      sum: () => this.#sumMetrics(),
    }
    const ofOthers = () => this.#gitBytesOfOthers
    this.gitMemory = {
      share: 1 / workers,
      get bytesOfOthers() {
        return ofOthers()
      },
      report: (bytes) => this.#reportGitMemory(bytes),
    }
    this.group = group && {
      ...group,
      send: (message) => send({ kind: 'group', message }),
      onMessage: (listener) => void this.#groupListeners.push(listener),
      onEnd: (listener) => void this.#ends.push(listener),
    }
  }

  /** Waits for the first message of the primary process. Ends this process when there is none. */
  static connect(): Promise<PrimaryProcess> {
    return new Promise((resolve) => {
      let primary: PrimaryProcess | undefined
      process.on('message', (message: MessageToWorker, socket?: Socket) => {
        if (primary) {
          primary.#receive(message, socket)
        } else if (message.kind === 'start') {
          if (message.protocol !== WORKER_PROTOCOL) return void refuse()
          primary = new PrimaryProcess(message)
          resolve(primary)
        }
      })
      process.once('disconnect', () => {
        if (primary) primary.#disconnected()
        else process.exit(1)
      })
    })
  }

  /** Tells that this process serves. */
  ready(reactions: Reactions): void {
    this.#reactions = reactions
    send({ kind: 'ready' })
  }

  /** Tells why this process cannot start. */
  fail(message: string): Promise<void> {
    return new Promise((resolve) => send({ kind: 'failed', message }, resolve))
  }

  /** Asks for the end of this process, which gets no further connections then. */
  leave(): void {
    // Without the primary process, this process is ending already.
    send({ kind: 'leaving' })
  }

  #receive(message: MessageToWorker, socket: Socket | undefined): void {
    switch (message.kind) {
      case 'connection':
        this.#take(socket, this.#accept)
        break
      case 'SSH connection':
        this.#take(socket, this.#acceptSsh)
        break
      case 'read host keys':
        this.#reactions?.readHostKeys()
        break
      case 'announce stop':
        this.#reactions?.announceStop()
        break
      case 'drain':
        this.#drainOnce()
        break
      case 'retire':
        this.#isRetiring = true
        this.#reactions?.retire()
        break
      case 'read metrics':
        void this.#readMetrics().then((metrics) => send({ kind: 'own metrics', metrics }))
        break
      case 'metrics':
        this.#sums.get(message.id)?.(message.metrics)
        break
      case 'git memory of others':
        this.#gitBytesOfOthers = message.bytes
        break
      case 'group':
        for (const listen of this.#groupListeners) listen(message.message)
        break
    }
  }

  #take(socket: Socket | undefined, accept: (socket: Socket) => void): void {
    const closed = () => send({ kind: 'connection closed' })
    // A connection that has ended on its way comes without a socket.
    if (!socket) {
      closed()
      return
    }
    socket.once('close', closed)
    accept(socket)
  }

  #sumMetrics(): Promise<Metrics | undefined> {
    if (!process.connected) return Promise.resolve(undefined)
    this.#lastSum += 1
    const id = this.#lastSum
    return new Promise<Metrics | undefined>((resolve) => {
      this.#sums.set(id, resolve)
      send({ kind: 'sum metrics', id })
    }).finally(() => this.#sums.delete(id))
  }

  #reportGitMemory(bytes: number): void {
    if (bytes !== 0 && Math.abs(bytes - this.#gitBytes) < REPORTED_GIT_BYTES) return
    if (bytes === this.#gitBytes) return
    this.#gitBytes = bytes
    send({ kind: 'git memory', bytes })
  }

  /** Ends this process, since nobody passes connections any more. */
  #disconnected(): void {
    for (const answer of this.#sums.values()) answer(undefined)
    for (const end of this.#ends) end()
    setTimeout(() => process.exit(1), MAX_DRAIN_MS).unref()
    if (this.#reactions) this.#drainOnce()
    else process.exit(1)
  }

  #drainOnce(): void {
    // The calls in flight had much time, and the server stops now.
    if (this.#isRetiring) setTimeout(() => process.exit(1), MAX_DRAIN_OF_RETIRED_MS).unref()
    if (!this.#isDraining) this.#reactions?.drain()
    this.#isDraining = true
  }
}

/** Ends this process, which is of another version than the primary process. */
function refuse(): void {
  const message = 'this version cannot restart under the one that runs: restart the whole server'
  send({ kind: 'failed', message }, () => process.exit(1))
}

/** Sends a message. Without the primary process, nothing is sent. */
function send(message: MessageToPrimary, done: () => void = () => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, done)
  else done()
}
