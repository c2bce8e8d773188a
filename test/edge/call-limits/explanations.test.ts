import { randomUUID } from 'node:crypto'
import http2, { type ClientHttp2Session } from 'node:http2'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { Client, credentials, Metadata, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { connectRaw } from '../../platform/http/listener/raw-client.ts'
import {
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const MAX_MESSAGE_BYTES = 128 * 1024

/**
 * Of a body that is too large in every protocol, and too large to be taken for the sake of the
 * connection.
 */
const OVERSIZED_BYTES = 2 * 1024 * 1024

/** Of four oversized calls each on one connection, whose flow control has far less room. */
const ROUNDS = isLongTier ? 50 : 5
const SIGN_IN = '/branchline.v1.AuthService/SignIn'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ maxMessageBytes: MAX_MESSAGE_BYTES })
})
afterAll(() => server.stop())

/** Connections that the server has open, by its own count. */
async function openConnections(): Promise<number> {
  const metrics = await (
    await fetch(`${server.url}/metrics`, { headers: { connection: 'close' } })
  ).text()
  return Number(/^branchline_connections (\d+)$/m.exec(metrics)?.[1])
}

/** JSON that is oversized by its one long string. */
function json(bytes: number): Buffer {
  return Buffer.from(JSON.stringify({ passwordCredentials: { username: 'x'.repeat(bytes) } }))
}

/** A message of gRPC and gRPC-Web with its prefix. */
function framed(bytes: number): Buffer {
  const frame = Buffer.alloc(5 + bytes)
  frame.writeUInt32BE(bytes, 1)
  return frame
}

/** Requests that are answered before they have arrived, and what the client has to see. */
const EARLY = [
  [
    'Connect JSON',
    SIGN_IN,
    'application/json',
    json(OVERSIZED_BYTES),
    /^HTTP\/1.1 429 .*REQUEST_TOO_LARGE/s,
  ],
  [
    'Connect binary',
    SIGN_IN,
    'application/proto',
    Buffer.alloc(OVERSIZED_BYTES),
    /^HTTP\/1.1 429 .*REQUEST_TOO_LARGE/s,
  ],
  [
    'gRPC-Web',
    SIGN_IN,
    'application/grpc-web+proto',
    framed(OVERSIZED_BYTES),
    /^HTTP\/1.1 200 .*grpc-status: 8/s,
  ],
  [
    'REST',
    '/api/v1/auth/signin',
    'application/json',
    json(OVERSIZED_BYTES),
    /^HTTP\/1.1 413 .*REQUEST_TOO_LARGE/is,
  ],
  [
    'an unknown path',
    '/nothing/here',
    'application/json',
    json(OVERSIZED_BYTES),
    /^HTTP\/1.1 404 /,
  ],
  [
    'a page of the operator',
    '/healthz',
    'application/json',
    json(OVERSIZED_BYTES),
    /^HTTP\/1.1 40[45] /,
  ],
  [
    'Git',
    '/ada/repo.git/git-receive-pack',
    'application/x-git-receive-pack-request',
    Buffer.alloc(OVERSIZED_BYTES),
    /^HTTP\/1.1 40[14] /,
  ],
] as const

function headOf(path: string, contentType: string, length: number | undefined): string {
  const framing = length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  return `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: ${contentType}\r\n${framing}\r\n\r\n`
}

function chunked(body: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${body.length.toString(16)}\r\n`),
    body,
    Buffer.from('\r\n0\r\n\r\n'),
  ])
}

describe('a response that ends before its request, on HTTP/1.1', () => {
  describe.each(EARLY)('%s', (_, path, contentType, body, expected) => {
    it.each(['with a length', 'in chunks'])(
      '%s: is seen in full, and the connection is usable or closed',
      async (how) => {
        const isChunked = how === 'in chunks'
        const client = await connectRaw(
          server.url,
          headOf(path, contentType, isChunked ? undefined : body.length),
        )
        client.socket.write(isChunked ? chunked(body) : body)
        await Promise.race([client.until('\r\n\r\n'), client.closed])
        if (!/^connection: close/im.test(client.received())) {
          client.socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
        }
        const received = await client.closed
        expect(received).toMatch(expected)
        if (!/^connection: close/im.test(received.slice(0, received.indexOf('\r\n\r\n')))) {
          expect(received).toMatch(/HTTP\/1.1 200 OK.*$/s)
        }
      },
    )

    it('ends the connection of a client that stops sending', async () => {
      const client = await connectRaw(server.url, headOf(path, contentType, body.length))
      client.socket.write(body.subarray(0, body.length - 1))
      expect(await client.closed).toMatch(expected)
    })
  })

  it('closes the connections of clients that never finish', async () => {
    const clients = await Promise.all(
      EARLY.flatMap(([, path, contentType, body]) =>
        Array.from({ length: 8 }, async () => {
          const client = await connectRaw(server.url, headOf(path, contentType, undefined))
          client.socket.write(chunked(body).subarray(0, -1))
          return client
        }),
      ),
    )
    await Promise.all(clients.map(({ closed }) => closed))
    // The one that asks.
    await expect.poll(openConnections).toBe(1)
  })
})

/**
 * A session whose client has room for everything that its streams want to send: node's own limit
 * would reset them with code 11.
 */
function connectHttp2(): ClientHttp2Session {
  return http2.connect(server.url, { maxSessionMemory: 1000 })
}

/** What a client saw of an answer. */
interface Answer {
  readonly text: string
  readonly rstCode: number | undefined
}

/**
 * Begins a request that never ends, and returns the answer: its status, headers, content and
 * trailers, when its stream is closed.
 */
async function begin(
  session: ClientHttp2Session,
  path: string,
  contentType: string,
  body: Buffer,
): Promise<Answer> {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': contentType,
    te: 'trailers',
  })
  let text = ''
  const add = (headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader) => {
    if (headers[':status'] !== undefined) text += `HTTP/1.1 ${headers[':status']} \n`
    for (const [name, value] of Object.entries(headers)) text += `${name}: ${value}\n`
  }
  stream.on('response', add)
  stream.on('trailers', add)
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  // A reset shows in the code.
  stream.on('error', () => {})
  stream.write(body)
  await new Promise((resolve) => stream.once('close', resolve))
  return { text, rstCode: stream.rstCode }
}

describe('a response that ends before its request, on HTTP/2', () => {
  const gRpc = [
    'gRPC',
    SIGN_IN,
    'application/grpc+proto',
    framed(OVERSIZED_BYTES),
    /^HTTP\/1.1 200 .*grpc-status: 8/s,
  ] as const

  // Beside each other, since the server waits for a second before it closes streams that are not read.
  it.concurrent.each([...EARLY, gRpc])(
    '%s: is seen in full and closes its stream, so that there is place for others',
    async (_, path, contentType, body, expected) => {
      const session = connectHttp2()
      // 132, of which 128 fit beside each other: the last ones get the places of others.
      for (let i = 0; i < 3; i++) {
        const begun = Array.from({ length: 44 }, () =>
          begin(session, path, contentType, body.subarray(0, 2 * MAX_MESSAGE_BYTES)),
        )
        for (const answer of await Promise.all(begun)) {
          expect(answer.text).toMatch(expected)
          expect(answer.rstCode).toBe(http2.constants.NGHTTP2_NO_ERROR)
        }
      }
      session.destroy()
    },
  )
})

describe('oversized messages', () => {
  it.each(RPC_PROTOCOLS)(
    'are refused with a reason to a client of Connect, one after the other and at once: %s',
    async (protocol) => {
      const client = createClient(AuthService, transportTo(server.url, protocol))
      const signIn = async (bytes: number) => {
        // Another name each time: wrong passwords of one are counted.
        const value = { username: randomUUID() + 'x'.repeat(bytes), password: 'x' }
        try {
          await client.signIn({ credentials: { case: 'passwordCredentials', value } })
          return undefined
        } catch (error) {
          return ConnectError.from(error).code
        }
      }
      for (let i = 0; i < 3; i++) {
        expect(await signIn(OVERSIZED_BYTES)).toBe(Code.ResourceExhausted)
        expect(await signIn(0)).toBe(Code.Unauthenticated)
      }
      const codes = await Promise.all(Array.from({ length: 4 }, () => signIn(OVERSIZED_BYTES)))
      expect(codes).toEqual(Array(4).fill(Code.ResourceExhausted))
    },
  )

  it(`are refused with their status to grpc-js, four at once and ${4 * ROUNDS} on one connection`, async () => {
    const client = new Client(new URL(server.url).host, credentials.createInsecure())
    const call = (bytes: number) =>
      new Promise<number | undefined>((resolve) => {
        const identity = (message: Buffer) => message
        client.makeUnaryRequest(
          SIGN_IN,
          identity,
          identity,
          Buffer.alloc(bytes),
          new Metadata(),
          (error) => resolve(error?.code),
        )
      })
    for (let i = 0; i < ROUNDS; i++) {
      const codes = await Promise.all(Array.from({ length: 4 }, () => call(OVERSIZED_BYTES)))
      expect(codes).toEqual(Array(4).fill(status.RESOURCE_EXHAUSTED))
    }
    expect(await call(0)).toBe(status.INVALID_ARGUMENT)
    client.close()
  })
})
