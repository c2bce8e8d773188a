import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import Protocol from 'ssh2/lib/protocol/Protocol.js'
import { readStrings, writeStrings } from '../../src/platform/ssh/ssh-signatures.ts'
import type { SshSigner } from './ssh-signing.ts'

/** Numbers of messages (RFC 4250, section 4.1.2). */
export const SSH_MESSAGE = {
  disconnect: 1,
  serviceRequest: 5,
  serviceAccept: 6,
  keyOffer: 20,
  authRequest: 50,
  authFailure: 51,
  authSuccess: 52,
  keyAccepted: 60,
  globalRequest: 80,
  requestSuccess: 81,
  requestFailure: 82,
  channelOpen: 90,
  channelOpened: 91,
  channelOpenFailure: 92,
  windowAdjust: 93,
  channelData: 94,
  channelText: 95,
  channelEnd: 96,
  channelClose: 97,
  channelRequest: 98,
  channelSuccess: 99,
  channelFailure: 100,
} as const

/** What a client says about itself, and what it signs, when it signs in by a key. */
export interface KeyStatement {
  readonly session: Buffer
  readonly user: string
  readonly service: string
  readonly method: string
  readonly hasSignature: boolean
  readonly algorithm: string
  readonly key: Buffer
}

/** Returns the bytes of a statement behind the session, which are the message and what is signed. */
function requestOf(statement: KeyStatement): Buffer {
  const { user, service, method, hasSignature, algorithm, key } = statement
  return Buffer.concat([
    Buffer.from([SSH_MESSAGE.authRequest]),
    writeStrings([user, service, method].map((text) => Buffer.from(text))),
    Buffer.from([hasSignature ? 1 : 0]),
    writeStrings([Buffer.from(algorithm), key]),
  ])
}

/** Returns a number of four bytes. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/**
 * A client of SSH that sends any message, after the key exchange. The client reads everything until it
 * is told to pause.
 */
export class SshDriver {
  readonly socket: Socket
  readonly #protocol: Protocol
  readonly #received: Buffer[] = []
  /** Bytes of data that channels have received. */
  dataBytes = 0
  #changed = () => {}
  #isClosed = false

  #onHandshake = () => {}

  private constructor(socket: Socket) {
    this.socket = socket
    this.#protocol = new Protocol({
      ident: 'Driver',
      onWrite: (data) => void (socket.writable && socket.write(data)),
      onError: () => socket.destroy(),
      onHandshakeComplete: () => this.#onHandshake(),
      messageHandlers: {},
    })
    // The package exchanges keys. What it would do with other messages is left to the test.
    const exchangeKeys = this.#protocol._onPayload
    this.#protocol._onPayload = (payload) => {
      if (payload[0] === SSH_MESSAGE.keyOffer) exchangeKeys(payload)
      else this.#receive(Buffer.from(payload))
    }
    socket.on('data', (data) => {
      try {
        this.#protocol.parse(data, 0, data.length)
      } catch {
        socket.destroy()
      }
    })
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#isClosed = true
      this.#changed()
    })
  }

  /** Connects, exchanges keys, and asks for authentication. */
  static async connect(port: number): Promise<SshDriver> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    const driver = new SshDriver(socket)
    const handshake = new Promise<void>((resolve, reject) => {
      driver.#onHandshake = resolve
      socket.once('close', () => reject(new Error('no key exchange')))
    })
    await once(socket, 'connect')
    driver.#protocol.start()
    await handshake
    const service = writeStrings([Buffer.from('ssh-userauth')])
    driver.send(Buffer.concat([Buffer.from([SSH_MESSAGE.serviceRequest]), service]))
    await driver.answer(SSH_MESSAGE.serviceAccept)
    return driver
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Sends a message, encrypted. */
  send(payload: Buffer): void {
    if (!this.socket.writable) return
    const packet = this.#protocol._cipher.allocPacket(payload.length)
    packet.set(payload, 5)
    this.#protocol._cipher.encrypt(packet)
  }

  /** Waits for a message of one of these types. Undefined when the server has disconnected. */
  async answer(...types: readonly number[]): Promise<Buffer | undefined> {
    for (;;) {
      for (let next = this.#received.shift(); next; next = this.#received.shift())
        if (types.includes(next[0] ?? 0)) return next
      if (this.#isClosed) return undefined
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    }
  }

  /** What a client states that signs in honestly. */
  statementOf(key: SshSigner): KeyStatement {
    const type = readStrings(key.blob)[0]?.toString() ?? ''
    return {
      session: this.#protocol._kex.sessionID,
      user: 'git',
      service: 'ssh-connection',
      method: 'publickey',
      hasSignature: true,
      algorithm: type === 'ssh-rsa' ? 'rsa-sha2-512' : type,
      key: key.blob,
    }
  }

  /** Returns the signature of a key under a statement. */
  sign(key: SshSigner, changes: Partial<KeyStatement> = {}): Buffer {
    const statement = { ...this.statementOf(key), ...changes }
    return key.signData(Buffer.concat([writeStrings([statement.session]), requestOf(statement)]))
  }

  /** Offers a key, or signs in when there is a signature. Returns the type of the answer. */
  async present(
    key: SshSigner,
    signature?: Buffer,
    changes: Partial<KeyStatement> = {},
  ): Promise<number | undefined> {
    const hasSignature = signature !== undefined
    const request = requestOf({ ...this.statementOf(key), hasSignature, ...changes })
    this.send(signature ? Buffer.concat([request, writeStrings([signature])]) : request)
    const { authFailure, authSuccess, keyAccepted, disconnect } = SSH_MESSAGE
    return (await this.answer(authFailure, authSuccess, keyAccepted, disconnect))?.[0]
  }

  /** Signs in. */
  signIn(key: SshSigner): Promise<number | undefined> {
    return this.present(key, this.sign(key))
  }

  /**
   * Opens a session, and runs a command; a shell without one.
   *
   * @param window bytes that the server may send.
   * @returns the number of the session at the server.
   */
  async run(command: string, window?: number): Promise<number> {
    const channel = (await this.open('session', window)) ?? -1
    this.execute(channel, command)
    return channel
  }

  /** Opens a channel. Returns its number at the server; undefined when the server refuses. */
  async open(
    type = 'session',
    window = 2 ** 21,
    rest = Buffer.alloc(0),
  ): Promise<number | undefined> {
    const head = Buffer.from([SSH_MESSAGE.channelOpen])
    const numbers = [0, window, 32_768].map(uint32)
    this.send(Buffer.concat([head, writeStrings([Buffer.from(type)]), ...numbers, rest]))
    const { channelOpened, channelOpenFailure } = SSH_MESSAGE
    const answer = await this.answer(channelOpened, channelOpenFailure)
    return answer?.[0] === channelOpened ? answer.readUInt32BE(5) : undefined
  }

  /** Runs a command in a session; a shell without one. */
  execute(channel: number, command: string): void {
    const isShell = command === ''
    const rest = isShell ? Buffer.alloc(0) : writeStrings([Buffer.from(command)])
    this.#request(channel, isShell ? 'shell' : 'exec', rest)
  }

  /** Asks something of a session. Returns the type of the answer. */
  async request(channel: number, type: string, rest?: Buffer): Promise<number | undefined> {
    this.#request(channel, type, rest)
    const { channelSuccess, channelFailure } = SSH_MESSAGE
    return (await this.answer(channelSuccess, channelFailure))?.[0]
  }

  /** Asks something of the server. Returns the type of the answer. */
  async ask(type: string): Promise<number | undefined> {
    const head = Buffer.from([SSH_MESSAGE.globalRequest])
    const address = Buffer.concat([writeStrings([Buffer.from('127.0.0.1')]), uint32(0)])
    this.send(Buffer.concat([head, writeStrings([Buffer.from(type)]), Buffer.from([1]), address]))
    const { requestSuccess, requestFailure } = SSH_MESSAGE
    return (await this.answer(requestSuccess, requestFailure))?.[0]
  }

  /** Sends data to a session. */
  write(channel: number, data: Buffer | string): void {
    const head = Buffer.from([SSH_MESSAGE.channelData])
    this.send(Buffer.concat([head, uint32(channel), writeStrings([Buffer.from(data)])]))
  }

  /** Exchanges keys again, or waits for the end of the connection. */
  async rekey(): Promise<void> {
    const done = new Promise<void>((resolve) => {
      this.#onHandshake = resolve
      this.socket.once('close', resolve)
    })
    this.#protocol.rekey()
    await done
  }

  /** Waits until a session has ended. Returns its exit code, and what it said to the user. */
  async ended(): Promise<{ readonly code: number; readonly text: string }> {
    let text = ''
    const { channelRequest, channelText } = SSH_MESSAGE
    for (;;) {
      const message = await this.answer(channelRequest, channelText)
      if (!message) return { code: -1, text }
      if (message[0] === channelText) text += readStrings(message.subarray(9)).toString()
      else if (message.includes('exit-status'))
        return { code: message.readUInt32BE(message.length - 4), text }
    }
  }

  close(): void {
    this.socket.destroy()
    this.#protocol.cleanup()
  }

  #request(channel: number, type: string, rest: Buffer = Buffer.alloc(0)): void {
    const name = writeStrings([Buffer.from(type)])
    const head = Buffer.from([SSH_MESSAGE.channelRequest])
    this.send(Buffer.concat([head, uint32(channel), name, Buffer.from([1]), rest]))
  }

  #receive(payload: Buffer): void {
    // Only the amount of a long answer counts.
    if (payload[0] === SSH_MESSAGE.channelData) this.dataBytes += payload.readUInt32BE(5)
    this.#received.push(payload)
    this.#changed()
  }
}
