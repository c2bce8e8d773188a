import { once } from 'node:events'
import http2 from 'node:http2'
import net, { type Socket } from 'node:net'
import {
  encodeRequest,
  FLAG,
  FRAME,
  frame,
  frameLength,
  HeaderBlocks,
  PREFACE,
  windowUpdate,
} from './http2-frames.ts'
import { cycle, type LoadClient, type LoadOptions, Stopwatch } from './load.ts'
import type { Answer, Request } from './requests.ts'

/** Number of streams on one connection. More requests in flight use more connections. */
const STREAMS_PER_CONNECTION = 8

/**
 * HTTP/2 with prior knowledge. The client writes frames to bare sockets, because `node:http2` takes
 * as much time as a client as it takes as a server. It skips the header blocks of responses.
 */
export const http2Frames: LoadClient = {
  async ask(url, request) {
    const session = http2.connect(url)
    try {
      return await askSession(session, url, request)
    } finally {
      session.close()
    }
  },

  async load(url, requests, options) {
    const [first] = requests
    if (first === undefined) throw new Error('a load of no requests')
    const { body } = await http2Frames.ask(url, first)
    const next = cycle(requests)
    const stopwatch = new Stopwatch(options.durationMs)
    const count = Math.ceil(options.inFlight / STREAMS_PER_CONNECTION)
    const sockets = await Promise.all(Array.from({ length: count }, () => connect(url)))
    try {
      await Promise.all(
        sockets.map((socket) =>
          new LoadConnection(socket, url, next, body.length, stopwatch).run(options),
        ),
      )
    } finally {
      for (const socket of sockets) socket.destroy()
    }
    return stopwatch.result()
  },
}

async function askSession(
  session: http2.ClientHttp2Session,
  url: URL,
  request: Request,
): Promise<Answer> {
  const { method, path, headers, body } = request
  const pseudo = { ':method': method, ':path': path, ':authority': url.host }
  const stream = session.request({ ...pseudo, ...headers }, { endStream: body.length === 0 })
  let trailers: Record<string, string> = {}
  stream.on('trailers', (received) => {
    trailers = Object.fromEntries(
      Object.entries(received).map(([name, value]) => [name, String(value)]),
    )
  })
  if (body.length > 0) stream.end(body)
  const [received] = await once(stream, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return { status: Number(received[':status']), body: Buffer.concat(chunks), trailers }
}

async function connect(url: URL): Promise<Socket> {
  const socket = net.connect({ host: url.hostname, port: Number(url.port), noDelay: true })
  await once(socket, 'connect')
  return socket
}

/** The received part of a stream. */
interface OpenStream {
  readonly sentMs: number
  bodyBytes: number
}

/** A connection that keeps its streams busy until the time is up. */
class LoadConnection {
  readonly #socket: Socket
  readonly #next: () => Request
  readonly #bodyLength: number
  readonly #stopwatch: Stopwatch
  readonly #blocks: HeaderBlocks
  readonly #streams = new Map<number, OpenStream>()
  #nextStreamId = 1
  #unread: Buffer = Buffer.alloc(0)
  #received = 0
  #isTimeUp = false
  #outgoing: Buffer[] = []

  constructor(
    socket: Socket,
    url: URL,
    next: () => Request,
    bodyLength: number,
    stopwatch: Stopwatch,
  ) {
    this.#socket = socket
    this.#next = next
    this.#bodyLength = bodyLength
    this.#stopwatch = stopwatch
    this.#blocks = new HeaderBlocks(url.host)
  }

  run({ inFlight }: LoadOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.on('error', reject)
      this.#socket.on('close', () => reject(new Error('the server closed a connection')))
      this.#socket.on('data', (chunk: Buffer) => {
        try {
          this.#read(chunk)
        } catch (error) {
          reject(error)
        }
        if (this.#isTimeUp && this.#streams.size === 0) resolve()
      })
      this.#outgoing.push(PREFACE)
      for (let i = 0; i < Math.min(inFlight, STREAMS_PER_CONNECTION); i++) this.#ask()
      this.#flush()
    })
  }

  #ask(): void {
    const id = this.#nextStreamId
    this.#nextStreamId += 2
    this.#streams.set(id, { sentMs: performance.now(), bodyBytes: 0 })
    this.#outgoing.push(encodeRequest(this.#blocks, id, this.#next()))
  }

  /** Writes all frames that result from one read of the socket at once. */
  #flush(): void {
    if (this.#outgoing.length > 0) this.#socket.write(Buffer.concat(this.#outgoing))
    this.#outgoing = []
  }

  #read(chunk: Buffer): void {
    const bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk])
    let at = 0
    while (at + 9 <= bytes.length) {
      const length = frameLength(bytes, at)
      if (at + 9 + length > bytes.length) break
      const payload = bytes.subarray(at + 9, at + 9 + length)
      this.#onFrame(
        bytes.readUInt8(at + 3),
        bytes.readUInt8(at + 4),
        bytes.readUInt32BE(at + 5),
        payload,
      )
      at += 9 + length
    }
    this.#unread = bytes.subarray(at)
    this.#flush()
  }

  #onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case FRAME.settings:
        if ((flags & FLAG.ack) === 0) this.#outgoing.push(frame(FRAME.settings, FLAG.ack, 0))
        return
      case FRAME.ping:
        if ((flags & FLAG.ack) === 0) this.#outgoing.push(frame(FRAME.ping, FLAG.ack, 0, payload))
        return
      case FRAME.data:
        this.#onData(id, payload.length)
        break
      case FRAME.headers:
        break
      case FRAME.reset:
      case FRAME.goAway:
        throw new Error('the server gave up a stream or the connection')
      default:
        return
    }
    if ((flags & FLAG.endStream) !== 0) this.#onEnd(id)
  }

  #onData(id: number, length: number): void {
    const stream = this.#streams.get(id)
    if (stream) stream.bodyBytes += length
    this.#received += length
    if (this.#received < 2 ** 24) return
    this.#outgoing.push(windowUpdate(this.#received))
    this.#received = 0
  }

  #onEnd(id: number): void {
    const stream = this.#streams.get(id)
    if (stream === undefined) throw new Error(`stream ${id} ended twice`)
    if (stream.bodyBytes !== this.#bodyLength) {
      throw new Error(`an answer of ${stream.bodyBytes} bytes instead of ${this.#bodyLength}`)
    }
    this.#streams.delete(id)
    if (this.#stopwatch.count(stream.sentMs)) this.#isTimeUp = true
    if (!this.#isTimeUp) this.#ask()
  }
}
