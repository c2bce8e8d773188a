import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { gunzipSync, gzipSync } from 'node:zlib'
import { create, toBinary, toJsonString } from '@bufbuild/protobuf'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Status,
} from '#gen/health/v1/health_pb.ts'
import { listen } from '../../../src/platform/http/listener/index.ts'
import { createRpc } from '../../../src/platform/rpc/index.ts'

/**
 * The adapter of connect-node is the reference: where the specifications of the protocols leave no
 * choice, responses are equal byte by byte.
 */
interface Reply {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly body: Buffer
}

type Serve = (
  listener: (request: never, response: never) => void,
  version: 1 | 2,
) => Promise<{ port: number; close: () => void }>

/** The services: outcomes of a call by the name of the requested service. */
function register(router: ConnectRouter): void {
  router.service(Health, {
    check({ service }, { responseHeader, responseTrailer }) {
      responseHeader.set('x-header', 'one')
      responseTrailer.set('x-trailer', 'two')
      if (service === 'refused') throw refused()
      if (service === 'broken') throw new Error('secret')
      return { status: service === '' ? Status.UNKNOWN : Status.SERVING }
    },
    async *watch({ service }, { responseHeader, responseTrailer }) {
      responseHeader.set('x-header', 'one')
      responseTrailer.set('x-trailer', 'two')
      if (service === 'empty') return
      if (service === 'refused') throw refused()
      yield { status: Status.SERVING }
      yield { status: Status.NOT_SERVING }
      if (service === 'interrupted') throw refused()
    },
    list: () => ({
      statuses: Object.fromEntries(
        Array.from({ length: 200 }, (_, i) => [`service${i}`, { status: Status.SERVING }]),
      ),
    }),
  })
}

function refused(): ConnectError {
  const details = [{ desc: ErrorInfoSchema, value: { reason: 'REFUSED', metadata: { a: 'b' } } }]
  return new ConnectError('no: 100 % refused', Code.FailedPrecondition, { 'x-why': 'so' }, details)
}

const serve: Serve = async (listener, version) => {
  const server =
    version === 1
      ? http.createServer(listener as http.RequestListener)
      : http2.createServer(listener as never)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

const servers: { port: number; close: () => void }[] = []
const ports = { ours: { 1: 0, 2: 0 }, stock: { 1: 0, 2: 0 } }
beforeAll(async () => {
  const rpc = createRpc()
  register(rpc.router)
  const handler = rpc.handlers().all
  const { url, close } = await listen({ host: '127.0.0.1', port: 0, handler })
  const port = Number(new URL(url).port)
  servers.push({ port, close: () => void close(0) })
  ports.ours = { 1: port, 2: port }
  const stock = connectNodeAdapter({ routes: register })
  for (const version of [1, 2] as const) {
    const server = await serve(stock as never, version)
    servers.push(server)
    ports.stock[version] = server.port
  }
})
afterAll(() => {
  for (const { close } of servers) close()
})

interface Request {
  readonly path: string
  readonly method?: string
  readonly headers: Record<string, string>
  readonly body?: Uint8Array
}

function ask1(port: number, { path, method = 'POST', headers, body }: Request): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, host: '127.0.0.1', path, method, headers, agent: false })
    request.on('error', reject)
    request.on('response', async (response) => {
      const content = Buffer.concat(await response.toArray())
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: content })
    })
    request.end(body)
  })
}

async function ask2(port: number, { path, headers, body }: Request): Promise<Reply> {
  const session = http2.connect(`http://127.0.0.1:${port}`)
  const stream = session.request({ ':method': 'POST', ':path': path, te: 'trailers', ...headers })
  const received: Record<string, unknown> = {}
  stream.on('response', (fields) => Object.assign(received, fields))
  stream.on('trailers', (fields) => Object.assign(received, fields))
  stream.end(body)
  const content = Buffer.concat(await stream.toArray())
  session.close()
  return { status: Number(received[':status']), headers: received, body: content }
}

function frame(data: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = flags
  prefix.writeUInt32BE(data.length, 1)
  return Buffer.concat([prefix, data])
}

function message(service: string, format: 'proto' | 'json'): Buffer {
  const request = create(HealthCheckRequestSchema, { service })
  return format === 'proto'
    ? Buffer.from(toBinary(HealthCheckRequestSchema, request))
    : Buffer.from(toJsonString(HealthCheckRequestSchema, request))
}

const CHECK = '/grpc.health.v1.Health/Check'
const WATCH = '/grpc.health.v1.Health/Watch'
const LIST = '/grpc.health.v1.Health/List'

/** The headers that the specifications fix. Statuses of gRPC may be in headers or in trailers. */
const FIXED = [
  'content-type',
  'content-encoding',
  'grpc-encoding',
  'grpc-status',
  'grpc-status-details-bin',
  'connect-content-encoding',
  'x-header',
  'x-trailer',
  'trailer-x-trailer',
  'x-why',
]

function comparable({ status, headers, body }: Reply) {
  const grpcMessage = headers['grpc-message']
  return {
    status,
    headers: Object.fromEntries(FIXED.map((name) => [name, headers[name]])),
    message: grpcMessage === undefined ? undefined : decodeURIComponent(String(grpcMessage)),
    body: String(headers['content-type']).startsWith('application/grpc-web')
      ? withSortedTrailers(body)
      : body.toString('latin1'),
  }
}

/** The content of gRPC-Web, with trailers in one order and with one spelling of the message. */
function withSortedTrailers(body: Buffer): (string | string[])[] {
  const parts: (string | string[])[] = []
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1)
    const data = body.subarray(at + 5, end).toString('latin1')
    const isTrailers = (body[at] ?? 0) >= 0x80
    parts.push(isTrailers ? data.split('\r\n').map(decodeMessage).sort() : data)
    at = end
  }
  return parts
}

function decodeMessage(trailer: string): string {
  return trailer.startsWith('grpc-message') ? decodeURIComponent(trailer) : trailer
}

async function expectSame(version: 1 | 2, request: Request): Promise<void> {
  const ask = version === 1 ? ask1 : ask2
  const [ours, stock] = await Promise.all([
    ask(ports.ours[version], request),
    ask(ports.stock[version], request),
  ])
  expect(comparable(ours)).toEqual(comparable(stock))
}

const OUTCOMES = ['', 'served', 'refused', 'broken']
const STREAMS = ['two messages', 'empty', 'refused', 'interrupted']
const FORMATS = ['proto', 'json'] as const

describe('a unary call over Connect equals that of the stock adapter', () => {
  for (const format of FORMATS) {
    it.each(OUTCOMES)(`${format}, service "%s"`, async (service) => {
      const headers = { 'content-type': `application/${format}` }
      await expectSame(1, { path: CHECK, headers, body: message(service, format) })
    })
  }

  it.each(['connect-timeout-ms', 'content-encoding'])('with a bad %s', async (name) => {
    const headers = { 'content-type': 'application/json', [name]: 'bad' }
    const [ours, stock] = await Promise.all([
      ask1(ports.ours[1], { path: CHECK, headers, body: message('a', 'json') }),
      ask1(ports.stock[1], { path: CHECK, headers, body: message('a', 'json') }),
    ])
    expect(ours.status).toBe(stock.status)
    expect(JSON.parse(ours.body.toString()).code).toBe(JSON.parse(stock.body.toString()).code)
  })

  it('with a compressed request', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    await expectSame(1, { path: CHECK, headers, body: gzipSync(message('served', 'json')) })
  })

  it('with a large compressed response', async () => {
    const headers = { 'content-type': 'application/json', 'accept-encoding': 'gzip' }
    const request = { path: LIST, headers, body: Buffer.from('{}') }
    const [ours, stock] = await Promise.all([
      ask1(ports.ours[1], request),
      ask1(ports.stock[1], request),
    ])
    expect(ours.headers['content-encoding']).toBe('gzip')
    expect(stock.headers['content-encoding']).toBe('gzip')
    expect(JSON.parse(gunzipSync(ours.body).toString())).toEqual(
      JSON.parse(gunzipSync(stock.body).toString()),
    )
  })
})

describe('a stream over Connect equals that of the stock adapter', () => {
  for (const format of FORMATS) {
    it.each(STREAMS)(`${format}, %s`, async (service) => {
      const headers = { 'content-type': `application/connect+${format}` }
      await expectSame(1, { path: WATCH, headers, body: frame(message(service, format)) })
    })
  }
})

describe.each([
  ['gRPC-Web', 1, 'grpc-web'],
  ['gRPC', 2, 'grpc'],
] as const)('a call over %s equals that of the stock adapter', (_, version, name) => {
  for (const format of FORMATS) {
    const headers = { 'content-type': `application/${name}+${format}` }
    it.each(OUTCOMES)(`${format}, unary, service "%s"`, async (service) => {
      await expectSame(version, { path: CHECK, headers, body: frame(message(service, format)) })
    })

    it.each(STREAMS)(`${format}, stream, %s`, async (service) => {
      await expectSame(version, { path: WATCH, headers, body: frame(message(service, format)) })
    })
  }

  it('with compressed messages', async () => {
    const headers = {
      'content-type': `application/${name}`,
      'grpc-encoding': 'gzip',
      'grpc-accept-encoding': 'identity',
    }
    const body = frame(gzipSync(message('served', 'proto')), 1)
    await expectSame(version, { path: CHECK, headers, body })
  })

  it.each([
    ['no message', Buffer.alloc(0)],
    ['two messages', Buffer.concat([frame(message('a', 'proto')), frame(message('b', 'proto'))])],
  ])('with the code for %s', async (_case, body) => {
    const headers = { 'content-type': `application/${name}` }
    const ask = version === 1 ? ask1 : ask2
    const [ours, stock] = await Promise.all([
      ask(ports.ours[version], { path: CHECK, headers, body }),
      ask(ports.stock[version], { path: CHECK, headers, body }),
    ])
    const statusOf = ({ headers: fields, body: content }: Reply) =>
      fields['grpc-status'] ?? /grpc-status: (\d+)/.exec(content.toString())?.[1]
    expect(statusOf(ours)).toBe(statusOf(stock))
  })
})
