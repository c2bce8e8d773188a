import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { keepBeginning } from './pooled-text.ts'
import type { Exit, RunningGit } from './running-git.ts'

/**
 * A small process that starts gits for a large one. To start a process, Node forks, and while the
 * kernel copies the page tables of the server nothing else happens in it: a millisecond at 50 MB,
 * thirty at 500. The small one forks in one millisecond, always.
 *
 * What git reads and prints does not pass through it. Between the two are lines, connections of a
 * Unix socket, laid before they are needed: the starter numbers each, and gives its end to a git as
 * standard input or output. The server has the other end, and tells the starter over their IPC
 * channel which lines a git gets; whoever else connects gets a number and no git.
 */

/** What to start. */
export interface GitStart {
  /** All arguments. */
  readonly args: readonly string[]
  /** Folder to start in. */
  readonly cwd: string
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** Whether it gets the hooks' descriptor. */
  readonly hooks: boolean
  /** Of each of its processes. */
  readonly maxMemoryBytes: number
}

/** To the starter: start a git. */
export interface StartMessage extends GitStart {
  readonly id: number
  /** Numbers of the lines for its standard input, its standard output and its hooks. */
  readonly lines: readonly number[]
}

/** From the starter. */
export type StarterMessage =
  /** Lines can be laid. */
  | { readonly kind: 'ready' }
  /** A git runs, as the leader of a process group. */
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  /** It could not be started. */
  | { readonly kind: 'failed'; readonly id: number; readonly message: string }
  /** It has ended, and so has what it had to say on stderr. */
  | { readonly kind: 'ended'; readonly id: number; readonly exit: Exit }

/**
 * Lines that lie ready: for the gits of a burst, two or three each. Those beyond are started by the
 * server itself.
 */
const READY_LINES = 64

/** Name of the Unix socket. */
const SOCKET = 'lines'

/** Of the path of a Unix socket (unix(7)); libuv cuts off what is more. */
const MAX_SOCKET_PATH_BYTES = 107

/** Between two launches: one that ends again and again must not be what the server is busy with. */
const RELAUNCH_PAUSE_MS = 1_000

/** After one that came to nothing. */
const RETRY_PAUSE_MS = 60_000

/** A connection to the starter that no git has yet. */
interface Line {
  readonly number: number
  readonly socket: Socket
}

/** A git that has been asked for. */
interface UnderWay {
  onStarted(pid: number): void
  onEnded(exit: Exit): void
  onFailed(error: Error): void
}

/** A starter process that runs. */
interface Running {
  readonly child: ChildProcess
  readonly folder: string
  readonly ready: Line[]
  readonly underWay: Map<number, UnderWay>
  state: 'starting' | 'ready' | 'broken'
  /** Connections that have no number yet. */
  laying: number
}

/** Keeps a starter process running, and talks to it. */
export class ProcessSpawner {
  readonly #program: string
  readonly #warn: (message: string) => void
  #running: Running | undefined
  #nextLaunch = 0
  #lastId = 0

  /**
   * Starts the spawner process. It ends with this process, however that ends.
   *
   * @param program path of the bundled `process-spawner-program.ts`.
   * @param warn reports that the spawner ended unexpectedly.
   */
  constructor(program: string, warn: (message: string) => void) {
    this.#program = program
    this.#warn = warn
    this.#launch()
  }

  /** Its process, while there is one. */
  get pid(): number | undefined {
    return this.#running?.child.pid
  }

  /** Lines that lie ready. */
  get readyLines(): number {
    return this.#running?.ready.length ?? 0
  }

  /** Has a git started; returns undefined when that has to be done without a starter for now. */
  start(start: GitStart): RunningGit | undefined {
    const running = this.#running
    if (!running) {
      if (performance.now() >= this.#nextLaunch) this.#launch()
      return undefined
    }
    const count = start.hooks ? 3 : 2
    const lines = running.ready.length < count ? [] : running.ready.splice(0, count)
    this.#layLines(running)
    const [stdin, stdout, hooks] = lines.map(({ socket }) => socket.ref())
    if (!stdin || !stdout) {
      if (running.state === 'broken') this.#retire(running, 'there is no way to connect to it')
      return undefined
    }
    this.#lastId += 1
    const id = this.#lastId
    const message: StartMessage = { id, lines: lines.map(({ number }) => number), ...start }
    const git = this.#follow(running, id, stdin, stdout, hooks)
    // What fails here is the end of the starter, which is heard of anyway.
    running.child.send(message, () => {})
    return git
  }

  /** Ends it, when the gits have ended that it has started. */
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
      // No secret of ours is there to be passed on.
      env: {},
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Its own group: Ctrl-C is for us, and we need it until the last call has ended.
      detached: true,
    })
    const running: Running = {
      child,
      folder,
      ready: [],
      underWay: new Map(),
      state: 'starting',
      laying: 0,
    }
    this.#running = running
    const end = (reason: string) => this.#end(running, reason)
    child.on('error', ({ message }) => end(message))
    const stderr = keepBeginning(child.stderr)
    child.once('close', (code, signal) =>
      end(`it ended with ${signal ?? code} ${stderr.text}`.trimEnd()),
    )
    child.on('message', (message) => this.#hear(running, message as StarterMessage))
    // It keeps nobody waiting who has nothing else to do.
    child.unref()
    for (const stream of [child.channel, child.stderr as Socket | null]) stream?.unref()
  }

  /** For a process that has ended, or could not be started. */
  #end(running: Running, reason: string): void {
    for (const { socket } of running.ready) socket.destroy()
    for (const { onEnded } of running.underWay.values()) onEnded({ code: null, stderr: '' })
    rmSync(running.folder, { recursive: true, force: true })
    if (this.#running !== running) return
    this.#running = undefined
    this.#warn(reason)
  }

  /** Asks nothing more of a process. */
  #retire(running: Running, reason?: string): void {
    this.#running = undefined
    for (const { socket } of running.ready.splice(0)) socket.destroy()
    if (running.underWay.size === 0) running.child.disconnect()
    if (reason !== undefined) this.#warn(reason)
  }

  #hear(running: Running, message: StarterMessage): void {
    if (message.kind === 'ready') {
      running.state = 'ready'
      this.#nextLaunch = performance.now() + RELAUNCH_PAUSE_MS
      this.#layLines(running)
      return
    }
    const git = running.underWay.get(message.id)
    if (message.kind === 'started') git?.onStarted(message.pid)
    else if (message.kind === 'failed') git?.onFailed(new Error(message.message))
    else git?.onEnded(message.exit)
  }

  #layLines(running: Running): void {
    if (running.state !== 'ready' || this.#running !== running) return
    while (running.ready.length + running.laying < READY_LINES) this.#layLine(running)
  }

  #layLine(running: Running): void {
    running.laying += 1
    const socket = connect(join(running.folder, SOCKET)).unref()
    let text = ''
    const fail = () => {
      running.laying -= 1
      running.state = 'broken'
    }
    // By this event, and not by `data`: a stream that flowed once does not wait for its reader
    // again.
    const read = () => {
      text += socket.read() ?? ''
      if (!text.endsWith('\n')) return
      socket.off('readable', read).off('close', fail)
      running.laying -= 1
      if (this.#running === running) running.ready.push({ number: Number(text), socket })
      else socket.destroy()
    }
    socket.on('readable', read).once('close', fail)
    // A line that breaks is not ready, and one that a git has says what happened by its end.
    socket.on('error', () => {})
  }

  /**
   * @returns the git that has been asked for, as far as one can tell by its lines and what the
   *   starter says.
   */
  #follow(
    running: Running,
    id: number,
    stdin: Socket,
    stdout: Socket,
    hooks: Socket | undefined,
  ): RunningGit {
    let pid: number | undefined
    let pending: NodeJS.Signals | undefined
    let isGone = false
    const outputs = hooks ? [stdout, hooks] : [stdout]
    const { underWay, child } = running
    const settle = () => {
      isGone = true
      underWay.delete(id)
      if (underWay.size === 0) {
        child.channel?.unref()
        if (this.#running !== running && child.connected) child.disconnect()
      }
      stdin.destroy()
      // What nobody has asked for is not asked for any more, and would not end.
      for (const output of outputs) if (output.readableFlowing === null) output.resume()
    }
    const signal = (name: NodeJS.Signals) => {
      if (isGone && stdout.destroyed) return false
      if (pid === undefined) {
        pending = name
        return !isGone
      }
      return signalGroup(pid, name)
    }
    const exited = new Promise<Exit>((resolve, reject) => {
      underWay.set(id, {
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
          Promise.all(outputs.map(closed)).then(() => resolve(exit))
        },
      })
    })
    child.channel?.ref()
    return { stdin, stdout, hooks, exited, signal, pid: () => (isGone ? undefined : pid) }
  }
}

/**
 * A folder for the socket, which nobody else may enter (mkdtemp(3)). Not in the data folder, whose
 * path may be too long.
 */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-'))
  if (Buffer.byteLength(join(folder, SOCKET)) <= MAX_SOCKET_PATH_BYTES) return folder
  rmdirSync(folder)
  throw new Error(`the path of a Unix socket in ${tmpdir()} is too long`)
}

/**
 * Signals a process and whatever it has started. The id of a group is not given anew while somebody
 * is in it.
 *
 * @returns whether there was anything to signal.
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
