import { once } from 'node:events'
import { constants, connect as http2Connect } from 'node:http2'
import { connect } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { AnyRequest, Served } from './things.ts'
import { rawExchange, serve } from './things.ts'

const readMaxBytes = 10_000
let served: Served
let served2: Served
let calls = 0
const errors: unknown[] = []

const scripts = {
  things: {
    GetThing: ({ name }: AnyRequest) => {
      calls++
      return { name }
    },
    ReplaceThing: ({ name }: AnyRequest) => {
      calls++
      return { name }
    },
    Echo: (value: AnyRequest) => value,
    Upload: async (requests: AsyncIterable<AnyRequest>) => {
      for await (const _ of requests) calls++
      return {}
    },
  },
}

beforeAll(async () => {
  const options = { readMaxBytes, onError: (error: unknown) => errors.push(error) }
  served = await serve(scripts, { ...options, maxHeaderSize: 64 * 1024 })
  served2 = await serve(scripts, options)
})
afterAll(() => Promise.all([served.close(), served2.close()]))

afterEach(async () => {
  // Whatever a test did, nothing unexpected happened, and the next client is served.
  expect(errors).toEqual([])
  expect(await (await fetch(`${served.url}/things/alive`)).json()).toEqual({ name: 'alive' })
})

const put = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(`${served.url}/things/a`, {
    method: 'PUT',
    body,
    headers: { 'content-type': 'application/json', ...headers },
  })

/**
 * The status, and the body of the answer to a raw request whose connection the server is told to
 * close.
 */
async function statusOf(target: string, method = 'GET') {
  const text = await rawExchange(
    served.port,
    `${method} ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
  )
  return { status: Number(text.slice(9, 12)), body: text.slice(text.indexOf('\r\n\r\n') + 4) }
}

describe('a request target', () => {
  it.each([
    // Clients would resolve the dots; here they are segments like others.
    ['/things/..', 200, '{"name":".."}'],
    ['/things/%2e%2E%2Fetc', 200, '{"name":"../etc"}'],
    ['/things/a/../b', 404, undefined],
    ['/things/', 404, undefined],
    ['//things/a', 404, undefined],
    ['/things//a', 404, undefined],
    ['/things/%', 400, undefined],
    ['/things/%zz', 400, undefined],
    ['/things/%ff', 400, undefined],
    ['/things/%252F', 200, '{"name":"%2F"}'],
    ['/things/%00', 200, '{"name":"\\u0000"}'],
    ['/things/a?depth=%ff', 400, undefined],
    ['/things/a?depth=1&depth=2', 400, undefined],
    ['/things/a?__proto__=1&constructor=2', 200, '{"name":"a"}'],
    ['/things/__proto__', 200, '{"name":"__proto__"}'],
    ['http://other.test/things/a', 200, '{"name":"a"}'],
    ['*', 404, undefined],
    [`/things/a?${'x&'.repeat(1001)}`, 400, undefined],
    [`/${'/'.repeat(10_000)}`, 404, undefined],
    [`/things/${'%41'.repeat(5000)}`, 200, `{"name":"${'A'.repeat(5000)}"}`],
    [`/things/${'a'.repeat(16 * 1024)}`, 414, undefined],
  ])('%.40s is %d', async (target, status, body) => {
    const answer = await statusOf(target)
    expect(answer.status).toBe(status)
    if (body !== undefined) expect(answer.body).toBe(body)
    else
      expect(JSON.parse(answer.body)).toMatchObject({
        code: expect.any(Number),
        message: expect.any(String),
      })
  })

  it('with an unsupported method gets the list of methods', async () => {
    const text = await rawExchange(
      served.port,
      'PATCH /things/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n',
    )
    expect(text).toMatch(/^HTTP\/1\.1 405 /)
    expect(text).toMatch(/\r\nallow: DELETE, GET, HEAD, OPTIONS, PUT\r\n/i)
  })
})

describe('content', () => {
  const deep = (depth: number) => `${'{"inner":'.repeat(depth)}{}${'}'.repeat(depth)}`

  it.each([
    ['no JSON', '{'],
    ['two values', '{} {}'],
    ['another type', '[]'],
    ['a wrong field', '{"size":"x"}'],
    ['a number out of range', '{"size":1e400}'],
    ['an array nested 100,000 times', `{"unknown":${'['.repeat(4900)}`],
    ['nesting over the limit', deep(101)],
  ])('with %s is 400', async (_, body) => {
    const response = await put(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 3 })
  })

  it('nested 100,000 times is 400 below the size limit', async () => {
    const roomy = await serve(scripts, { onError: (error) => errors.push(error) })
    for (const body of [
      '['.repeat(100_000),
      deep(100_000),
      '['.repeat(100_000) + ']'.repeat(100_000),
    ]) {
      for (const path of ['/echo', '/things/a']) {
        const init = {
          method: path === '/echo' ? 'POST' : 'PUT',
          body,
          headers: { 'content-type': 'application/json' },
        }
        expect((await fetch(roomy.url + path, init)).status).toBe(400)
      }
    }
    await roomy.close()
  })

  it.each([
    ['invalid UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['UTF-16', new Uint8Array(Buffer.from('{}', 'utf16le'))],
  ])('in %s is 400', async (_, body) => {
    expect((await put(body)).status).toBe(400)
  })

  it('with `__proto__` is treated as data', async () => {
    const init = {
      method: 'POST',
      body: '{"__proto__":{"a":1}}',
      headers: { 'content-type': 'application/json' },
    }
    expect(await (await fetch(`${served.url}/echo`, init)).text()).toBe('{"__proto__":{"a":1}}')
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1'])(
    'of type %s is 415 with what is taken',
    async (contentType) => {
      const response = await put('{}', { 'content-type': contentType })
      expect(response.status).toBe(415)
      expect(response.headers.get('accept')).toBe('application/json, application/*+json')
      expect(await response.json()).toMatchObject({ code: 3 })
    },
  )

  it('of the wrong type and unknown length is 415', async () => {
    const head =
      'PUT /things/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: text/plain\r\n'
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`
    expect(await rawExchange(served.port, `${chunked}2\r\n{}\r\n0\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 415 /,
    )
    expect(await rawExchange(served.port, `${chunked}0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('in an unknown coding is 415 with the supported codings', async () => {
    const response = await put('{}', { 'content-encoding': 'zstd' })
    expect(response.status).toBe(415)
    expect(response.headers.get('accept-encoding')).toBe('br, gzip, identity')
  })

  it.each([
    ['gzip that is none', 'gzip', new Uint8Array([1, 2, 3])],
    ['gzip cut short', 'gzip', new Uint8Array(gzipSync('{"name":"a"}').subarray(0, 20))],
    ['brotli that is none', 'br', new Uint8Array([1, 2, 3])],
    ['brotli cut short', 'br', new Uint8Array(brotliCompressSync('{"name":"a"}').subarray(0, 8))],
  ])('in %s is 400', async (_, coding, body) => {
    const response = await put(body, { 'content-encoding': coding })
    expect([response.status, await response.json()]).toEqual([
      400,
      { code: 3, message: `malformed ${coding} content` },
    ])
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('in %s that exceeds the limit decompressed is 413', async (coding, compress) => {
    const bomb = new Uint8Array(compress(Buffer.alloc(5_000_000, ' ')))
    expect(bomb.length).toBeLessThan(readMaxBytes)
    const response = await put(bomb, { 'content-encoding': coding })
    expect([response.status, await response.json()]).toMatchObject([413, { code: 8 }])
  })
})

describe('content over the limit', () => {
  it('is rejected without reading if Content-Length says so', async () => {
    const head = `PUT /things/a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${readMaxBytes + 1}\r\n\r\n`
    const text = await rawExchange(served.port, head, '}')
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    // Otherwise the content would be taken for the next request.
    expect(text.toLowerCase()).toContain('connection: close')
  })

  it('is rejected at the limit if its length is unknown', async () => {
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`
    const head =
      'PUT /things/a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const text = await rawExchange(served.port, head + chunk.repeat(3), '}')
    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text.toLowerCase()).toContain('connection: close')
  })

  it('gets its response after clients have sent all of it', async () => {
    const response = await put('x'.repeat(3_000_000))
    expect([response.status, await response.json()]).toMatchObject([413, { code: 8 }])
  })

  it('closes the stream and keeps the session over HTTP/2', async () => {
    const session = http2Connect(served2.url)
    const stream = session.request({
      ':path': '/things/a',
      ':method': 'PUT',
      'content-type': 'application/json',
    })
    stream.write('x'.repeat(readMaxBytes + 1))
    const [headers] = await once(stream, 'response')
    expect(headers[':status']).toBe(413)
    stream.resume()
    await once(stream, 'close')
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR)
    const next = session.request({ ':path': '/things/b' })
    expect(JSON.parse(Buffer.concat(await next.toArray()).toString())).toEqual({ name: 'b' })
    session.close()
  })

  it('is skipped for an RPC without content, and the connection stays open', async () => {
    const request = (name: string, body: string) =>
      `GET /things/${name} HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const text = await rawExchange(
      served.port,
      request('a', 'x'.repeat(5000)) + request('b', ''),
      '{"name":"b"}',
    )
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  })

  it('ends the connection if endless content is sent to an RPC without content', async () => {
    for (const [path, status] of [
      ['/things/a', 200],
      ['/none', 404],
    ] as const) {
      const head = `GET ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n`
      const text = await rawExchange(served.port, head, '}')
      expect(text).toContain(`HTTP/1.1 ${status} `)
      expect(text.toLowerCase()).toContain('connection: close')
    }
  })
})

describe('a client that misbehaves', () => {
  it('does not reach the implementation with incomplete content', async () => {
    calls = 0
    const socket = connect(served.port, '127.0.0.1')
    socket.write('PUT /things/a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{"name":')
    await once(socket, 'connect')
    const other = await fetch(`${served.url}/things/b`)
    expect(other.status).toBe(200)
    socket.destroy()
    await once(socket, 'close')
    expect(calls).toBe(1)
  })

  it('gets 504 for content that arrives after its deadline', async () => {
    const head =
      'PUT /things/a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\nConnect-Timeout-Ms: 30\r\n\r\n{'
    const text = await rawExchange(served.port, head, '}')
    expect(text).toMatch(/^HTTP\/1\.1 504 /)
  })

  it('ends an upload by disconnecting', async () => {
    calls = 0
    const socket = connect(served.port, '127.0.0.1')
    socket.write(
      'POST /things/a/content HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
    )
    while (calls === 0) await new Promise((resolve) => setImmediate(resolve))
    socket.destroy()
    await once(socket, 'close')
  })
})
