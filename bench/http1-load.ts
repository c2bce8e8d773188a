import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import { cycle, type LoadClient, Stopwatch } from './load.ts'
import type { Answer, Request } from './requests.ts'

/** Size for several of the larger responses, of about 20 KiB. */
const READ_BUFFER_BYTES = 64 * 1024

/**
 * HTTP/1.1 on bare sockets, with one request at a time on each. `node:http` as a client takes more
 * time than the measured servers.
 */
export const http1: LoadClient = {
  async ask(url, request) {
    return (await exchange(url, encode(url, request))).answer
  },

  async load(url, requests, { inFlight, durationMs }) {
    const next = cycle(requests.map((request) => encode(url, request)))
    const { length: answerLength } = await exchange(url, next())
    const stopwatch = new Stopwatch(durationMs)
    await Promise.all(
      Array.from({ length: inFlight }, () => askUntilTimeIsUp(url, next, answerLength, stopwatch)),
    )
    return stopwatch.result()
  },
}

/**
 * Keeps one connection busy until the time is up. Received bytes go into one buffer without the
 * streams of Node, and only their number counts, so that the client takes little CPU time from the
 * server.
 */
function askUntilTimeIsUp(
  url: URL,
  next: () => Buffer,
  answerLength: number,
  stopwatch: Stopwatch,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentMs = 0
    let received = 0
    const ask = () => {
      received = 0
      sentMs = performance.now()
      socket.write(next())
    }
    const onBytes = (length: number) => {
      received += length
      if (received < answerLength) return true
      if (received > answerLength)
        socket.destroy(new Error(`an answer of ${received} bytes instead of ${answerLength}`))
      else if (stopwatch.count(sentMs)) socket.destroy()
      else ask()
      return true
    }
    const socket = net.connect({
      ...addressOf(url),
      noDelay: true,
      onread: { buffer: Buffer.allocUnsafe(READ_BUFFER_BYTES), callback: onBytes },
    })
    socket.on('connect', ask)
    socket.on('error', reject)
    socket.on('end', () => reject(new Error('the server closed a connection')))
    socket.on('close', () => resolve())
  })
}

async function connect(url: URL): Promise<Socket> {
  const socket = net.connect({ ...addressOf(url), noDelay: true })
  await once(socket, 'connect')
  return socket
}

function addressOf({ hostname, port }: URL) {
  return { host: hostname, port: Number(port) }
}

function encode(url: URL, { method, path, headers, body }: Request): Buffer {
  const length = method === 'POST' ? { 'content-length': String(body.length) } : {}
  const fields = Object.entries({
    host: url.host,
    'user-agent': 'bench',
    accept: '*/*',
    ...headers,
    ...length,
  })
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), body])
}

/** Sends one request on a new connection. The length is that of the whole response. */
async function exchange(url: URL, request: Buffer): Promise<{ answer: Answer; length: number }> {
  const socket = await connect(url)
  try {
    socket.write(request)
    let bytes: Buffer = Buffer.alloc(0)
    for await (const chunk of socket) {
      bytes = Buffer.concat([bytes, chunk])
      const answer = parse(bytes)
      if (answer !== undefined) return { answer, length: bytes.length }
    }
    throw new Error('the server closed a connection')
  } finally {
    socket.destroy()
  }
}

/** Parses a response (RFC 9112). Returns undefined until it is complete. */
function parse(bytes: Buffer): Answer | undefined {
  const headerEnd = bytes.indexOf('\r\n\r\n')
  if (headerEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headerEnd)
  const content = bytes.subarray(headerEnd + 4)
  const status = Number(head.split(' ', 2)[1])
  const length = /^content-length: *(\d+)/im.exec(head)?.[1]
  const body = length === undefined ? joinChunks(content) : content
  if (body === undefined || (length !== undefined && body.length < Number(length))) return undefined
  return { status, body, trailers: {} }
}

/**
 * Joins content in the chunked coding (RFC 9112 section 7.1). Returns undefined until the last
 * chunk has arrived.
 */
function joinChunks(content: Buffer): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = content.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(content.toString('latin1', at, lineEnd), 16)
    const end = lineEnd + 2 + size
    if (content.length < end + 2) return undefined
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(content.subarray(lineEnd + 2, end))
    at = end + 2
  }
}
