import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import { constants, connect as http2Connect } from 'node:http2'
import { gzipSync } from 'node:zlib'
import type { HandlerContext } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AnyRequest, Script, Served } from './things.ts'
import { rawExchange, serve } from './things.ts'

let served: Served
let served2: Served
const errors: unknown[] = []

/** How often the endless stream was asked for more, and whether it was closed. */
const endless = { pulled: 0, closed: () => {}, isClosed: Promise.resolve() }

const chunk = Buffer.alloc(16 * 1024, 'x')

const things: Script = {
  async *WatchThings({ q, limit }: AnyRequest, context: HandlerContext) {
    if (q === 'early') throw new ConnectError('not today', Code.Unavailable)
    context.responseHeader.set('x-watch', 'yes')
    for (let i = 1; i <= limit; i++) yield { name: `${i}` }
    context.responseTrailer.set('x-end', 'done')
    if (q === 'late') throw new ConnectError('50% \u00fc', Code.Aborted, { 'x-why': '1' })
    if (q === 'crash') throw new Error('a secret')
    if (q === 'hang') await new Promise(() => {})
  },
  async *DownloadParts({ name, depth }: AnyRequest) {
    if (name === 'empty') return
    if (name === 'endless') {
      try {
        for (;;) {
          endless.pulled++
          yield { data: chunk }
        }
      } finally {
        endless.closed()
      }
    }
    yield { data: new Uint8Array() }
    yield { data: new Uint8Array(), contentType: 'text/x-parts' }
    for (let i = 0; i < depth; i++)
      yield { data: Buffer.from('part;'), contentType: 'ignored/type' }
    if (name === 'cut') throw new ConnectError('lost', Code.DataLoss)
  },
  async Upload(requests: AsyncIterable<AnyRequest>) {
    let size = 0
    let count = 0
    let name = ''
    const types = new Set<string>()
    for await (const { content, name: given, mode } of requests) {
      if (given !== '') name += `${given} ${mode}`
      if (given === 'impatient') return { name: 'enough' }
      size += content?.data.length ?? 0
      types.add(content?.contentType ?? '')
      count++
    }
    return { name, size: BigInt(size), url: count > 0 ? 'some' : 'none', tagNames: [...types] }
  },
}

beforeAll(async () => {
  const options = { onError: (error: unknown) => errors.push(error), readMaxBytes: 1_000_000 }
  served = await serve({ things }, options)
  served2 = await serve({ things }, options)
})
afterAll(() => Promise.all([served.close(), served2.close()]))

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(served.url + path, { headers })

/** Node's client shows trailers and incomplete answers. */
async function incoming(
  path: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  const [response] = await once(httpRequest(served.url + path, { headers }).end(), 'response')
  return response
}

describe('a stream of messages', () => {
  it('has one line of JSON per message', async () => {
    const response = await get('/things:watch?limit=2')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/x-ndjson')
    expect(response.headers.get('x-watch')).toBe('yes')
    expect(response.headers.get('vary')).toBe('Accept')
    expect(await response.text()).toBe('{"name":"1"}\n{"name":"2"}\n')
  })

  it('consists of server-sent events if the client accepts them', async () => {
    const response = await get('/things:watch?limit=2&q=late', { accept: 'text/event-stream' })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    expect(await response.text()).toBe(
      'data: {"name":"1"}\n\ndata: {"name":"2"}\n\nevent: error\ndata: {"code":10,"message":"50% \u00fc"}\n\n',
    )
  })

  it('sends each message as soon as it exists', async () => {
    const response = await incoming('/things:watch?limit=1&q=hang')
    const [first] = await once(response, 'data')
    expect(String(first)).toBe('{"name":"1"}\n')
    response.destroy()
  })

  it('is an empty 200 without messages', async () => {
    const response = await get('/things:watch')
    expect([
      response.status,
      await response.text(),
      response.headers.get('content-length'),
    ]).toEqual([200, '', '0'])
  })

  it('is an ordinary error if it fails before the first message', async () => {
    const response = await get('/things:watch?q=early')
    expect([response.status, await response.json()]).toEqual([
      503,
      { code: 14, message: 'not today' },
    ])
  })

  it('ends with an error line if it fails after the first message', async () => {
    expect(await (await get('/things:watch?limit=1&q=late')).text()).toBe(
      '{"name":"1"}\n{"@error":{"code":10,"message":"50% \u00fc"}}\n',
    )
    errors.length = 0
    expect(await (await get('/things:watch?limit=1&q=crash')).text()).toContain('"internal error"')
    expect(errors).toEqual([new Error('a secret')])
  })

  it('has trailers if the client accepts them', async () => {
    const complete = await incoming('/things:watch?limit=1', { te: 'trailers' })
    await complete.toArray()
    expect(complete.trailers).toEqual({ 'x-end': 'done' })
    const failed = await incoming('/things:watch?limit=1&q=late', { te: 'trailers' })
    await failed.toArray()
    expect(failed.trailers).toEqual({
      'x-why': '1',
      'grpc-status': '10',
      'grpc-message': '50%25 %C3%BC',
    })
    const without = await incoming('/things:watch?limit=1&q=late')
    await without.toArray()
    expect(without.trailers).toEqual({})
  })

  it('ends at its deadline', async () => {
    const response = await get('/things:watch?limit=1&q=hang', { 'connect-timeout-ms': '30' })
    expect(await response.text()).toBe(
      '{"name":"1"}\n{"@error":{"code":4,"message":"the operation timed out"}}\n',
    )
  })

  it('ends at shutdown', async () => {
    const shutdown = new AbortController()
    const stopping = await serve({ things }, { shutdownSignal: shutdown.signal })
    const response = await fetch(`${stopping.url}/things:watch?limit=1&q=hang`)
    shutdown.abort(new ConnectError('stopping', Code.Unavailable))
    expect(await response.text()).toBe(
      '{"name":"1"}\n{"@error":{"code":14,"message":"stopping"}}\n',
    )
    await stopping.close()
  })

  it('has headers and no content for HEAD', async () => {
    const response = await fetch(`${served.url}/things:watch?limit=5`, { method: 'HEAD' })
    expect([response.status, response.headers.get('x-watch'), await response.text()]).toEqual([
      200,
      'yes',
      '',
    ])
  })
})

describe('a stream of raw content', () => {
  it('has the bytes, and the first content type that a message names', async () => {
    const response = await get('/things/a/parts?depth=3')
    expect(response.headers.get('content-type')).toBe('text/x-parts')
    expect(await response.text()).toBe('part;part;part;')
  })

  it('may be empty', async () => {
    const response = await get('/things/empty/parts')
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(response.headers.get('content-type')).toBe('application/octet-stream')
  })

  it('sends earlier chunks and closes the HTTP/1.1 connection when it fails', async () => {
    const request = 'GET /things/cut/parts?depth=2 HTTP/1.1\r\nHost: h\r\n\r\n'
    const text = await rawExchange(served.port, request)
    expect(text).toContain('part;')
    expect(text).not.toContain('0\r\n\r\n')
  })

  it('resets the HTTP/2 stream when it fails', async () => {
    const session = http2Connect(served2.url)
    const stream = session.request({ ':path': '/things/cut/parts?depth=2' })
    stream.resume()
    await expect(once(stream, 'end')).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR)
    session.close()
  })

  it.each([
    [
      '1.1',
      async () => {
        const response = await incoming('/things/endless/parts')
        return () => response.destroy()
      },
    ],
    [
      '2',
      async () => {
        const session = http2Connect(served2.url)
        const stream = session.request({ ':path': '/things/endless/parts' })
        await once(stream, 'response')
        return () => stream.close(constants.NGHTTP2_CANCEL, () => session.close())
      },
    ],
  ])(
    'is pulled as fast as the client reads, and closed when it leaves, over HTTP/%s',
    async (_, open) => {
      endless.pulled = 0
      endless.isClosed = new Promise((resolve) => {
        endless.closed = resolve
      })
      const leave = await open()
      // The client reads nothing, so the server stops asking, however often it gets the chance to.
      for (let before = -1; before !== endless.pulled; ) {
        before = endless.pulled
        for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve))
      }
      leave()
      await endless.isClosed
    },
  )
})

describe('an upload in chunks', () => {
  const post = (path: string, init: RequestInit) =>
    fetch(served.url + path, { method: 'POST', ...init })

  it('arrives as messages, the first of which has path and query', async () => {
    const body = 'x'.repeat(300_000)
    const response = await post('/things/a/content?mode=6', {
      body,
      headers: { 'content-type': 'text/x-up' },
    })
    expect(await response.json()).toEqual({
      name: 'a 6',
      size: '300000',
      url: 'some',
      tagNames: ['text/x-up'],
    })
  })

  it('may be larger than the message limit', async () => {
    const response = await post('/things/a/content', { body: 'x'.repeat(2_000_000) })
    expect(await response.json()).toMatchObject({ size: '2000000' })
  })

  it('may be empty', async () => {
    const response = await post('/things/a/content', {})
    expect(await response.json()).toMatchObject({ name: 'a 0', url: 'some' })
  })

  it('may be compressed, and gets 400 if it does not decompress', async () => {
    const headers = { 'content-encoding': 'gzip' }
    const whole = gzipSync('x'.repeat(300_000))
    const good = await post('/things/a/content', { body: new Uint8Array(whole), headers })
    expect(await good.json()).toMatchObject({ size: '300000' })
    const broken = await post('/things/a/content', {
      body: new Uint8Array(whole.subarray(0, 100)),
      headers,
    })
    expect([broken.status, await broken.json()]).toEqual([
      400,
      { code: 3, message: 'malformed gzip content' },
    ])
  })

  it('may get its response before it is complete', async () => {
    const head =
      'POST /things/impatient/content HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'
    const text = await rawExchange(served.port, head, '{"name":"enough"}')
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    // What the client goes on to send is no request.
    expect(text.toLowerCase()).toContain('connection: close')
  })
})
