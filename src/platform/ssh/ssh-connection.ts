import keyParser from 'ssh2/lib/protocol/keyParser.js'
import type {
  AuthContext,
  Connection,
  PublicKeyContext,
  ServerChannel,
  Session,
} from 'ssh2/lib/server.js'
import {
  CERTIFICATE_ALGORITHMS,
  isCertificateAlgorithm,
  isSignedByCertified,
  readCertificate,
} from './certificates.ts'
import { offerOf, PROOF_REQUEST, proofsFor } from './host-key-proofs.ts'
import type { HostKey } from './host-keys.ts'
import { fingerprintOf } from './public-key-lines.ts'
import type { KeyReference, KnownKey, SshTransportFacts } from './ssh-messages.ts'
import { isSignatureOf, writeStrings } from './ssh-signatures.ts'

/** Reasons to disconnect (RFC 4253, section 11.1). */
export const DISCONNECT = {
  protocolError: 2,
  serviceNotAvailable: 7,
  byApplication: 11,
  tooManyConnections: 12,
  noMoreAuthMethods: 14,
} as const

export type DisconnectReason = (typeof DISCONNECT)[keyof typeof DISCONNECT]

/** What clients show with the reason. ASCII. */
export const DISCONNECT_TEXTS: Readonly<Record<DisconnectReason, string>> = {
  [DISCONNECT.protocolError]: 'too many key exchanges',
  [DISCONNECT.serviceNotAvailable]: 'the server is busy: try again later',
  [DISCONNECT.byApplication]: 'server is stopping',
  [DISCONNECT.tooManyConnections]: 'too many connections',
  [DISCONNECT.noMoreAuthMethods]: 'too many authentication failures',
}

const AUTH_TIMEOUT_MS = 20_000
const IDLE_TIMEOUT_MS = 15 * 60_000

/** Agents offer many keys. OpenSSH counts them as failures, and allows six. */
const MAX_OFFERED_KEYS = 30
const MAX_FAILED_TRIES = 6
/** More than all tries together need. */
const MAX_AUTH_REQUESTS = 128

const MAX_CHANNELS = 16

/** Rekeys by the client in a minute. */
const MAX_REKEYS = 6
const REKEY_WINDOW_MS = 60_000

/** Bytes of the socket that wait for the client. Beyond them, nothing more is read from Git. */
const MAX_UNSENT_BYTES = 1024 * 1024

/** Longest value of `GIT_PROTOCOL`. */
const MAX_PROTOCOL_CHARACTERS = 256

const USER_KEY_TYPES: ReadonlySet<string> = new Set([
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
])

/** One byte of flags and a counter of four bytes (OpenSSH, PROTOCOL.u2f, "SSH U2F Signatures"). */
const DEVICE_BYTES = 5

/** A key by its fingerprint, or a certificate in base64. */
export type OfferedKey = { readonly fingerprint: string } | { readonly certificate: string }

/** A command that a client wants to run. */
export interface ExecRequest {
  readonly key: KeyReference
  /** Empty for a shell. */
  readonly command: string
  readonly protocol: string
  readonly channel: ServerChannel
  readonly connection: SshConnection
}

/** Longest name of a client in the log. */
const MAX_CLIENT_CHARACTERS = 64

interface ConnectionPort {
  /** The only login name that is accepted. */
  readonly user: string
  /** Clients learn the present and the next ones. */
  readonly hostKeys: readonly HostKey[]
  /** Whether user certificates sign in. */
  readonly takesCertificates: boolean
  /** Returns a key that somebody has. Rejects when the database cannot answer. */
  decide(key: OfferedKey): Promise<KnownKey | undefined>
  run(request: ExecRequest): void
  /** Returns whether the holder of the key may have one more connection. */
  onAuthenticated(holder: string): boolean
}

/** One connection of a client, from its version line to its end. */
export class SshConnection {
  readonly #client: Connection
  readonly #port: ConnectionPort
  /** Ends a client that does not authenticate, or has no session for long. */
  #timer: NodeJS.Timeout
  /** The key whose signature was verified. The connection acts for its owner only. */
  #key: KnownKey | undefined
  #requests = 0
  #offered = 0
  #failed = 0
  #rekeys: number[] = []
  #channels = 0
  #isStopping = false
  #transport: SshTransportFacts
  #hostKeyAlgorithm = ''
  #hasProved = false

  /** @param software what the version line of the client says. */
  constructor(client: Connection, software: string, port: ConnectionPort) {
    const name = software.replace(/[^\x20-\x7e]/g, '').slice(0, MAX_CLIENT_CHARACTERS)
    this.#transport = { client: name, kex: '', cipher: '' }
    client.on('handshake', ({ kex, sc, serverHostKey }) => {
      this.#transport = { client: name, kex, cipher: sc.cipher }
      this.#hostKeyAlgorithm = serverHostKey
    })
    if (port.takesCertificates)
      client._protocol.moreSignatureAlgorithms = `,${CERTIFICATE_ALGORITHMS}`
    this.#client = client
    this.#port = port
    this.#timer = setTimeout(() => this.#onTimeout(), AUTH_TIMEOUT_MS)
    // A connection that is cut has an error, which ends nothing but the connection. The reason of a
    // disconnection, which may wait for the end of this turn, is sent.
    client.on('error', () => {
      client._sock.uncork()
      client._sock.destroy()
    })
    client.on('close', () => clearTimeout(this.#timer))
    client.on('rekey', () => this.#onRekey())
    client.on('authentication', (context: AuthContext) => {
      // The database cannot answer. No key is refused for good.
      this.#authenticate(context).catch(() => this.disconnect(DISCONNECT.serviceNotAvailable))
    })
    client.on('ready', () => {
      this.#rest()
      if (!port.onAuthenticated(this.#key?.holder ?? ''))
        this.disconnect(DISCONNECT.tooManyConnections)
      else client._protocol.sendPayload(offerOf(port.hostKeys))
    })
    client.on('request', (accept, reject, name, data) => {
      const proofs = name === PROOF_REQUEST ? this.#prove(data) : undefined
      if (proofs) accept?.(proofs)
      else reject?.()
    })
    client.on('session', (accept: () => Session | undefined, reject: () => void) =>
      this.#openSession(accept, reject),
    )
  }

  get transport(): SshTransportFacts {
    return this.#transport
  }

  /** Whether no session runs. */
  get isIdle(): boolean {
    return this.#channels === 0
  }

  /** Takes no more sessions. */
  stop(): void {
    this.#isStopping = true
  }

  disconnect(reason: DisconnectReason): void {
    const { _sock: socket, _protocol: protocol } = this.#client
    if (!socket.writable) return
    protocol.disconnect(reason, DISCONNECT_TEXTS[reason])
    socket.end()
    // A client that does not close its end keeps nothing open.
    setTimeout(() => socket.destroy(), 1_000).unref()
  }

  /** Whether the client has read most of what was sent to it. */
  get hasRoom(): boolean {
    return this.#client._sock.writableLength <= MAX_UNSENT_BYTES
  }

  /** Waits until the client has read most of what was sent to it. */
  async room(): Promise<void> {
    const { _sock: socket } = this.#client
    while (!this.hasRoom && !socket.destroyed) {
      await new Promise<void>((resolve) => {
        const done = () => {
          socket.off('drain', done).off('close', done)
          resolve()
        }
        socket.once('drain', done).once('close', done)
      })
    }
  }

  /** Ends a session with an exit code, after everything that was written. */
  exit(channel: ServerChannel, code: number): void {
    if (channel.destroyed || this.#client._sock.destroyed) return
    channel.eof()
    this.#client._protocol.exitStatus(channel.outgoing.id, code)
    channel.close()
  }

  async #authenticate(context: AuthContext): Promise<void> {
    this.#requests += 1
    if (this.#requests > MAX_AUTH_REQUESTS) return this.disconnect(DISCONNECT.noMoreAuthMethods)
    if (context.method === 'none') return refuse(context)
    if (!isPublicKey(context)) return this.#fail(context)
    const known = await this.#knownKey(context)
    if (!context.signature) {
      if (known) return context.accept()
      this.#offered += 1
      if (this.#offered > MAX_OFFERED_KEYS) return this.disconnect(DISCONNECT.noMoreAuthMethods)
      return refuse(context)
    }
    if (!known || !(await isSignedBy(context))) return this.#fail(context)
    this.#key = known
    context.accept()
  }

  #fail(context: AuthContext): void {
    this.#failed += 1
    if (this.#failed >= MAX_FAILED_TRIES) this.disconnect(DISCONNECT.noMoreAuthMethods)
    else refuse(context)
  }

  async #knownKey({ username, key, hashAlgo }: PublicKeyContext): Promise<KnownKey | undefined> {
    if (username !== this.#port.user) return undefined
    if (isCertificateAlgorithm(key.algo)) {
      const isTaken = this.#port.takesCertificates
      return isTaken ? this.#port.decide({ certificate: key.data.toString('base64') }) : undefined
    }
    const type = typeOf(key.data)
    // An RSA key without a named hash would be verified by SHA-1.
    const isAccepted =
      USER_KEY_TYPES.has(type) &&
      type === key.algo &&
      (type !== 'ssh-rsa' || hashAlgo !== undefined)
    return isAccepted ? this.#port.decide({ fingerprint: fingerprintOf(key.data) }) : undefined
  }

  /** Proves the host keys to a client, once: a signature by RSA costs time. */
  #prove(request: Buffer): Buffer | undefined {
    if (this.#hasProved) return undefined
    this.#hasProved = true
    return proofsFor(request, this.#port.hostKeys, {
      sessionId: this.#client._protocol._kex.sessionID,
      hostKeyAlgorithm: this.#hostKeyAlgorithm,
    })
  }

  #openSession(accept: () => Session | undefined, reject: () => void): void {
    const isFull = this.#isStopping || this.#channels >= MAX_CHANNELS
    if (isFull || !this.#key) {
      reject()
      return
    }
    const session = accept()
    if (!session) return
    this.#channels += 1
    clearTimeout(this.#timer)
    let isOpen = true
    session.on('close', () => {
      if (!isOpen) return
      isOpen = false
      this.#channels -= 1
      this.#rest()
    })
    let protocol = ''
    session.on('env', (confirm, _reject, { key, val }) => {
      if (key === 'GIT_PROTOCOL' && val.length <= MAX_PROTOCOL_CHARACTERS) protocol = val
      confirm?.()
    })
    const run = (channel: ServerChannel | undefined, command: string) => {
      if (!channel || !this.#key) return
      channel.on('error', () => {})
      channel.stderr.on('error', () => {})
      session.on('signal', () => channel.emit('interrupt'))
      this.#port.run({ key: this.#key.reference, command, protocol, channel, connection: this })
    }
    session.on('exec', (start, _reject, { command }) => run(start(), command))
    session.on('shell', (start) => run(start(), ''))
  }

  /** Closes the connection after a while without a session. */
  #rest(): void {
    clearTimeout(this.#timer)
    if (!this.isIdle || this.#client._sock.destroyed) return
    this.#timer = setTimeout(() => this.#onTimeout(), IDLE_TIMEOUT_MS)
  }

  #onTimeout(): void {
    if (!this.#key) this.#client._sock.destroy()
    else if (this.isIdle) this.disconnect(DISCONNECT.byApplication)
  }

  #onRekey(): void {
    const now = performance.now()
    this.#rekeys = [...this.#rekeys.filter((time) => now - time < REKEY_WINDOW_MS), now]
    if (this.#rekeys.length > MAX_REKEYS) this.disconnect(DISCONNECT.protocolError)
  }
}

function refuse(context: AuthContext): void {
  context.reject(['publickey'])
}

function isPublicKey(context: AuthContext): context is PublicKeyContext {
  return context.method === 'publickey'
}

/** Returns the type that a key itself names (RFC 4253, section 6.6). */
function typeOf(data: Buffer): string {
  const length = data.length < 4 ? 0 : data.readUInt32BE(0)
  return length > 64 ? '' : data.toString('latin1', 4, 4 + length)
}

/** Returns whether the key of a request has signed the request. */
async function isSignedBy(context: PublicKeyContext): Promise<boolean> {
  const { key, blob, signature, hashAlgo } = context
  if (!blob || !signature) return false
  if (isCertificateAlgorithm(key.algo)) {
    const certificate = readCertificate(key.data)
    return certificate !== undefined && isSignedByCertified(certificate, key.algo, signature, blob)
  }
  const type = typeOf(key.data)
  if (type.startsWith('sk-')) {
    // The package has removed the name of the algorithm, and the length of what the key has signed.
    const deviceStart = Math.max(signature.length - DEVICE_BYTES, 0)
    const value = signature.subarray(0, deviceStart)
    const whole = [writeStrings([Buffer.from(type), value]), signature.subarray(deviceStart)]
    return isSignatureOf(key.data, Buffer.concat(whole), blob, true)
  }
  const parsed = keyParser.parseKey(`${type} ${key.data.toString('base64')}`)
  return !(parsed instanceof Error) && parsed.verify(blob, signature, hashAlgo) === true
}
