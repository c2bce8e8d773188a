import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { raiseNiceness } from '../git/processes/priority.ts'
import { readFirstLine } from './first-line.ts'
import type {
  ConnectionFigures,
  FromSshProgram,
  KnownKey,
  PublicHostKey,
  SentOutput,
  SessionOpening,
  SshSettings,
  ToSshProgram,
} from './ssh-messages.ts'

/** The pauses before the program starts again: the first, and the longest after several ends. */
const RESTART_PAUSE_MS = 250
const MAX_RESTART_PAUSE_MS = 30_000

/** A program that ran this long has not failed at its start. */
const STABLE_MS = 60_000

const START_TIMEOUT_MS = 60_000

/** Time for the last packets after the grace of the sessions. */
const END_TIMEOUT_MS = 2_000

/** A command of a client that the server runs. */
export interface SshSession extends Omit<SessionOpening, 'session'> {
  /** Input and output of the command. */
  readonly socket: Socket
  /** Bytes from the client before the command, which count for no session. */
  readonly openingBytes: number
  /** Aborts when the client leaves. */
  readonly left: AbortSignal
  /**
   * Lets the SSH program send the output of a process that nobody has read, so that its bytes do not
   * pass through this process. Absent where `sshd` serves.
   *
   * @param note is told once a second what the client has taken, and at the end.
   * @returns what resolves at the end of the output, or when the client has left. Undefined when this
   *   process has to send the output.
   */
  readonly passOutput?: (
    output: Readable,
    note: (sent: SentOutput) => void,
  ) => Promise<void> | undefined
  /** Ends the session after everything that was written to the socket. */
  end(code: number, text: string): void
}

/** Whose a key or a certificate is. */
export type SshQuestion = Extract<FromSshProgram, { kind: 'question' }>

/** What the server does for the program. */
interface SshWork {
  /** Returns a key that may sign in. */
  decide(question: SshQuestion): Promise<KnownKey | undefined>
  run(session: SshSession): void
  warn(facts: object, message: string): void
  /** Tells of a connection that ended without authentication. */
  noteFailure(peer: string, client: string): void
  count(figures: ConnectionFigures): void
  /** Tells of the host keys after they were read again. */
  useHostKeys(hostKeys: readonly PublicHostKey[]): void
}

/** Where the program listens. */
export interface SshListening {
  /** Undefined where the server passes connections. */
  readonly port: number | undefined
  readonly hostKeys: readonly PublicHostKey[]
}

/** Keeps the SSH program running. */
export class SshProcess {
  readonly #program: string
  readonly #work: SshWork
  readonly #folder = mkdtempSync(join(tmpdir(), 'branchline-ssh-'))
  readonly #socketPath = join(this.#folder, 'sessions')
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #left = new Map<number, AbortController>()
  /** Sessions whose output the program sends. */
  readonly #outputs = new Map<number, { note(sent: SentOutput): void; end(): void }>()
  #settings: SshSettings | undefined
  #child: ChildProcess | undefined
  #pauseMs = RESTART_PAUSE_MS
  #isStopping = false
  /** Whether the first start has succeeded. A start that fails is reported to its caller. */
  #hasStarted = false

  /** @param program path of the bundled `ssh-program.ts`. */
  constructor(program: string, work: SshWork) {
    this.#program = program
    this.#work = work
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#open(socket))
  }

  /**
   * Starts the program.
   *
   * @throws Error with a sentence for the operator when the program cannot serve.
   */
  async start(settings: Omit<SshSettings, 'socketPath'>): Promise<SshListening> {
    this.#server.listen(this.#socketPath)
    await once(this.#server, 'listening')
    this.#settings = { ...settings, socketPath: this.#socketPath }
    const listening = await this.#launch(this.#settings)
    const { address } = settings
    // The same port after a restart, whatever port was free.
    if (address && listening.port !== undefined)
      this.#settings = { ...this.#settings, address: { ...address, port: listening.port } }
    this.#hasStarted = true
    return listening
  }

  /** Reads the host keys again. `useHostKeys` of the work gets them. */
  readHostKeys(): void {
    this.#send({ kind: 'read host keys' })
  }

  /**
   * Takes a connection that the server has accepted.
   *
   * @param begun the bytes that were read from the socket.
   */
  take(socket: Socket, begun: Buffer): void {
    if (!this.#hasStarted || !this.#child?.connected || this.#isStopping) {
      socket.destroy()
      return
    }
    const internals = socket as SocketInternals & { server?: unknown }
    // Node reads on, and would drop what it reads, until the socket has left this process.
    internals._handle?.readStop()
    // A server whose sockets went to a process that has ended never closes (Node, lib/net.js,
    // `Server.prototype.close`). Without a server, `send` counts nothing.
    internals.server = undefined
    const message: ToSshProgram = { kind: 'connection', begun: begun.toString('base64') }
    // The connection lives on in the other process.
    this.#child.send(message, socket, () => socket.destroy())
  }

  /** Process id of the program, undefined when none runs. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Lets running sessions finish for up to `graceMs`, then ends the program. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    const child = this.#child
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      this.#send({ kind: 'stop', graceMs })
      const deadline = setTimeout(() => child.kill('SIGKILL'), graceMs + END_TIMEOUT_MS)
      await ended
      clearTimeout(deadline)
    }
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #send(message: ToSshProgram): void {
    // A failure means that the program has ended, which its `exit` event reports.
    if (this.#child?.connected) this.#child.send(message, () => {})
  }

  #launch(settings: SshSettings): Promise<SshListening> {
    const child = spawn(process.execPath, [this.#program], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child = child
    // Ciphers of large clones take a whole core. Calls should wait neither for them nor for Git.
    if (child.pid !== undefined) raiseNiceness(child.pid, 'transfer')
    const startMs = performance.now()
    return new Promise((resolve, reject) => {
      const timeout = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS)
      let hasStarted = false
      const fail = (reason: string) => {
        clearTimeout(timeout)
        reject(new Error(reason))
      }
      child.on('error', (error) => fail(`the SSH program cannot start: ${error.message}`))
      child.on('message', (message: FromSshProgram) => {
        if (message.kind === 'listening') {
          clearTimeout(timeout)
          hasStarted = true
          resolve(message)
        } else if (message.kind === 'failed') {
          fail(`SSH cannot be served: ${message.message}`)
          child.kill('SIGKILL')
        } else this.#receive(message)
      })
      child.once('exit', (code, signal) => {
        fail('the SSH program has ended at its start')
        for (const controller of this.#left.values()) controller.abort()
        if (hasStarted && performance.now() - startMs > STABLE_MS) this.#pauseMs = RESTART_PAUSE_MS
        if (!this.#isStopping && this.#hasStarted) this.#restart({ code, signal })
      })
      child.send({ kind: 'configure', settings } satisfies ToSshProgram, () => {})
    })
  }

  #restart(exit: object): void {
    const settings = this.#settings
    if (!settings) return
    this.#work.warn({ ...exit, pauseMs: this.#pauseMs }, 'the SSH program has ended')
    const timer = setTimeout(() => {
      if (this.#isStopping) return
      this.#launch(settings).then(
        ({ hostKeys }) => this.#work.useHostKeys(hostKeys),
        (err: unknown) => this.#work.warn({ err }, 'the SSH program cannot start again'),
      )
    }, this.#pauseMs)
    timer.unref()
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_RESTART_PAUSE_MS)
  }

  #receive(message: Exclude<FromSshProgram, { kind: 'listening' | 'failed' }>): void {
    if (message.kind === 'figures') {
      this.#work.count(message)
      return
    }
    if (message.kind === 'host keys') {
      this.#work.useHostKeys(message.hostKeys)
      return
    }
    if (message.kind === 'no host keys') {
      this.#work.warn({ reason: message.message }, 'the SSH host keys could not be read again')
      return
    }
    if (message.kind === 'unauthenticated') {
      this.#work.noteFailure(message.peer, message.client)
      return
    }
    if (message.kind === 'left') {
      this.#left.get(message.session)?.abort()
      return
    }
    if (message.kind === 'sent') {
      const output = this.#outputs.get(message.session)
      output?.note(message)
      if (message.isEnd) output?.end()
      return
    }
    const { question } = message
    this.#work.decide(message).then(
      (key) => this.#send({ kind: 'decision', question, key }),
      (err: unknown) => {
        this.#work.warn({ err }, 'an SSH key could not be looked up')
        this.#send({ kind: 'undecided', question })
      },
    )
  }

  /** Reads the first line of a connection, then runs its command. */
  #open(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
    readFirstLine(socket, (line, bytes) =>
      this.#run(socket, JSON.parse(line) as SessionOpening, bytes),
    )
  }

  #run(socket: Socket, { session, ...opening }: SessionOpening, openingBytes: number): void {
    const controller = new AbortController()
    this.#left.set(session, controller)
    socket.once('close', () => controller.abort())
    this.#work.run({
      ...opening,
      socket,
      openingBytes,
      left: controller.signal,
      passOutput: (output, note) =>
        this.#passOutput(session, output, {
          note,
          left: controller.signal,
          afterBytes: socket.bytesWritten,
        }),
      end: (code, text) => {
        this.#left.delete(session)
        socket.end()
        this.#send({ kind: 'exit', session, code, text })
      },
    })
  }

  #passOutput(
    session: number,
    output: Readable,
    {
      note,
      left,
      afterBytes,
    }: { note(sent: SentOutput): void; left: AbortSignal; afterBytes: number },
  ): Promise<void> | undefined {
    const child = this.#child
    if (!child?.connected || left.aborted) return undefined
    const handle = takeHandle(output)
    if (!handle) return undefined
    return new Promise((resolve) => {
      const end = () => {
        this.#outputs.delete(session)
        left.removeEventListener('abort', end)
        // Also when the program has ended before it got the handle.
        handle.close()
        resolve()
      }
      this.#outputs.set(session, { note, end })
      left.addEventListener('abort', end)
      const message: ToSshProgram = { kind: 'output', session, afterBytes }
      // The types of Node lack the handles of its own sockets, which `cluster` sends like this.
      child.send(message, handle as unknown as Socket, () => handle.close())
    })
  }
}

/** What reads and writes for a socket. */
interface SocketHandle {
  readStop(): void
  /** Does nothing on a closed handle. */
  close(): void
}

interface SocketInternals extends Socket {
  _handle?: SocketHandle | null
}

/**
 * Takes the handle of a socket from which nothing was read, and closes the socket. Otherwise Node would
 * read on, and drop what it reads: when the process behind the socket ends, for example.
 */
function takeHandle(output: Readable): SocketHandle | undefined {
  if (!(output instanceof Socket) || output.readableLength > 0) return undefined
  const internals = output as SocketInternals
  const handle = internals._handle
  if (!handle) return undefined
  handle.readStop()
  internals._handle = null
  output.destroy()
  return handle
}
