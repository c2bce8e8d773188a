import type { MessageInitShape } from '@bufbuild/protobuf'
import { toJson } from '@bufbuild/protobuf'
import type { CallOptions, ContextValues, HandlerContext, Transport } from '@connectrpc/connect'
import {
  Code,
  ConnectError,
  createClient,
  createContextKey,
  createContextValues,
} from '@connectrpc/connect'
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { messageOf } from './schema.ts'
import type { AnyRequest, Served, Thing } from './things.ts'
import { counting, serve, Things, thingSchema } from './things.ts'

const clientAddress = createContextKey('')
const seen: string[] = []
let inContext: Pick<HandlerContext, 'protocolName'> & { values: ContextValues }
let http1: Served
let http2: Served

const scripts = {
  things: {
    GetThing(request: AnyRequest, context: HandlerContext) {
      inContext = context
      if (request.name === 'none') {
        const info = { reason: 'GONE', domain: 'things.test', metadata: { name: request.name } }
        throw new ConnectError('no such thing', Code.NotFound, { 'x-why': 'moved' }, [
          { desc: ErrorInfoSchema, value: info },
        ])
      }
      if (request.name === 'crash') throw new TypeError('a secret')
      context.responseHeader.set('x-answer', `${request.depth}`)
      context.responseTrailer.set('x-end', 'yes')
      return { name: request.name, size: 2n ** 60n, tagNames: ['a', 'ä'], inner: { name: 'b' } }
    },
    async *WatchThings(request: AnyRequest) {
      yield { name: `${request.q}1` }
      yield { name: `${request.q}2` }
      if (request.limit === 1) throw new ConnectError('no more', Code.ResourceExhausted)
    },
  },
}

beforeAll(async () => {
  const options = {
    interceptors: [counting(seen), counting(seen)],
    contextValues: () => createContextValues().set(clientAddress, 'here'),
  }
  http1 = await serve(scripts, options)
  http2 = await serve(scripts, options)
})
afterAll(() => Promise.all([http1.close(), http2.close()]))
beforeEach(() => {
  seen.length = 0
})

interface ThingsClient {
  getThing(request: object, options: CallOptions): Promise<Thing>
  watchThings(request: object): AsyncIterable<Thing>
}

interface Outcome {
  message?: unknown
  error?: { code: Code; message: string; details: unknown[] }
  header?: string | null
}

const ThingSchema = messageOf(thingSchema, 'things.v1.Thing')

async function overRest(name: string): Promise<Outcome> {
  const response = await fetch(`${http1.url}/things/${name}?depth=7`)
  const body = JSON.parse(await response.text())
  if (response.ok) return { message: body, header: response.headers.get('x-answer') }
  const details = (body.details ?? []).map(
    ({ '@type': type, ...detail }: Record<string, string>) => [type, detail],
  )
  return { error: { ...body, details }, header: response.headers.get('x-why') }
}

async function overRpc(transport: Transport, name: string): Promise<Outcome> {
  let header: string | null = null
  try {
    // The compiler cannot know the types of a schema compiled at run time.
    const client = createClient(Things, transport) as unknown as ThingsClient
    const onHeader = (headers: Headers) => {
      header = headers.get('x-answer')
    }
    const message = await client.getThing({ name, depth: 7 }, { onHeader })
    return { message: toJson(ThingSchema, message), header }
  } catch (thrown) {
    const error = ConnectError.from(thrown)
    const details = error
      .findDetails(ErrorInfoSchema)
      .map((detail) => [`type.googleapis.com/${detail.$typeName}`, toJson(ErrorInfoSchema, detail)])
    return {
      error: { code: error.code, message: error.rawMessage, details },
      header: error.metadata.get('x-why'),
    }
  }
}

describe.each([
  ['rest', (name: string) => overRest(name)],
  [
    'connect',
    (name: string) =>
      overRpc(createConnectTransport({ baseUrl: http1.url, httpVersion: '1.1' }), name),
  ],
  ['grpc', (name: string) => overRpc(createGrpcTransport({ baseUrl: http2.url }), name)],
  [
    'grpc-web',
    (name: string) =>
      overRpc(createGrpcWebTransport({ baseUrl: http1.url, httpVersion: '1.1' }), name),
  ],
])('a unary call over %s', (protocolName, call) => {
  it('returns the same message and headers', async () => {
    expect(await call('one')).toEqual({
      message: {
        name: 'one',
        size: '1152921504606846976',
        tagNames: ['a', 'ä'],
        inner: { name: 'b' },
      },
      header: '7',
    })
  })

  it('returns the same error with its details and metadata', async () => {
    expect(await call('none')).toEqual({
      error: {
        code: 5,
        message: 'no such thing',
        details: [
          [
            'type.googleapis.com/google.rpc.ErrorInfo',
            { reason: 'GONE', domain: 'things.test', metadata: { name: 'none' } },
          ],
        ],
      },
      header: 'moved',
    })
  })

  it('hides an error that is not an RPC error', async () => {
    expect((await call('crash')).error).toEqual({
      code: 13,
      message: 'internal error',
      details: [],
    })
  })

  it('runs each interceptor once', async () => {
    await call('one')
    expect(seen).toEqual(['GetThing unary', 'GetThing unary'])
  })

  it('passes context values and the protocol name to the implementation', async () => {
    await call('one')
    expect(inContext.values.get(clientAddress)).toBe('here')
    expect(inContext.protocolName).toBe(protocolName)
  })
})

describe('a server stream', () => {
  async function watchRpc(transport: Transport, request: object) {
    const client = createClient(Things, transport) as unknown as ThingsClient
    const names: string[] = []
    try {
      for await (const thing of client.watchThings(request)) names.push(thing.name)
      return { names }
    } catch (error) {
      return {
        names,
        error: {
          code: ConnectError.from(error).code,
          message: ConnectError.from(error).rawMessage,
        },
      }
    }
  }

  async function watchRest(query: string) {
    const lines = (await (await fetch(`${http1.url}/things:watch?${query}`)).text())
      .trimEnd()
      .split('\n')
    const items = lines.map((line) => JSON.parse(line))
    const error = items.find((item) => '@error' in item)?.['@error']
    return {
      names: items.filter((item) => 'name' in item).map((item) => item.name),
      ...(error && { error }),
    }
  }

  it.each([
    ['connect', () => createConnectTransport({ baseUrl: http1.url, httpVersion: '1.1' })],
    ['grpc', () => createGrpcTransport({ baseUrl: http2.url })],
    ['grpc-web', () => createGrpcWebTransport({ baseUrl: http1.url, httpVersion: '1.1' })],
  ])('returns the same messages and the same late error as over %s', async (_, transport) => {
    expect(await watchRest('q=x')).toEqual(await watchRpc(transport(), { q: 'x' }))
    const failed = await watchRest('q=x&limit=1')
    expect(failed).toEqual(await watchRpc(transport(), { q: 'x', limit: 1 }))
    expect(failed).toEqual({ names: ['x1', 'x2'], error: { code: 8, message: 'no more' } })
    expect(new Set(seen)).toEqual(new Set(['WatchThings stream']))
    expect(seen).toHaveLength(8)
  })
})

describe('RPC paths', () => {
  it('belong to the RPC protocols', async () => {
    const response = await fetch(`${http1.url}/things.v1.Things/GetThing`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'rpc' } satisfies MessageInitShape<typeof ThingSchema>),
    })
    expect(await response.json()).toMatchObject({ name: 'rpc' })
    expect(inContext.protocolName).toBe('connect')
  })

  it('have no REST route for a method without a rule', async () => {
    expect(http1.rpc.routes().map(({ rpc }) => rpc)).not.toContain('things.v1.Things/Hidden')
    expect((await fetch(`${http1.url}/hidden`)).status).toBe(404)
  })

  it('return 501 over REST for a registered method without an implementation', async () => {
    const response = await fetch(`${http1.url}/things`)
    expect(response.status).toBe(501)
    expect(await response.json()).toEqual({
      code: 12,
      message: 'things.v1.Things.ListThings is not implemented',
    })
  })
})
