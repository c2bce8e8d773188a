import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import { connect as http2Connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import type { DescService } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { HttpStatusSchema } from '#gen/rest/v1/rest_pb.ts'
import {
  createRpc,
  dialectOf,
  RouteTableError,
  successStatus,
} from '../../../../src/platform/rpc/index.ts'
import { compileSchema, serviceOf } from './schema.ts'
import type { Reply, Script, Served } from './things.ts'
import { Habits, rawExchange, serve, Things } from './things.ts'

const things: Record<string, Reply> = {}
const habits: Record<string, Reply> = {}
const errors: unknown[] = []
let served: Served

beforeAll(async () => {
  served = await serve(
    { things: callingLater(things, Things), habits: callingLater(habits, Habits) },
    {
      readMaxBytes: 100_000,
      publicUrl: 'https://forge.test/',
      onError: (error) => errors.push(error),
    },
  )
})
afterAll(() => served.close())
beforeEach(() => {
  errors.length = 0
})

/** Methods that are looked up when they are called, so that each test writes its own. */
function callingLater(script: Record<string, Reply>, { methods }: DescService): Script {
  const call =
    (name: string): Reply =>
    (request, context) =>
      script[name]?.(request, context) ?? Promise.reject(new Error(`the test has no ${name}`))
  return Object.fromEntries(methods.map(({ name }) => [name, call(name)]))
}

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(served.url + path, { headers })
const json = (body: unknown, headers: Record<string, string> = {}) => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
})

describe('a request', () => {
  it('has the fields of body, path and query; the path has precedence', async () => {
    things.ReplaceThing = (request) => request
    const response = await fetch(`${served.url}/things/a%2Fb?size=9`, {
      method: 'PUT',
      ...json({ name: 'other', size: 7, tag_names: ['x'] }),
    })
    // With `body: "*"` no field is left to the query.
    expect(await response.json()).toEqual({ name: 'a/b', size: '7', tagNames: ['x'] })
  })

  it('reads from the query the fields that path and body do not set', async () => {
    things.CreateThing = (request) => ({ name: `${request.thing?.name} ${request.parent}` })
    const init = { method: 'POST', ...json({ name: 'a' }) }
    const response = await fetch(`${served.url}/things?parent=p+q&thing.name=b&unknown=1`, init)
    expect(await response.json()).toEqual({ name: 'a p q' })
  })

  it('may have compressed content', async () => {
    things.ReplaceThing = (request) => request
    const body = JSON.stringify({ url: 'x'.repeat(5000) })
    for (const [coding, bytes] of [
      ['gzip', gzipSync(body)],
      ['br', brotliCompressSync(body)],
      ['identity', Buffer.from(body)],
    ] as const) {
      const headers = { 'content-type': 'application/json', 'content-encoding': coding }
      const response = await fetch(`${served.url}/things/a`, {
        method: 'PUT',
        headers,
        body: new Uint8Array(bytes),
      })
      expect([coding, ((await response.json()) as { url: string }).url.length]).toEqual([
        coding,
        5000,
      ])
    }
  })

  it('may have no content, or `null`, whatever its type', async () => {
    things.ReplaceThing = ({ name }) => ({ name })
    const empty = await fetch(`${served.url}/things/a`, {
      method: 'PUT',
      headers: { 'content-type': 'text/plain' },
    })
    expect(await empty.json()).toEqual({ name: 'a' })
    const nothing = await fetch(`${served.url}/things/a`, { method: 'PUT', ...json(null) })
    expect(await nothing.json()).toEqual({ name: 'a' })
  })

  it('has the bytes and the type of raw content', async () => {
    things.Put = ({ content, mode }) => ({
      url: content?.contentType,
      size: BigInt(content?.data.length ?? 0),
      name: `${mode}`,
    })
    const init = {
      method: 'PUT',
      headers: { 'content-type': 'image/x-test; a=b' },
      body: new Uint8Array([0, 255, 10]),
    }
    const response = await fetch(`${served.url}/things/a/content?mode=6`, init)
    expect(await response.json()).toEqual({ name: '6', url: 'image/x-test; a=b', size: '3' })
  })

  it('has its metadata without hop-by-hop headers', async () => {
    let names: string[] = []
    things.GetThing = (_request, context) => {
      names = [...context.requestHeader.keys()]
      return { name: `${context.requestMethod} ${context.url}` }
    }
    const text = await rawExchange(
      served.port,
      'GET /things/%61/?q HTTP/1.1\r\nHost: h.test\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX-Bin-bin: AAE\r\nTE: trailers\r\n\r\n'.replace(
        '/?q',
        '?q',
      ),
    )
    expect(text).toContain('{"name":"GET http://h.test/things/%61?q"}')
    expect(names).toEqual(['host', 'x-bin-bin'])
  })
})

describe('a reply', () => {
  it('has its status, headers copied from fields, and those that the call set', async () => {
    things.CreateThing = (_request, { responseHeader, responseTrailer }) => {
      responseHeader.set('x-mine', '1')
      responseHeader.append('set-cookie', 'a=1')
      responseHeader.append('set-cookie', 'b=2')
      for (const name of [
        'content-length',
        'content-type',
        'transfer-encoding',
        'connection',
        'content-encoding',
      ]) {
        responseHeader.set(name, 'wrong')
      }
      responseTrailer.set('x-end', '2')
      return { name: 'a', url: '/things/ä\r\nX-Injected: 1' }
    }
    const response = await fetch(`${served.url}/things`, { method: 'POST', ...json({}) })
    expect(response.status).toBe(201)
    expect(response.headers.get('location')).toBe('/things/%C3%A4%0D%0AX-Injected: 1')
    expect(response.headers.get('x-injected')).toBeNull()
    expect(response.headers.get('x-size')).toBeNull()
    expect(response.headers.get('x-mine')).toBe('1')
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(response.headers.get('trailer-x-end')).toBe('2')
    expect(response.headers.get('content-type')).toBe('application/json')
    const text = await response.text()
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
  })

  it.each([202, 204, 205, 303])('has the status %d that the call set', async (status) => {
    things.GetThing = (_request, { values }) => {
      values.set(successStatus, status)
      return { name: 'a' }
    }
    const response = await fetch(`${served.url}/things/a`, { redirect: 'manual' })
    expect(response.status).toBe(status)
    const hasContent = status !== 204 && status !== 205
    expect(await response.text()).toBe(hasContent ? '{"name":"a"}' : '')
    expect(response.headers.has('content-type')).toBe(hasContent)
    if (status === 205) expect(response.headers.get('content-length')).toBe('0')
  })

  it('is an internal error for a status that does not mean success', async () => {
    things.GetThing = (_request, { values }) => {
      values.set(successStatus, 99)
      return {}
    }
    expect((await get('/things/a')).status).toBe(500)
    expect(errors).toHaveLength(1)
  })

  it('is an empty object for Empty, or has no content by the dialect', async () => {
    things.DeleteThing = () => ({})
    habits.DeleteThing = () => ({})
    const standard = await fetch(`${served.url}/things/a`, { method: 'DELETE' })
    expect([standard.status, await standard.text()]).toEqual([200, '{}'])
    const dialect = await fetch(`${served.url}/habits/a`, { method: 'DELETE' })
    expect([dialect.status, await dialect.text(), dialect.headers.get('content-type')]).toEqual([
      204,
      '',
      null,
    ])
  })

  it('uses the dialect of the service', async () => {
    habits.GetThing = () => ({ name: 'a', size: 2n ** 53n })
    const response = await get('/habits/a')
    expect(response.headers.get('content-type')).toBe('application/json;charset=utf-8')
    expect(await response.text()).toBe(
      '{"name":"a","size":"9007199254740992","url":"","tag_names":[]}',
    )
  })

  it('has the paging headers of a list', async () => {
    things.ListThings = () => ({ things: [{ name: 'a' }], total: 30n, limit: 10 })
    const response = await get('/things?q=a%20b&page=2')
    expect(await response.json()).toEqual([{ name: 'a' }])
    expect(response.headers.get('x-total-count')).toBe('30')
    expect(response.headers.get('link')).toBe(
      '<https://forge.test/things?q=a%20b&page=3>; rel="next",<https://forge.test/things?q=a%20b&page=3>; rel="last",' +
        '<https://forge.test/things?q=a%20b&page=1>; rel="first",<https://forge.test/things?q=a%20b&page=1>; rel="prev"',
    )
  })

  it('is raw for an HttpBody, with its content type', async () => {
    things.Download = ({ name }) => ({
      data: new Uint8Array([0, 255]),
      contentType: name === 'typed' ? 'image/png' : '',
    })
    const typed = await get('/things/typed/content')
    expect(typed.headers.get('content-type')).toBe('image/png')
    expect([...new Uint8Array(await typed.arrayBuffer())]).toEqual([0, 255])
    expect((await get('/things/a/content')).headers.get('content-type')).toBe(
      'application/octet-stream',
    )
  })
})

describe('compression', () => {
  const text = 'x'.repeat(3000)
  /** Node's client decodes nothing. */
  async function raw(path: string, headers: Record<string, string>) {
    const outgoing = httpRequest(served.url + path, { headers }).end()
    const [response] = await once(outgoing, 'response')
    return { headers: response.headers, body: Buffer.concat(await response.toArray()) }
  }

  beforeEach(() => {
    things.GetThing = ({ name }) => ({ url: name === 'big' ? text : 'x' })
    things.Download = () => ({ data: Buffer.from(text), contentType: 'image/png' })
  })

  it.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ])('is %s if the client accepts it', async (coding, decode) => {
    const { headers, body } = await raw('/things/big', { 'accept-encoding': coding })
    expect(headers).toMatchObject({ 'content-encoding': coding, vary: 'Accept-Encoding' })
    expect(headers['content-length']).toBe(String(body.length))
    expect(JSON.parse(decode(body).toString())).toEqual({ url: text })
  })

  it('sets Vary for clients without a coding too', async () => {
    const { headers } = await raw('/things/big', {})
    expect(headers).toMatchObject({ vary: 'Accept-Encoding' })
    expect(headers['content-encoding']).toBeUndefined()
  })

  it.each(['/things/small', '/things/a/content'])('is not for %s', async (path) => {
    const { headers } = await raw(path, { 'accept-encoding': 'gzip, br' })
    expect(headers['content-encoding']).toBeUndefined()
    expect(headers.vary).toBeUndefined()
  })
})

describe('conditional requests', () => {
  beforeEach(() => {
    things.GetThing = (_request, { responseHeader }) => {
      responseHeader.set('etag', '"v1"')
      responseHeader.set('cache-control', 'private')
      responseHeader.set('content-disposition', 'inline')
      return { name: 'a' }
    }
    habits.GetThing = () => ({ name: 'a' })
  })

  it.each(['"v1"', 'W/"v1"', '"v0", "v1"', '*'])('get 304 for %s', async (tag) => {
    const response = await get('/things/a', { 'if-none-match': tag })
    expect([response.status, await response.text()]).toEqual([304, ''])
    expect(response.headers.get('etag')).toBe('"v1"')
    expect(response.headers.get('cache-control')).toBe('private')
    expect(response.headers.get('content-type')).toBeNull()
    expect(response.headers.get('content-disposition')).toBeNull()
  })

  it('get the content for another tag', async () => {
    expect((await get('/things/a', { 'if-none-match': '"v2"' })).status).toBe(200)
  })

  it('get 304 for HEAD, and never for other methods', async () => {
    const headers = { 'if-none-match': '*' }
    expect((await fetch(`${served.url}/things/a`, { method: 'HEAD', headers })).status).toBe(304)
    things.DeleteThing = (_request, { responseHeader }) => {
      responseHeader.set('etag', '"v1"')
      return {}
    }
    expect((await fetch(`${served.url}/things/a`, { method: 'DELETE', headers })).status).toBe(200)
  })

  it('get a weak tag by the dialect', async () => {
    const tag = (await get('/habits/a')).headers.get('etag') ?? ''
    expect(tag).toMatch(/^W\/"[\w-]{27}"$/)
    expect((await get('/habits/a', { 'if-none-match': tag })).status).toBe(304)
    habits.GetThing = () => ({ name: 'b' })
    expect((await get('/habits/a', { 'if-none-match': tag })).status).toBe(200)
  })
})

describe('HEAD', () => {
  it('has the status and headers of GET, and no content', async () => {
    things.GetThing = () => ({ name: 'ä' })
    const response = await fetch(`${served.url}/things/a`, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength('{"name":"ä"}')))
    expect(response.headers.get('content-type')).toBe('application/json')
  })
})

describe('OPTIONS', () => {
  it('has the methods of the path', async () => {
    const response = await fetch(`${served.url}/things/a`, { method: 'OPTIONS' })
    expect([response.status, await response.text()]).toEqual([204, ''])
    expect(response.headers.get('allow')).toBe('DELETE, GET, HEAD, OPTIONS, PUT')
  })

  it('is 404 for an unknown path', async () => {
    expect((await fetch(`${served.url}/none`, { method: 'OPTIONS' })).status).toBe(404)
  })
})

describe('an error', () => {
  it.each([
    [Code.Canceled, 499],
    [Code.Unknown, 500],
    [Code.InvalidArgument, 400],
    [Code.DeadlineExceeded, 504],
    [Code.NotFound, 404],
    [Code.AlreadyExists, 409],
    [Code.PermissionDenied, 403],
    [Code.ResourceExhausted, 429],
    [Code.FailedPrecondition, 400],
    [Code.Aborted, 409],
    [Code.OutOfRange, 400],
    [Code.Unimplemented, 501],
    [Code.Internal, 500],
    [Code.Unavailable, 503],
    [Code.DataLoss, 500],
    [Code.Unauthenticated, 401],
  ])('with code %d has status %d', async (code, status) => {
    things.GetThing = () => {
      throw new ConnectError('why', code)
    }
    const response = await get('/things/a')
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ code, message: 'why' })
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('www-authenticate')).toBeNull()
  })

  it('of an unexpected kind is only logged', async () => {
    const cause = new Error('a secret')
    things.GetThing = () => Promise.reject(cause)
    expect(await (await get('/things/a')).json()).toEqual({ code: 13, message: 'internal error' })
    expect(errors).toEqual([cause])
  })

  it('may set status and headers by a detail, which is not printed', async () => {
    things.GetThing = () => {
      const value = {
        status: 307,
        headers: { Location: '/things/ä', 'Content-Length': '3', 'not a name': '1' },
      }
      throw new ConnectError('moved', Code.NotFound, undefined, [{ desc: HttpStatusSchema, value }])
    }
    const response = await fetch(`${served.url}/things/a`, { redirect: 'manual' })
    expect(response.status).toBe(307)
    expect(response.headers.get('location')).toBe('/things/%C3%A4')
    expect(await response.json()).toEqual({ code: 5, message: 'moved' })
  })

  it('may set its body', async () => {
    things.GetThing = () => {
      const value = { status: 422, body: { why: null, names: ['a'] } }
      throw new ConnectError('wrong', Code.InvalidArgument, undefined, [
        { desc: HttpStatusSchema, value },
      ])
    }
    const response = await get('/things/a')
    expect([response.status, await response.json()]).toEqual([422, { why: null, names: ['a'] }])
    expect(response.headers.get('content-type')).toBe('application/json')
  })

  it('has the headers of the call, overwritten by its metadata', async () => {
    things.GetThing = (_request, { responseHeader }) => {
      responseHeader.set('x-request', '1')
      responseHeader.set('x-both', 'call')
      throw new ConnectError('why', Code.Aborted, { 'x-both': 'error', 'content-length': '1' })
    }
    const response = await get('/things/a')
    expect([response.headers.get('x-request'), response.headers.get('x-both')]).toEqual([
      '1',
      'error',
    ])
    expect(await response.json()).toEqual({ code: 10, message: 'why' })
  })

  it('prints details of known types, and the bytes of others', async () => {
    things.GetThing = () => {
      const error = new ConnectError('why', Code.Aborted)
      error.details.push(
        { type: 'google.rpc.RequestInfo', value: new Uint8Array([10, 1, 120]) },
        { type: 'google.protobuf.Duration', value: new Uint8Array([8, 3]) },
        { type: 'google.protobuf.Empty', value: new Uint8Array() },
        { type: 'other.v1.Unknown', value: new Uint8Array([1, 2, 255]) },
        { type: 'google.rpc.ErrorInfo', value: new Uint8Array([255]) },
      )
      throw error
    }
    expect(((await (await get('/things/a')).json()) as { details: unknown }).details).toEqual([
      { '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId: 'x' },
      { '@type': 'type.googleapis.com/google.protobuf.Duration', value: '3s' },
      { '@type': 'type.googleapis.com/google.protobuf.Empty' },
      { '@type': 'type.googleapis.com/other.v1.Unknown', value: 'AQL/' },
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', value: '/w==' },
    ])
  })

  it('has the form and statuses of the dialect', async () => {
    habits.GetThing = ({ name }) => {
      if (name === 'crash') throw new Error('a secret')
      throw new ConnectError('taken', Code.AlreadyExists)
    }
    const taken = await get('/habits/a')
    expect([taken.status, taken.headers.get('content-type')]).toEqual([
      422,
      'application/json;charset=utf-8',
    ])
    expect(await taken.json()).toEqual({ message: 'taken', url: 'https://docs.test/api' })
    const crash = await get('/habits/crash')
    expect([crash.status, await crash.json()]).toEqual([
      500,
      { message: '', url: 'https://docs.test/api' },
    ])
    const malformed = await get('/habits/a?depth=x')
    expect([malformed.status, await malformed.json()]).toMatchObject([
      400,
      { url: 'https://docs.test/api' },
    ])
  })

  it('of an unknown path has the default dialect', async () => {
    const handler = createRpc({ defaultDialect: dialectOf(Habits) }).handlers().all
    const server = createServer((request, response) => handler(request, response)).listen(
      0,
      '127.0.0.1',
    )
    await once(server, 'listening')
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/none`)
    expect(await response.json()).toEqual({
      message: 'no such path: /none',
      url: 'https://docs.test/api',
    })
    server.closeAllConnections()
    server.close()
  })
})

describe('deadlines', () => {
  it('return 504 and abort the signal, even if the implementation ignores it', async () => {
    let signal: AbortSignal | undefined
    things.GetThing = (_request, context) => {
      signal = context.signal
      return new Promise(() => {})
    }
    const response = await get('/things/a', { 'connect-timeout-ms': '20' })
    expect(response.status).toBe(504)
    expect(await response.json()).toEqual({ code: 4, message: 'the operation timed out' })
    expect(signal?.aborted).toBe(true)
  })

  it('are visible to the implementation', async () => {
    things.GetThing = (_request, { timeoutMs }) => ({ size: BigInt(Math.ceil(timeoutMs() ?? 0)) })
    const body = (await (await get('/things/a', { 'x-server-timeout': '100' })).json()) as {
      size: string
    }
    expect(Number(body.size)).toBeGreaterThan(90_000)
  })

  it('return 400 if they are malformed', async () => {
    expect((await get('/things/a', { 'grpc-timeout': '5 minutes' })).status).toBe(400)
  })
})

describe('a client that disconnects', () => {
  it('aborts the signal', async () => {
    const aborted = new Promise<unknown>((resolve) => {
      things.GetThing = (_request, { signal }) => {
        client.abort()
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            resolve(signal.reason)
            reject(signal.reason)
          })
        })
      }
    })
    const client = new AbortController()
    await expect(fetch(`${served.url}/things/a`, { signal: client.signal })).rejects.toThrow()
    expect(ConnectError.from(await aborted).code).toBe(Code.Canceled)
    expect(errors).toEqual([])
  })
})

describe('HTTP/2', () => {
  it('has the same responses with headers of the surrounding server', async () => {
    const rpc = createRpc()
    rpc.router.service(Things, {
      getThing: (_request: unknown, { responseHeader }: { responseHeader: Headers }) => {
        responseHeader.append('set-cookie', 'a=1')
        responseHeader.append('set-cookie', 'b=2')
        responseHeader.set('vary', 'Cookie')
        return { url: 'x'.repeat(3000) }
      },
    } as never)
    const handler = rpc.handlers().all
    const { createServer: createHttp2Server } = await import('node:http2')
    const server = createHttp2Server((request, response) => {
      response.setHeader('Vary', 'Origin')
      response.setHeader('Access-Control-Allow-Origin', '*')
      handler(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = http2Connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const stream = session.request({ ':path': '/things/a' })
    const [headers] = await once(stream, 'response')
    expect(headers).toMatchObject({
      ':status': 200,
      'access-control-allow-origin': '*',
      'set-cookie': ['a=1', 'b=2'],
    })
    expect(headers.vary.split(', ').sort()).toEqual(['Accept-Encoding', 'Cookie', 'Origin'])
    expect(Buffer.concat(await stream.toArray()).length).toBe(Number(headers['content-length']))
    session.close()
    server.close()
  })
})

describe('createRpc', () => {
  it('reports all mistakes of the schema at once', () => {
    const schema = compileSchema(`
      syntax = "proto3";
      package broken.v1;
      import "google/api/annotations.proto";
      service Broken {
        rpc One(M) returns (M) { option (google.api.http) = { get: "one" }; }
        rpc Two(M) returns (M) { option (google.api.http) = { post: "/two/{none}" body: "nothing" }; }
      }
      message M { string name = 1; }
    `)
    const rpc = createRpc()
    rpc.router.service(serviceOf(schema, 'broken.v1.Broken'), {})
    expect(() => rpc.handlers()).toThrow(RouteTableError)
    expect(() => rpc.handlers()).toThrow(
      /broken\.v1\.Broken\/One.*broken\.v1\.Broken\/Two.*nothing/s,
    )
  })

  it('serves single methods by their last registration', async () => {
    const [getThing] = Things.methods
    if (getThing === undefined) throw new Error('no method')
    const rpc = createRpc()
    rpc.router.service(Things, {}).rpc(getThing, (() => ({ name: 'rpc' })) as never)
    const handler = rpc.handlers().all
    const server = createServer((request, response) => handler(request, response)).listen(
      0,
      '127.0.0.1',
    )
    await once(server, 'listening')
    const response = await fetch(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/things/a`,
    )
    expect(await response.json()).toEqual({ name: 'rpc' })
    server.closeAllConnections()
    server.close()
  })

  it('passes unknown paths to another handler', async () => {
    const handler = createRpc().handlers().rest
    const server = createServer((request, response) =>
      handler(request, response, () => response.end('other')),
    )
    await once(server.listen(0, '127.0.0.1'), 'listening')
    expect(
      await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/none`)).text(),
    ).toBe('other')
    server.closeAllConnections()
    server.close()
  })

  it('throws for limits out of range', () => {
    expect(() => createRpc({ readMaxBytes: 0 })).toThrow(/readMaxBytes/)
  })
})
