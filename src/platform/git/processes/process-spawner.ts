import { AsyncLocalStorage } from 'node:async_hooks'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { GitLimits } from './git-command.ts'
import type { Exit, RunningGit } from './running-git.ts'
import { collectStderr } from './stderr-text.ts'

/**
 * The process spawner is a small process that starts Git processes for the server. Node starts a
 * process by a fork, which blocks the server while the kernel copies its page tables: 1 ms at
 * 50 MB, 30 ms at 500 MB. A fork of the small process always takes 1 ms.
 *
 * Input and output of Git do not pass through the spawner. The server opens connections to a Unix
 * socket of the spawner in advance. The spawner numbers them and passes its ends to Git processes
 * as standard input and output. Over an IPC channel, the server says which connections a Git
 * process gets. Any other process that connects gets a number and no Git process.
 */

/** A Git process to start. */
export interface SpawnRequest extends GitLimits {
  readonly args: readonly string[]
  /** Working directory. */
  readonly cwd: string
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>
  /** Whether the process gets the descriptor for hooks. */
  readonly hooks: boolean
}

/** A message to the spawner: start a Git process. */
export interface SpawnMessage extends SpawnRequest {
  readonly id: number
  /** Numbers of the connections for standard input, standard output and hooks. */
  readonly connections: readonly number[]
}

/** A message from the spawner. */
export type SpawnerMessage =
  /** The spawner accepts connections. */
  | { readonly kind: 'ready' }
  /** A Git process runs as the leader of a process group. */
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  /** A Git process could not be started. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  /** A Git process and its stderr have ended. */
  | { readonly kind: 'ended'; readonly id: number; readonly exit: Exit }

/**
 * Size of the connection pool. Each Git process takes two or three connections. When the pool is
 * empty, the server starts the process.
 */
const MAX_IDLE_CONNECTIONS = 64

/** Name of the Unix socket. */
const SOCKET = 'lines'

/** Longest path of a Unix socket (unix(7)). libuv truncates longer paths. */
const MAX_SOCKET_PATH_BYTES = 107

/** Minimum time between two launches of a spawner that ends repeatedly. */
const RELAUNCH_PAUSE_MS = 1_000

/** Minimum time between two launches after a failed one. */
const RETRY_PAUSE_MS = 60_000

/** An idle connection to the spawner. */
interface Connection {
  readonly number: number
  readonly socket: Socket
}

/** A requested Git process that has not ended. */
interface ActiveProcess {
  onStarted(pid: number): void
  onEnded(exit: Exit): void
  onFailed(error: Error): void
}

/** A running spawner process. */
interface SpawnerProcess {
  readonly child: ChildProcess
  readonly folder: string
  readonly idle: Connection[]
  readonly active: Map<number, ActiveProcess>
  state: 'starting' | 'ready' | 'broken'
  /** Number of connections that have no number yet. */
  connecting: number
}

/** Keeps a spawner process running and communicates with it. */
export class ProcessSpawner {
  /**
   * Runs work outside of the call or the worker that needs a connection. Another one uses it, whose
   * hooks must not have the locks, the deadline or the reader of the first.
   */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #program: string
  readonly #warn: (message: string) => void
  #running: SpawnerProcess | undefined
  #nextLaunch = 0
  #lastId = 0

  /**
   * Starts the spawner process, which ends whenever this process ends.
   *
   * @param program path of the bundled `process-spawner-program.ts`.
   * @param warn reports that the spawner ended unexpectedly.
   */
  constructor(program: string, warn: (message: string) => void) {
    this.#program = program
    this.#warn = warn
    this.#launch()
  }

  /** Process id of the spawner. Undefined when no spawner process runs. */
  get pid(): number | undefined {
    return this.#running?.child.pid
  }

  /** Number of idle connections. */
  get idleConnections(): number {
    return this.#running?.idle.length ?? 0
  }

  /** Starts a Git process. Returns undefined when the caller must start the process instead. */
  start(start: SpawnRequest): RunningGit | undefined {
    const running = this.#running
    if (!running) {
      if (performance.now() >= this.#nextLaunch) this.#launch()
      return undefined
    }
    const count = start.hooks ? 3 : 2
    const connections = running.idle.length < count ? [] : running.idle.splice(0, count)
    this.#connectAll(running)
    const [stdin, stdout, hooks] = connections.map(({ socket }) => socket.ref())
    if (!stdin || !stdout) {
      if (running.state === 'broken') this.#retire(running, 'there is no way to connect to it')
      return undefined
    }
    this.#lastId += 1
    const id = this.#lastId
    const message: SpawnMessage = {
      id,
      connections: connections.map(({ number }) => number),
      ...start,
    }
    const git = this.#track(running, id, stdin, stdout, hooks)
    // A failure means that the spawner has ended, which its `close` event reports.
    running.child.send(message, () => {})
    return git
  }

  /** Ends the spawner after the Git processes that it has started. */
  stop(): void {
    this.#nextLaunch = Number.POSITIVE_INFINITY
    if (this.#running) this.#retire(this.#running)
  }

  #launch(): void {
    this.#nextLaunch = performance.now() + RETRY_PAUSE_MS
    let folder: string
    try {
      folder = makeFolder()
    } catch (error) {
      this.#warn(String(error))
      return
    }
    const child = spawn(process.execPath, [this.#program, join(folder, SOCKET)], {
      // The spawner must not know secrets of the server.
      env: {},
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // A process group: Ctrl-C must not end the spawner before the last call has ended.
      detached: true,
    })
    const running: SpawnerProcess = {
      child,
      folder,
      idle: [],
      active: new Map(),
      state: 'starting',
      connecting: 0,
    }
    this.#running = running
    const end = (reason: string) => this.#end(running, reason)
    child.on('error', ({ message }) => end(message))
    const stderr = collectStderr(child.stderr)
    child.once('close', (code, signal) =>
      end(`it ended with ${signal ?? code} ${stderr.text}`.trimEnd()),
    )
    child.on('message', (message) => this.#receive(running, message as SpawnerMessage))
    // The spawner must not delay the end of this process.
    child.unref()
    for (const stream of [child.channel, child.stderr as Socket | null]) stream?.unref()
  }

  /** Handles a spawner process that has ended or could not be started. */
  #end(running: SpawnerProcess, reason: string): void {
    for (const { socket } of running.idle) socket.destroy()
    for (const { onEnded } of running.active.values()) onEnded({ code: null, stderr: '' })
    rmSync(running.folder, { recursive: true, force: true })
    if (this.#running !== running) return
    this.#running = undefined
    this.#warn(reason)
  }

  /** Replaces a spawner process, which ends after its Git processes. */
  #retire(running: SpawnerProcess, reason?: string): void {
    this.#running = undefined
    for (const { socket } of running.idle.splice(0)) socket.destroy()
    if (running.active.size === 0) running.child.disconnect()
    if (reason !== undefined) this.#warn(reason)
  }

  #receive(running: SpawnerProcess, message: SpawnerMessage): void {
    if (message.kind === 'ready') {
      running.state = 'ready'
      this.#nextLaunch = performance.now() + RELAUNCH_PAUSE_MS
      this.#connectAll(running)
      return
    }
    const git = running.active.get(message.id)
    if (message.kind === 'started') git?.onStarted(message.pid)
    else if (message.kind === 'failed') git?.onFailed(new Error(message.message))
    else git?.onEnded(message.exit)
  }

  #connectAll(running: SpawnerProcess): void {
    if (running.state !== 'ready' || this.#running !== running) return
    while (running.idle.length + running.connecting < MAX_IDLE_CONNECTIONS)
      this.#connectOne(running)
  }

  #connectOne(running: SpawnerProcess): void {
    running.connecting += 1
    const socket = this.#outside(() => connect(join(running.folder, SOCKET)).unref())
    let text = ''
    const fail = () => {
      running.connecting -= 1
      running.state = 'broken'
    }
    // Not the event `data`: a stream that has flowed once does not wait for its reader again.
    const read = () => {
      text += socket.read() ?? ''
      if (!text.endsWith('\n')) return
      socket.off('readable', read).off('close', fail)
      running.connecting -= 1
      if (this.#running === running) running.idle.push({ number: Number(text), socket })
      else socket.destroy()
    }
    socket.on('readable', read).once('close', fail)
    // `close` handles connections that fail early. Later, the end of the Git process tells.
    socket.on('error', () => {})
  }

  /** Tracks a requested Git process by its connections and the messages of the spawner. */
  #track(
    running: SpawnerProcess,
    id: number,
    stdin: Socket,
    stdout: Socket,
    hooks: Socket | undefined,
  ): RunningGit {
    let pid: number | undefined
    let pending: NodeJS.Signals | undefined
    let isGone = false
    const outputs = hooks ? [stdout, hooks] : [stdout]
    const { active, child } = running
    const settle = () => {
      isGone = true
      active.delete(id)
      if (active.size === 0) {
        child.channel?.unref()
        if (this.#running !== running && child.connected) child.disconnect()
      }
      stdin.destroy()
      // Output that no one reads must be drained, or its stream would never close.
      for (const output of outputs) if (output.readableFlowing === null) output.resume()
    }
    const signal = (name: NodeJS.Signals) => {
      if (isGone && stdout.destroyed) return false
      if (pid !== undefined) return signalGroup(pid, name)
      pending = name
      if (isGone) giveUp()
      return !isGone
    }
    /** The spawner was killed before it told the id, so that nobody can signal the process. */
    const giveUp = () => {
      for (const output of outputs) output.destroy()
    }
    const exited = new Promise<Exit>((resolve, reject) => {
      active.set(id, {
        onStarted(started) {
          pid = started
          if (pending) signal(pending)
        },
        onFailed(error) {
          settle()
          reject(error)
        },
        onEnded(exit) {
          settle()
          if (pid === undefined && pending) giveUp()
          Promise.all(outputs.map(closed)).then(() => resolve(exit))
        },
      })
    })
    child.channel?.ref()
    return { stdin, stdout, hooks, exited, signal, pid: () => (isGone ? undefined : pid) }
  }
}

/**
 * Creates a folder for the socket that only the user of the server may enter (mkdtemp(3)). The path
 * of the data folder may be too long for a socket.
 */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-'))
  if (Buffer.byteLength(join(folder, SOCKET)) <= MAX_SOCKET_PATH_BYTES) return folder
  rmdirSync(folder)
  throw new Error(`the path of a Unix socket in ${tmpdir()} is too long`)
}

/**
 * Signals a process group. The kernel does not reuse the id of a group that has members.
 *
 * @returns whether a process was signalled.
 */
export function signalGroup(leader: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-leader, signal)
  } catch {
    return false
  }
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    else socket.once('close', () => resolve())
  })
}
