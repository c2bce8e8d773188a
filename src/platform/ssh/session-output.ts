import { connect, Socket } from 'node:net'
import type { ServerChannel } from 'ssh2/lib/server.js'
import type { ExecRequest, SshConnection } from './ssh-connection.ts'
import type { SentOutput } from './ssh-messages.ts'

/** The output of a session: bytes of the server, and those of processes that the server passes. */

/** What Node reads and writes with for a socket. */
export interface SocketHandle {
  close(): void
}

/** Bytes of the server that are read, encrypted and sent together: four packets of most clients. */
const READ_BYTES = 128 * 1024

/**
 * Returns the options of a socket whose bytes are passed on. All its reads share a buffer, because Node
 * would take a new one of 64 KiB for each.
 *
 * @param work passes bytes on. Returns undefined when the buffer can be filled again at once;
 *   otherwise what resolves then.
 */
function readingFor(work: (bytes: Buffer) => Promise<void> | undefined, socket: () => Socket) {
  return {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback(count: number, buffer: Uint8Array) {
      const room = work((buffer as Buffer).subarray(0, count))
      room?.then(
        () => socket().resume(),
        () => socket().destroy(),
      )
      return room === undefined
    },
  }
}

/** What follows bytes of the server. */
interface Follower {
  readonly bytes: number
  /** Is called when the bytes were passed. */
  begin(): void
  /** Is called instead when the server sends fewer. */
  drop(): void
}

/** Connects to the server, and sends its output to a client at the speed of the client. */
export function openOutput(socketPath: string, channel: ServerChannel, connection: SshConnection) {
  let bytesPassed = 0
  let waiting: Follower | undefined
  const reached = (follower: Follower) => {
    if (bytesPassed >= follower.bytes) follower.begin()
    else if (socket.destroyed) follower.drop()
    else waiting = follower
  }
  const work = (bytes: Buffer) => {
    const room = pass(bytes, channel, connection)
    bytesPassed += bytes.length
    const begun = waiting && bytesPassed >= waiting.bytes ? waiting : undefined
    if (begun) waiting = undefined
    begun?.begin()
    return room
  }
  const socket: Socket = connect({
    path: socketPath,
    allowHalfOpen: true,
    onread: readingFor(work, () => socket),
  })
  socket.on('error', () => {})
  socket.once('close', () => waiting?.drop())
  /** Resolves at the end of the output. */
  const passed = new Promise<void>((resolve, reject) => {
    socket.once('end', resolve)
    socket.once('close', () => reject(new Error('the server has closed the session')))
  })
  return { socket, passed, reached }
}

/**
 * Sends the output of a process to a client, at the speed of the client.
 *
 * @param handle from the server.
 * @param report is told in an interval what was sent, and at the end.
 */
export function passOutput(
  handle: SocketHandle,
  { channel, connection }: Pick<ExecRequest, 'channel' | 'connection'>,
  intervalMs: number,
  report: (sent: SentOutput, isEnd: boolean) => void,
): Socket {
  const sent = new SentCounter()
  const reportNow = (isEnd: boolean) => {
    const found = sent.take()
    if (isEnd || found.bytes > 0 || found.waitedMs > 0) report(found, isEnd)
  }
  const work = (bytes: Buffer) => {
    const room = pass(bytes, channel, connection)
    sent.count(bytes.length, room !== undefined)
    return room?.finally(() => sent.count(0, false))
  }
  const onread = readingFor(work, () => output)
  const output: Socket = new Socket({ handle, onread } as object)
  const timer = setInterval(() => reportNow(false), intervalMs)
  const leave = () => void output.destroy()
  channel.once('close', leave)
  output.on('error', () => {})
  output.once('end', leave)
  output.once('close', () => {
    channel.off('close', leave)
    clearInterval(timer)
    reportNow(true)
  })
  return output
}

/** Counts what a client has taken, and how long bytes have waited for the client. */
class SentCounter {
  #bytes = 0
  #waitedMs = 0
  #waitingSinceMs: number | undefined

  /** @param isWaiting whether bytes wait from now on. */
  count(bytes: number, isWaiting: boolean): void {
    this.#countWaiting()
    this.#bytes += bytes
    this.#waitingSinceMs = isWaiting ? performance.now() : undefined
  }

  /** Returns what was counted since the last call. */
  take(): SentOutput {
    this.#countWaiting()
    const taken = { bytes: this.#bytes, waitedMs: this.#waitedMs }
    this.#bytes = 0
    this.#waitedMs = 0
    return taken
  }

  #countWaiting(): void {
    if (this.#waitingSinceMs === undefined) return
    const now = performance.now()
    this.#waitedMs += now - this.#waitingSinceMs
    this.#waitingSinceMs = now
  }
}

/**
 * Sends bytes to a client.
 *
 * @returns undefined when more can be sent at once; otherwise what resolves when the client has taken
 *   enough.
 */
function pass(
  bytes: Buffer,
  channel: ServerChannel,
  connection: SshConnection,
): Promise<void> | undefined {
  const taken = written(channel, channel, bytes)
  if (channel.writableLength > 0 || !connection.hasRoom) return taken.then(() => connection.room())
  taken.catch(() => {})
  return undefined
}

/** Writes, and waits until the window of the client had room. */
export function written(
  channel: ServerChannel,
  stream: Pick<ServerChannel, 'write'>,
  chunk: Buffer | string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new Error('the client has left'))
    channel.once('close', onClose)
    stream.write(chunk, (error) => {
      channel.off('close', onClose)
      if (error) reject(error)
      else resolve()
    })
  })
}
