import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { http2Preface } from '../../../../src/platform/http/listener/tls.ts'
import { holding, quickSweep, requestHttp2, useListeners } from './fixture.ts'
import {
  ack,
  connectRaw,
  endHeaders,
  endStream,
  frame,
  framesOf,
  frameType,
  getRequestHeaders,
  holdRequestHeaders,
} from './raw-client.ts'

const { start, connectHttp2 } = useListeners()

// No test waits this long: what has to end within it ends by itself.
const longGraceMs = 60_000

describe('close', () => {
  it('completes requests in progress, and refuses new connections', async () => {
    const { handler, next } = holding()
    const { url, connections, close } = await start({ handler })
    const http1 = await connectRaw(url, 'GET /hold/1 HTTP/1.1\r\nHost: a\r\n\r\n')
    const first = await next()
    const session = connectHttp2(url)
    const answer = requestHttp2(session, '/hold/2')
    const second = await next()

    const goaway = once(session, 'goaway')
    const closed = close(longGraceMs)
    await expect(connectRaw(url)).rejects.toThrow('ECONNREFUSED')
    await goaway
    first.response.end('one')
    second.response.end('two')

    expect(await http1.closed).toMatch(/^HTTP\/1\.1 200 .*Connection: close\r\n.*one/is)
    expect(await answer).toEqual({ status: 200, text: 'two' })
    await closed
    expect(connections()).toBe(0)
  })

  it('completes a response whose headers are already sent', async () => {
    const { handler, next } = holding()
    const { url, close } = await start({ handler })
    const client = await connectRaw(url, 'GET /hold HTTP/1.1\r\nHost: a\r\n\r\n')
    const { response } = await next()
    response.write('first,')
    await client.until('first,')
    const closed = close(longGraceMs)
    response.end('second')
    expect(await client.closed).toMatch(/Connection: keep-alive.*first,.*second.*0\r\n\r\n$/is)
    await closed
  })

  it('answers pipelined requests that arrived before, and closes after the last one', async () => {
    const { handler, next } = holding()
    const { url, close } = await start({ handler })
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
    const client = await connectRaw(url, get('/hold/1') + get('/hold/2'))
    const held = [await next(), await next()]
    const closed = close(longGraceMs)
    for (const { request, response } of held) response.end(`answer to ${request.url}`)
    const received = await client.closed
    expect(received).toContain('answer to /hold/1')
    expect(received).toContain('answer to /hold/2')
    await closed
  })

  it('reads the rest of the body of a request in progress', async () => {
    const { url, close } = await start()
    const client = await connectRaw(
      url,
      'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n',
    )
    await client.until('100 Continue')
    const closed = close(longGraceMs)
    client.socket.write('body')
    expect(await client.closed).toContain('POST /x body')
    await closed
  })

  it('sends a large response completely', async () => {
    const size = 16 * 1024 * 1024
    const { handler, next } = holding()
    const { url, close } = await start({ handler })
    const http1 = once(http.get(`${url}/hold`), 'response')
    const first = await next()
    const session = connectHttp2(url)
    const http2 = requestHttp2(session, '/hold')
    const second = await next()
    const closed = close(longGraceMs)
    first.response.end('x'.repeat(size))
    second.response.end('x'.repeat(size))
    const [response] = await http1
    expect((await text(response)).length).toBe(size)
    expect((await http2).text.length).toBe(size)
    await closed
  })

  it('reports to an HTTP/2 client which of its requests were not processed', async () => {
    const { handler, next } = holding()
    const { url, close } = await start({ handler })
    const client = await connectRaw(url)
    const ofType = (wanted: number) =>
      framesOf(client.received()).filter(({ type }) => type === wanted)
    client.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0)]))
    client.socket.write(frame(frameType.headers, endHeaders | endStream, 1, holdRequestHeaders))
    const { response } = await next()
    const closed = close(longGraceMs)
    await expect.poll(() => ofType(frameType.ping)).toHaveLength(1)
    client.socket.write(frame(frameType.headers, endHeaders | endStream, 3, getRequestHeaders))
    client.socket.write(frame(frameType.ping, ack, 0, ofType(frameType.ping)[0]?.payload))
    await expect.poll(() => ofType(frameType.goaway)).toHaveLength(2)
    expect(ofType(frameType.goaway).map(({ payload }) => payload.readUInt32BE(0))).toEqual([
      2 ** 31 - 1,
      1,
    ])
    response.end('last')
    expect(await client.closed).toContain('last')
    await closed
  })

  it('serves the first request of a connection that was just made', async () => {
    const { url, close } = await start()
    const http1 = await connectRaw(url)
    const http2 = await connectRaw(url)
    const session = connectHttp2(url)
    await requestHttp2(session, '/')
    const told = once(session, 'goaway')
    const closed = close(longGraceMs)
    await told
    http1.socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    http2.socket.write(
      Buffer.concat([
        http2Preface,
        frame(frameType.settings, 0, 0),
        frame(frameType.headers, endHeaders | endStream, 1, getRequestHeaders),
      ]),
    )
    expect(await http1.closed).toMatch(/^HTTP\/1\.1 200 .*Connection: close\r\n/is)
    await expect
      .poll(() => framesOf(http2.received()).map(({ type }) => type))
      .toContain(frameType.headers)
    http2.socket.destroy()
    await closed
  })

  it('closes idle connections at once', async () => {
    const { url, close } = await start()
    const agent = new http.Agent({ keepAlive: true })
    const [response] = await once(http.get(url, { agent }), 'response')
    response.resume()
    await once(response, 'end')
    const silent = await connectRaw(url)
    const undecided = await connectRaw(url, 'PRI * HT')
    const session = connectHttp2(url)
    await requestHttp2(session, '/')
    await close(longGraceMs)
    await Promise.all([silent.closed, undecided.closed])
    agent.destroy()
  })

  it('does not wait for an HTTP/2 peer that ignores GOAWAY', async () => {
    const { url, close } = await start({ limits: quickSweep })
    const client = await connectRaw(
      url,
      Buffer.concat([http2Preface, frame(frameType.settings, 0, 0)]).toString('latin1'),
    )
    await client.until('\0')
    client.socket.pause()
    await close(longGraceMs)
    client.socket.destroy()
  })

  it('destroys connections that are still open after the grace period', async () => {
    const { handler, next } = holding()
    const { url, connections, close } = await start({ handler })
    const http1 = await connectRaw(url, 'GET /hold HTTP/1.1\r\nHost: a\r\n\r\n')
    await next()
    const session = connectHttp2(url)
    const answer = requestHttp2(session, '/hold').catch(() => 'cut off')
    await next()
    await close(20)
    expect(await http1.closed).toBe('')
    expect(await answer).toBe('cut off')
    expect(connections()).toBe(0)
  })

  it('can be called again', async () => {
    const { close } = await start()
    await Promise.all([close(longGraceMs), close(longGraceMs)])
    await close(longGraceMs)
  })
})
