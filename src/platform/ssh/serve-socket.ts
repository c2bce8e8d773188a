import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, renameSync, rmSync, statSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { readFirstLine } from './first-line.ts'
import { fingerprintOf } from './public-key-lines.ts'
import type { SshSession } from './ssh-process.ts'

/**
 * The socket by which `sshd` of OpenSSH serves Git, in place of the SSH program: `branchline
 * ssh-authorized-keys` asks whose a key is, and `branchline ssh-serve` passes the bytes of a
 * command. Whoever can open the socket can act as any key, so that only the user of the server can.
 */

/** The name of the socket, in the folder of the host keys. */
export const SERVE_SOCKET = 'serve.sock'

/** The first line of a connection, as JSON. */
export type ServeRequest =
  /** Asks for the row of a public key, in base64. The answer is a line with a number; 0 for none. */
  | { readonly kind: 'key'; readonly key: string }
  /** Begins a command. The answer is an empty line, and at the end a line with a `ServeEnd`. */
  | { readonly kind: 'control'; readonly token: string }
  /** Input and output of the command whose control connection has the token. */
  | {
      readonly kind: 'data'
      readonly token: string
      readonly keyId: number
      readonly command: string
      readonly protocol: string
      readonly peer: string
    }

/** How a command ended. */
export interface ServeEnd {
  readonly code: number
  /** For stderr of the client. */
  readonly text: string
}

interface ServeWork {
  /** Returns the row of the key with a fingerprint, which may sign in. */
  findKey(fingerprint: string): Promise<number | undefined>
  run(session: SshSession): void
  warn(facts: object, message: string): void
}

/** Time for the last bytes after the grace of the sessions. */
const CHECK_MS = 100

export class ServeSocket {
  readonly #path: string
  readonly #work: ServeWork
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Control connections of commands that have not begun. */
  readonly #controls = new Map<string, Socket>()
  #running = 0
  #inode: number | undefined

  /** @param path where the socket appears. Of several servers, the last to start has it. */
  constructor(path: string, work: ServeWork) {
    this.#path = path
    this.#work = work
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#open(socket))
  }

  /** @throws Error when the socket cannot be made, for example when its path is too long. */
  async start(): Promise<void> {
    const draft = `${this.#path}.${randomBytes(3).toString('hex')}`
    this.#server.listen(draft)
    await once(this.#server, 'listening')
    chmodSync(draft, 0o600)
    renameSync(draft, this.#path)
    this.#inode = statSync(this.#path).ino
  }

  /** Lets running commands finish for up to `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#server.close()
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#inode)
      rmSync(this.#path, { force: true })
    const deadlineMs = performance.now() + graceMs
    while (this.#running > 0 && performance.now() < deadlineMs)
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS))
    for (const socket of this.#sockets) socket.destroy()
  }

  #open(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
    readFirstLine(socket, (line, bytes) => {
      const request = requestIn(line)
      if (!request) {
        socket.destroy()
        return
      }
      if (request.kind === 'key') this.#answer(socket, request.key)
      else if (request.kind === 'control') this.#expect(socket, request.token)
      else this.#run(socket, request, bytes)
    })
  }

  #answer(socket: Socket, key: string): void {
    this.#work.findKey(fingerprintOf(Buffer.from(key, 'base64'))).then(
      (id) => socket.end(`${id ?? 0}\n`),
      (err: unknown) => {
        this.#work.warn({ err }, 'an SSH key could not be looked up')
        socket.destroy()
      },
    )
  }

  #expect(control: Socket, token: string): void {
    this.#controls.set(token, control)
    control.once('close', () => this.#controls.delete(token))
    control.write('\n')
    control.resume()
  }

  #run(socket: Socket, request: ServeRequest & { kind: 'data' }, openingBytes: number): void {
    const { token, keyId, command, protocol, peer } = request
    const control = this.#controls.get(token)
    if (!control) {
      socket.destroy()
      return
    }
    this.#controls.delete(token)
    this.#running += 1
    const left = new AbortController()
    // The program ends with its client, and so do its connections.
    control.once('close', () => left.abort())
    socket.once('close', () => left.abort())
    this.#work.run({
      key: { keyId },
      command,
      protocol,
      peer,
      transport: { client: 'sshd', kex: '', cipher: '' },
      socket,
      openingBytes,
      left: left.signal,
      end: (code, text) => {
        this.#running -= 1
        socket.end()
        control.end(`${JSON.stringify({ code, text } satisfies ServeEnd)}\n`)
      },
    })
  }
}

function requestIn(line: string): ServeRequest | undefined {
  try {
    return JSON.parse(line) as ServeRequest
  } catch {
    // Another program of the same user.
    return undefined
  }
}
