import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type {
  MessageOfHost,
  MessageOfMember,
} from '../../platform/database/coordination/group-messages.ts'
import type { MessageToPrimary, MessageToWorker, Metrics } from './worker-messages.ts'

/** The program of a worker process and its arguments. */
export interface WorkerProgram {
  /** Path of the bundled `worker-program.ts`. */
  readonly path: string
  readonly args: readonly string[]
}

/** The end of a worker process. */
export interface WorkerEnd {
  /** Exit code; null after a signal. */
  readonly code: number | null
  /** Description for the operator. */
  readonly reason: string
}

/** Whether a connection came to the port of HTTP or to that of SSH. */
export type ConnectionKind = 'connection' | 'SSH connection'

/** Handlers of the messages of a worker process. */
interface WorkerEvents {
  readonly onReady: () => void
  /** The process asks for the metrics of all of them. */
  readonly onSumMetrics: (id: number) => void
  /** The process was told to end by a signal. */
  readonly onLeaving: () => void
  /** The memory of its Git processes has changed. */
  readonly onGitMemory: () => void
  /** A message about the use of one SQLite database. */
  readonly onGroupMessage: (message: MessageOfMember) => void
}

/** One worker process, as the primary process sees it. */
export class WorkerProcess {
  readonly number: number
  /** Resolves when the process has ended. */
  readonly ended: Promise<WorkerEnd>
  readonly #child: ChildProcess
  readonly #events: WorkerEvents
  readonly #metricsReaders = new Set<() => void>()
  #state: 'starting' | 'ready' | 'retiring' | 'draining' | 'ended' = 'starting'
  #readyAtMs: number | undefined
  #isRetired = false
  #failure: string | undefined
  #metrics: Metrics = []
  #gitBytes = 0
  #connections = 0
  #passing = 0
  #passedAtMs = 0

  constructor(
    program: WorkerProgram,
    start: Omit<Extract<MessageToWorker, { kind: 'start' }>, 'kind'>,
    events: WorkerEvents,
  ) {
    this.number = start.worker
    this.#events = events
    const child = fork(program.path, program.args, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child = child
    child.on('message', (message) => this.#receive(message as MessageToPrimary))
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, reason: string) => {
        this.#state = 'ended'
        for (const read of [...this.#metricsReaders]) read()
        resolve({ code, reason: this.#failure ?? reason })
      }
      child.on('error', ({ message }) => {
        if (child.pid === undefined) end(null, message)
      })
      child.once('exit', (code, signal) =>
        end(
          code,
          signal === null
            ? `a worker process ended with exit code ${code}`
            : `a worker process ended by ${signal}`,
        ),
      )
    })
    this.#send({ kind: 'start', ...start })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isReady(): boolean {
    return this.#state === 'ready'
  }

  /** Whether another process has taken the place of this one. */
  get isRetired(): boolean {
    return this.#isRetired
  }

  /** Time for which the process has served. Undefined when it has not served yet. */
  get servedMs(): number | undefined {
    return this.#readyAtMs === undefined ? undefined : performance.now() - this.#readyAtMs
  }

  /** Number of connections that the process has. */
  get connections(): number {
    return this.#connections
  }

  /** Number of connections that the process has not taken yet. */
  get passing(): number {
    return this.#passing
  }

  /** Time at which the process got its last connection. */
  get passedAtMs(): number {
    return this.#passedAtMs
  }

  /** Memory of the Git processes of the process. */
  get gitBytes(): number {
    return this.#state === 'ended' ? 0 : this.#gitBytes
  }

  /** The metrics that were read last. */
  get metrics(): Metrics {
    return this.#metrics
  }

  /** Passes a connection to the process. */
  pass(socket: Socket, kind: ConnectionKind): void {
    this.#connections += 1
    this.#passing += 1
    this.#passedAtMs = performance.now()
    // Node passes one connection at a time, and calls back when it begins with this one.
    this.#child.send({ kind } satisfies MessageToWorker, socket, (error) => {
      this.#passing -= 1
      if (error) socket.destroy()
    })
  }

  /** Reads the metrics of the process anew. Resolves after a time without an answer, too. */
  readMetrics(maxWaitMs: number): Promise<void> {
    if (!this.isReady) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#metricsReaders.delete(done)
        resolve()
      }
      const timer = setTimeout(done, maxWaitMs)
      this.#metricsReaders.add(done)
      this.#send({ kind: 'read metrics' })
    })
  }

  answerMetrics(id: number, metrics: Metrics): void {
    this.#send({ kind: 'metrics', id, metrics })
  }

  tellGitMemoryOfOthers(bytes: number): void {
    this.#send({ kind: 'git memory of others', bytes })
  }

  /** Tells the process something about the use of one SQLite database. */
  tellGroup(message: MessageOfHost): void {
    this.#send({ kind: 'group', message })
  }

  /** Lets the process read the host keys of SSH again. */
  readHostKeys(): void {
    if (this.#state === 'ready') this.#send({ kind: 'read host keys' })
  }

  /** Lets the process report that it is not ready. It still gets connections. */
  announceStop(): void {
    if (this.#state === 'ready') this.#send({ kind: 'announce stop' })
  }

  /** Lets the process end after its calls. A process that does not serve yet ends at once. */
  drain(): void {
    if (this.#state === 'starting') {
      this.#child.kill('SIGTERM')
    } else if (this.#state === 'ready' || this.#state === 'retiring') {
      this.#state = 'draining'
      this.#send({ kind: 'drain' })
    }
  }

  /** Lets a process that serves end after its calls, which have much time. */
  retire(): void {
    if (this.#state !== 'ready') return
    this.#state = 'retiring'
    this.#isRetired = true
    this.#send({ kind: 'retire' })
  }

  /** Ends the process at once. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  #receive(message: MessageToPrimary): void {
    switch (message.kind) {
      case 'ready':
        this.#state = 'ready'
        this.#readyAtMs = performance.now()
        this.#events.onReady()
        break
      case 'failed':
        this.#failure = message.message
        break
      case 'connection closed':
        this.#connections -= 1
        break
      case 'leaving':
        this.#events.onLeaving()
        break
      case 'sum metrics':
        this.#events.onSumMetrics(message.id)
        break
      case 'own metrics':
        this.#metrics = message.metrics
        for (const read of [...this.#metricsReaders]) read()
        break
      case 'git memory':
        this.#gitBytes = message.bytes
        this.#events.onGitMemory()
        break
      case 'group':
        this.#events.onGroupMessage(message.message)
        break
    }
  }

  #send(message: MessageToWorker): void {
    // A failure means that the process has ended, which `exit` reports.
    if (this.#child.connected) this.#child.send(message, () => {})
  }
}
