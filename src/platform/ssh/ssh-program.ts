import { BlockList, createServer, isIPv6, Socket } from 'node:net'
import Server from 'ssh2/lib/server.js'
import { isLoopback, peerNetwork } from '../http/listener/admission.ts'
import { publicPartOf, readHostKeys } from './host-keys.ts'
import { readProxyHeader } from './proxy-header.ts'
import { openOutput, passOutput, type SocketHandle, written } from './session-output.ts'
import {
  DISCONNECT,
  DISCONNECT_TEXTS,
  type ExecRequest,
  type OfferedKey,
  SshConnection,
} from './ssh-connection.ts'
import type {
  FromSshProgram,
  KnownKey,
  ProxyNetwork,
  PublicHostKey,
  SessionOpening,
  SshSettings,
  ToSshProgram,
} from './ssh-messages.ts'

/**
 * The SSH program: encrypts and decrypts, so that the server does not. The program holds no
 * database and no repository. The server decides about keys and runs all commands.
 */

/** Connections that may wait for authentication, in all and from one network. */
const MAX_UNAUTHENTICATED = 128
const MAX_UNAUTHENTICATED_OF_NETWORK = 16
const MAX_CONNECTIONS = 1024
const MAX_CONNECTIONS_OF_NETWORK = 256
/** Connections of an account or a deploy key. */
const MAX_CONNECTIONS_OF_HOLDER = 128

/** Connections of a network that may end without authentication within the window. */
const MAX_FAILED_OF_NETWORK = 100
const FAILED_WINDOW_MS = 10 * 60_000
/** Networks whose failures are counted. The one with the oldest failure is forgotten first. */
const MAX_COUNTED_NETWORKS = 10_000

/** The name in the version line, without the version. */
const IDENT = 'Branchline'

const KEEPALIVE_INTERVAL_MS = 30_000
const KEEPALIVE_COUNT = 4

/** Limits of one session key: the server asks for a new one beyond them. */
const REKEY_BYTES = 4 * 1024 ** 3
const REKEY_INTERVAL_MS = 3_600_000
const REKEY_CHECK_MS = 10_000

const FIGURES_INTERVAL_MS = 1_000

const ALGORITHMS = {
  kex: [
    'mlkem768x25519-sha256',
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'diffie-hellman-group14-sha256',
  ],
  serverHostKey: ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'rsa-sha2-512', 'rsa-sha2-256'],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'chacha20-poly1305@openssh.com',
    'aes256-ctr',
    'aes128-ctr',
  ],
  hmac: [
    'hmac-sha2-256-etm@openssh.com',
    'hmac-sha2-512-etm@openssh.com',
    'hmac-sha2-256',
    'hmac-sha2-512',
  ],
  compress: ['none'],
}

/** A connection, before and after its version line. */
interface Peer {
  readonly socket: Socket
  readonly address: string
  /** Undefined where no limit of a network applies. */
  readonly network: string | undefined
  /** The account or deploy key; undefined before authentication. */
  holder: string | undefined
  connection: SshConnection | undefined
  rekey: (() => void) | undefined
  rekeyedAtBytes: number
  rekeyedAtMs: number
  /** Bytes that the figures have. */
  countedIn: number
  countedOut: number
}

/** A session whose command runs. */
interface RunningSession {
  end(code: number, text: string): void
  /** Sends the output of a process to the client, after bytes of the server. */
  pass(handle: SocketHandle, afterBytes: number): void
}

/** The oldest first. */
const peers = new Set<Peer>()
/** Failed connections by network: their times, the oldest first. */
const failures = new Map<string, number[]>()
const questions = new Map<number, (decision: KnownKey | undefined | Error) => void>()
const sessions = new Map<number, RunningSession>()
/** Since the last message with figures. */
const figures = { accepted: 0, failed: 0, bytesIn: 0, bytesOut: 0 }
let sentConnections = 0
let lastId = 0
let isStopping = false
let stopListening = () => {}
let readHostKeysAgain: (() => Promise<PublicHostKey[]>) | undefined
/** Serves a connection from its first byte. Set when the program is ready. */
let begin = (socket: Socket, _address = addressOf(socket)): void => {
  socket.destroy()
}

/** Whether an address is that of a load balancer. */
let isProxy = (_address: string): boolean => false
/** Takes a connection of a client, or of a load balancer for a client. */
let accept = (socket: Socket): void => begin(socket)

// Service managers signal all processes of a service. The server says when to stop.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => process.exit())
process.on('message', (message, handle) => receive(message as ToSshProgram, handle))

function send(message: FromSshProgram): void {
  process.send?.(message)
}

function receive(message: ToSshProgram, handle: unknown): void {
  switch (message.kind) {
    case 'configure':
      serve(message.settings).catch((error: unknown) =>
        send({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
      )
      return
    case 'decision':
      questions.get(message.question)?.(message.key)
      return
    case 'undecided':
      questions.get(message.question)?.(new Error('the server cannot decide'))
      return
    case 'exit':
      sessions.get(message.session)?.end(message.code, message.text)
      return
    case 'output':
      takeOutput(message, handle as SocketHandle | undefined)
      return
    case 'read host keys':
      readHostKeysAgain?.().then(
        (hostKeys) => send({ kind: 'host keys', hostKeys }),
        (error: unknown) => send({ kind: 'no host keys', message: String(error) }),
      )
      return
    case 'connection':
      if (handle instanceof Socket) takeOver(handle, Buffer.from(message.begun, 'base64'))
      return
    case 'stop':
      stop(message.graceMs)
  }
}

async function serve(settings: SshSettings): Promise<void> {
  const publicKeys = await useHostKeys(settings)
  readHostKeysAgain = () => useHostKeys(settings)
  setInterval(rekeyOld, REKEY_CHECK_MS).unref()
  setInterval(sendFigures, FIGURES_INTERVAL_MS).unref()
  if (settings.proxies) accept = acceptFrom(settings.proxies)
  if (settings.address) listen(settings.address, publicKeys)
  else send({ kind: 'listening', port: undefined, hostKeys: publicKeys })
}

/** Reads the host keys, and uses the present ones for new connections. */
async function useHostKeys(settings: SshSettings): Promise<PublicHostKey[]> {
  const hostKeys = await readHostKeys(settings.hostKeyFiles, settings.hostKeyFolder)
  const transport = new Server({
    hostKeys: hostKeys.filter(({ isActive }) => isActive).map(({ text }) => text),
    ident: IDENT,
    algorithms: ALGORITHMS,
    banner: settings.banner,
    keepaliveInterval: KEEPALIVE_INTERVAL_MS,
    keepaliveCountMax: KEEPALIVE_COUNT,
  })
  transport.on('error', () => {})
  transport.on('connection', (client, { header }) => {
    const peer = [...peers].find(({ socket }) => socket === client._sock)
    if (!peer) return client.end()
    peer.rekey = () => client.rekey(() => {})
    peer.connection = new SshConnection(client, header.versions.software, {
      user: settings.user,
      hostKeys,
      takesCertificates: settings.takesCertificates,
      decide: (key) => decide(key, peer.address),
      run: (request) => run(settings.socketPath, peer.address, request),
      onAuthenticated(holder) {
        const others = [...peers].filter((other) => other.holder === holder)
        peer.holder = holder
        figures.accepted += 1
        return others.length < MAX_CONNECTIONS_OF_HOLDER
      },
    })
  })
  begin = (socket, address = addressOf(socket)) => {
    if (admit(socket, address, settings.limitLoopback)) transport.injectSocket(socket)
  }
  return hostKeys.map(publicPartOf)
}

function listen(
  { host, port }: NonNullable<SshSettings['address']>,
  hostKeys: readonly PublicHostKey[],
): void {
  const listener = createServer({ noDelay: true }, accept)
  listener.on('error', (error) => send({ kind: 'failed', message: error.message }))
  stopListening = () => listener.close()
  listener.listen(port, host, () => {
    const address = listener.address()
    const actual = typeof address === 'object' && address ? address.port : port
    send({ kind: 'listening', port: actual, hostKeys })
  })
}

/** Returns what accepts connections of load balancers only, whose header names the client. */
function acceptFrom(proxies: readonly ProxyNetwork[]): (socket: Socket) => void {
  const trusted = new BlockList()
  for (const { address, prefix, family } of proxies) trusted.addSubnet(address, prefix, family)
  isProxy = (address) => trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  return (socket) => {
    if (isProxy(addressOf(socket))) readProxyHeader(socket, (client) => begin(socket, client))
    else socket.destroy()
  }
}

/** Returns the address of the other end, IPv4-mapped IPv6 unwrapped. */
function addressOf(socket: Socket): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '')
}

/** Serves a connection that the server has accepted. */
function takeOver(socket: Socket, begun: Buffer): void {
  socket.setNoDelay(true)
  accept(socket)
  if (!socket.destroyed && begun.length > 0) socket.unshift(begun)
}

/** Counts a connection. Returns whether it may begin. */
function admit(socket: Socket, address: string, limitLoopback: boolean): boolean {
  socket.on('error', () => {})
  // A load balancer connects for itself to check the server.
  const isExempt = (isLoopback(address) && !limitLoopback) || isProxy(address)
  const network = isExempt ? undefined : peerNetwork(address)
  const ofNetwork = network === undefined ? [] : [...peers].filter((p) => p.network === network)
  const isFull =
    peers.size >= MAX_CONNECTIONS || ofNetwork.length >= MAX_CONNECTIONS_OF_NETWORK || isStopping
  if (isFull) {
    refuse(socket)
    return false
  }
  if (network !== undefined && recentFailures(network).length >= MAX_FAILED_OF_NETWORK) {
    socket.destroy()
    return false
  }
  // Whoever does not authenticate makes room for newer ones. No honest client is turned away.
  dropOldest(ofNetwork, MAX_UNAUTHENTICATED_OF_NETWORK)
  dropOldest([...peers], MAX_UNAUTHENTICATED)
  const peer: Peer = {
    socket,
    address,
    network,
    holder: undefined,
    connection: undefined,
    rekey: undefined,
    rekeyedAtBytes: 0,
    rekeyedAtMs: performance.now(),
    countedIn: 0,
    countedOut: 0,
  }
  peers.add(peer)
  // A client that sends no version line has no `SshConnection` with a time limit.
  const silence = setTimeout(() => {
    if (!peer.connection) socket.destroy()
  }, 20_000)
  socket.once('close', () => {
    clearTimeout(silence)
    peers.delete(peer)
    countBytes(peer)
    if (peer.holder === undefined) reportFailure(peer)
    if (network !== undefined && peer.holder === undefined) countFailure(network)
    if (isStopping) endWhenIdle()
  })
  return true
}

/**
 * Says why a connection is refused, before any key exchange (RFC 4253, section 4.2 and 11.1), so that
 * users do not take the refusal for a fault of the network.
 */
function refuse(socket: Socket): void {
  const reason = isStopping ? DISCONNECT.byApplication : DISCONNECT.tooManyConnections
  const text = Buffer.from(DISCONNECT_TEXTS[reason])
  // Length, padding, message 1, reason, text, an empty language. In steps of 8 bytes (section 6).
  const payloadBytes = 1 + 4 + 4 + text.length + 4
  const paddingBytes = 4 + ((8 - ((5 + payloadBytes + 4) % 8)) % 8)
  const packet = Buffer.alloc(5 + payloadBytes + paddingBytes)
  packet.writeUInt32BE(packet.length - 4, 0)
  packet.writeUInt8(paddingBytes, 4)
  packet.writeUInt8(1, 5)
  packet.writeUInt32BE(reason, 6)
  packet.writeUInt32BE(text.length, 10)
  text.copy(packet, 14)
  socket.end(Buffer.concat([Buffer.from(`SSH-2.0-${IDENT}\r\n`), packet]))
  setTimeout(() => socket.destroy(), 1_000).unref()
}

function reportFailure({ address, connection }: Peer): void {
  figures.failed += 1
  const client = connection?.transport.client ?? ''
  send({ kind: 'unauthenticated', peer: address, client })
}

function recentFailures(network: string): number[] {
  const since = performance.now() - FAILED_WINDOW_MS
  return (failures.get(network) ?? []).filter((time) => time > since)
}

/** Counts a connection that ended without authentication. */
function countFailure(network: string): void {
  const times = [...recentFailures(network).slice(1 - MAX_FAILED_OF_NETWORK), performance.now()]
  failures.delete(network)
  failures.set(network, times)
  const [oldest] = failures.keys()
  if (failures.size > MAX_COUNTED_NETWORKS && oldest !== undefined) failures.delete(oldest)
}

/** Sends what changed. Without connections nothing is sent. */
function sendFigures(): void {
  for (const peer of peers) countBytes(peer)
  const hasChanged =
    peers.size !== sentConnections || Object.values(figures).some((count) => count > 0)
  if (!hasChanged) return
  sentConnections = peers.size
  send({ kind: 'figures', connections: peers.size, ...figures })
  Object.assign(figures, { accepted: 0, failed: 0, bytesIn: 0, bytesOut: 0 })
}

function countBytes(peer: Peer): void {
  const { bytesRead, bytesWritten } = peer.socket
  figures.bytesIn += bytesRead - peer.countedIn
  figures.bytesOut += bytesWritten - peer.countedOut
  peer.countedIn = bytesRead
  peer.countedOut = bytesWritten
}

function dropOldest(among: readonly Peer[], max: number): void {
  const waiting = among.filter(({ holder }) => holder === undefined)
  if (waiting.length >= max) waiting[0]?.socket.destroy()
}

function rekeyOld(): void {
  const now = performance.now()
  for (const peer of peers) {
    const bytes = peer.socket.bytesRead + peer.socket.bytesWritten
    const isOld =
      bytes - peer.rekeyedAtBytes > REKEY_BYTES || now - peer.rekeyedAtMs > REKEY_INTERVAL_MS
    if (peer.holder === undefined || !isOld) continue
    peer.rekeyedAtBytes = bytes
    peer.rekeyedAtMs = now
    peer.rekey?.()
  }
}

/** Asks the server whose key this is. */
function decide(key: OfferedKey, peer: string): Promise<KnownKey | undefined> {
  lastId += 1
  const question = lastId
  return new Promise((resolve, reject) => {
    questions.set(question, (decision) => {
      questions.delete(question)
      if (decision instanceof Error) reject(decision)
      else resolve(decision)
    })
    send({ kind: 'question', question, peer, ...key })
  })
}

/** Passes the bytes of a command between its client and the server. */
function run(socketPath: string, peer: string, request: ExecRequest): void {
  const { channel, connection, key, command, protocol } = request
  lastId += 1
  const session = lastId
  const { socket, passed, reached } = openOutput(socketPath, channel, connection)
  const { transport } = connection
  let output: Socket | undefined
  // The server ends a session whose output has ended, or shall end.
  socket.once('end', () => output?.destroy())
  const opening: SessionOpening = { session, key, command, protocol, peer, transport }
  const ended = new Promise<readonly [code: number, text: string]>((resolve) => {
    sessions.set(session, {
      end: (code, text) => resolve([code, text]),
      pass(handle, afterBytes) {
        const begin = () => {
          output = passOutput(handle, request, FIGURES_INTERVAL_MS, (sent, isEnd) =>
            send({ kind: 'sent', session, isEnd, ...sent }),
          )
        }
        reached({ bytes: afterBytes, begin, drop: () => handle.close() })
      },
    })
    channel.once('close', () => resolve([1, '']))
  })
  const leave = () => {
    if (sessions.delete(session)) send({ kind: 'left', session })
    socket.destroy()
  }
  socket.write(`${JSON.stringify(opening)}\n`)
  channel.once('close', leave)
  channel.once('interrupt', () => send({ kind: 'left', session }))
  channel.pipe(socket)
  passed
    .then(() => ended)
    .then(async ([code, text]) => {
      sessions.delete(session)
      if (text !== '' && !channel.destroyed) await written(channel, channel.stderr, text)
      connection.exit(channel, code)
    })
    .catch(() => channel.close())
    .finally(() => socket.destroy())
}

/** Takes the output of a process from the server. The handle is missing if the server has closed it. */
function takeOutput(
  { session, afterBytes }: Extract<ToSshProgram, { kind: 'output' }>,
  handle: SocketHandle | undefined,
): void {
  const running = sessions.get(session)
  if (handle && running) running.pass(handle, afterBytes)
  else handle?.close()
}

function stop(graceMs: number): void {
  isStopping = true
  stopListening()
  for (const { connection } of peers) connection?.stop()
  setTimeout(end, graceMs)
  setInterval(endWhenIdle, 100)
  endWhenIdle()
}

function endWhenIdle(): void {
  if ([...peers].every(({ connection }) => connection?.isIdle ?? true)) end()
}

function end(): void {
  for (const { connection, socket } of peers) {
    if (connection) connection.disconnect(DISCONNECT.byApplication)
    else socket.destroy()
  }
  // The last packets leave before the process.
  setTimeout(() => process.exit(), 50)
}
