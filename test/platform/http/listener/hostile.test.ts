import { once } from 'node:events'
import http2 from 'node:http2'
import { describe, expect, it } from 'vitest'
import { http2Preface } from '../../../../src/platform/http/listener/tls.ts'
import { holding, quickSweep, requestHttp2, useListeners } from './fixture.ts'
import {
  connectRaw,
  endHeaders,
  endStream,
  frame,
  framesOf,
  frameType,
  getRequestHeaders,
  postRequestHeaders,
  type RawClient,
} from './raw-client.ts'

const { start, connectHttp2 } = useListeners()
const soon = 100
const cancelCode = Buffer.from([0, 0, 0, http2.constants.NGHTTP2_CANCEL])
const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM } = http2.constants

/** The server still answers others. */
async function expectAlive(url: string): Promise<void> {
  const client = await connectRaw(url, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  expect(await client.closed).toMatch(/^HTTP\/1\.1 200 /)
}

/**
 * Asks until the answer is as expected; on a busy machine that may take longer than the second
 * vitest allows.
 */
const eventually = <T>(ask: () => T) => expect.poll(ask, { interval: 5 })

describe('a client that does not complete a request', () => {
  it.each([
    ['nothing', ''],
    ['a part of the HTTP/2 preface', 'PRI * HT'],
  ])('is disconnected after %s', async (_, bytes) => {
    const { url } = await start({ limits: { ...quickSweep, headersTimeoutMs: soon } })
    const client = await connectRaw(url)
    client.socket.write(bytes)
    expect(await client.closed).toBe('')
    await expectAlive(url)
  })

  it('is forgotten when it disconnects within the preface', async () => {
    const { url } = await start()
    const client = await connectRaw(url)
    client.socket.end('PRI')
    expect(await client.closed).toBe('')
  })

  it('receives 408 if HTTP/1.1 headers arrive too slowly', async () => {
    const { url } = await start({ limits: { ...quickSweep, headersTimeoutMs: soon } })
    const client = await connectRaw(url)
    client.socket.write('GET / HTTP/1.1\r\n')
    const trickle = setInterval(() => client.socket.write('x-a: b\r\n'), 5)
    expect(await client.closed).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n/)
    clearInterval(trickle)
    await expectAlive(url)
  })

  it('receives 408 if the headers of a later request arrive too slowly', async () => {
    const { url } = await start({
      limits: { ...quickSweep, headersTimeoutMs: soon, keepAliveTimeoutMs: soon },
    })
    const client = await connectRaw(url)
    client.socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n')
    await client.until('GET /1')
    client.socket.write('GET /2 HTTP/1.1\r\n')
    const trickle = setInterval(() => client.socket.write('x-a: b\r\n'), 5)
    expect(await client.closed).toContain('HTTP/1.1 408 ')
    clearInterval(trickle)
  })

  it('is disconnected without a response when it is idle after a request', async () => {
    // Far beyond the wait below, were it not for node's keep-alive timer.
    const { url } = await start({ limits: { keepAliveTimeoutMs: 1 } })
    const client = await connectRaw(url)
    client.socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n')
    expect((await client.closed).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  })

  it('receives GOAWAY when its session has no streams', async () => {
    const { url } = await start({ limits: { ...quickSweep, sessionIdleTimeoutMs: soon } })
    const session = connectHttp2(url)
    await requestHttp2(session, '/')
    const [code] = await once(session, 'goaway')
    expect(code).toBe(http2.constants.NGHTTP2_NO_ERROR)
    await once(session, 'close')
  })

  it('is disconnected if it does not close after GOAWAY', async () => {
    const { url } = await start({ limits: { ...quickSweep, sessionIdleTimeoutMs: soon } })
    const client = await connectRaw(url)
    client.socket.allowHalfOpen = true
    client.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0)]))
    const pings = setInterval(
      () => client.socket.write(frame(frameType.ping, 0, 0, Buffer.alloc(8))),
      5,
    )
    expect(framesOf(await client.closed).at(-1)?.type).toBe(frameType.goaway)
    clearInterval(pings)
  })
})

describe('garbage', () => {
  it.each([
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\r\n\r\n', 400],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nx: \0\r\n\r\n', 400],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
    ], // smuggling
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ], // smuggling
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost : a\r\n\r\n', 400], // smuggling
    ['40 KiB of headers', `GET / HTTP/1.1\r\nHost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
    [
      'a bad chunk size',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
    ],
  ])('with %s is refused and the connection closed', async (_, bytes, status) => {
    const { url, connections } = await start({ limits: quickSweep })
    const client = await connectRaw(url)
    client.socket.write(bytes, 'latin1')
    expect(await client.closed).toMatch(
      new RegExp(`^HTTP/1\\.1 ${status} .*Connection: close\r\n`, 'is'),
    )
    await expectAlive(url)
    await eventually(connections).toBe(0)
  })

  it('after a request in progress ends the connection without a response', async () => {
    const { handler, next } = holding()
    const { url } = await start({ handler, limits: quickSweep })
    const client = await connectRaw(url)
    client.socket.write('GET /hold HTTP/1.1\r\nHost: a\r\n\r\n\x01\x02\x03\r\n\r\n')
    const held = await next()
    expect(await client.closed).toBe('')
    held.response.end()
  })

  it('after the HTTP/2 preface ends the session', async () => {
    const { url } = await start({ limits: quickSweep })
    const client = await connectRaw(url)
    client.socket.write(Buffer.concat([http2Preface, Buffer.alloc(200, 0xff)]))
    await client.closed
    await expectAlive(url)
  })
})

describe('a body that arrives too slowly', () => {
  it('causes 408 over HTTP/1.1, but a slow handler does not', async () => {
    const { handler, next } = holding()
    const { url } = await start({ handler, limits: { ...quickSweep, stallTimeoutMs: soon } })
    const patient = await connectRaw(url)
    patient.socket.write('POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody')
    const held = await next()
    for (let i = 0; i < 3; i++) {
      const stalled = await connectRaw(url)
      stalled.socket.write('POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo')
      await next()
      expect(await stalled.closed).toMatch(/^HTTP\/1\.1 408 /)
    }
    held.response.end('at last')
    expect(await patient.until('at last')).toMatch(/^HTTP\/1\.1 200 /)
    patient.socket.destroy()
  })

  it('causes 408 if it arrives byte by byte', async () => {
    const { handler } = holding()
    const { url } = await start({
      handler,
      limits: { ...quickSweep, stallTimeoutMs: soon, minReceivedBytes: 1000 },
    })
    const client = await connectRaw(url)
    client.socket.write('POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n')
    const trickle = setInterval(() => client.socket.write('x'), 5)
    expect(await client.closed).toMatch(/^HTTP\/1\.1 408 /)
    clearInterval(trickle)
  })

  it('is not an error of the client if the handler does not read', async () => {
    const waiting: (() => void)[] = []
    const { url } = await start({
      limits: { ...quickSweep, stallTimeoutMs: soon },
      handler(request, response) {
        request.on('end', () => response.end('read'))
        if (request.url === '/slow') waiting.push(() => request.resume())
        else request.resume()
      },
    })
    const slow = await connectRaw(url)
    const size = 4 * 1024 * 1024
    slow.socket.write(`POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`)
    slow.socket.write(Buffer.alloc(size))
    await eventually(() => waiting.length).toBe(1)
    const stalled = await connectRaw(url)
    stalled.socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo')
    await stalled.closed
    for (const read of waiting) read()
    await slow.until('read')
    slow.socket.destroy()
  })

  it('resets its own HTTP/2 stream only', async () => {
    const { handler, next } = holding()
    const { url } = await start({
      handler,
      limits: { ...quickSweep, stallTimeoutMs: soon, minReceivedBytes: 0 },
    })
    const session = connectHttp2(url)
    const answer = requestHttp2(session, '/hold')
    const held = await next()
    const stalled = session.request({ ':method': 'POST', ':path': '/hold' })
    stalled.on('error', () => {})
    stalled.write('bo')
    await once(stalled, 'close')
    expect(stalled.rstCode).toBe(NGHTTP2_CANCEL)
    held.response.end('at last')
    expect(await answer).toEqual({ status: 200, text: 'at last' })
  })

  it('ends the session if all frames arrive byte by byte', async () => {
    const { handler } = holding()
    const { url } = await start({
      handler,
      limits: { ...quickSweep, stallTimeoutMs: soon, minReceivedBytes: 1000 },
    })
    const client = await connectRaw(url)
    client.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0)]))
    client.socket.write(frame(frameType.headers, endHeaders, 1, postRequestHeaders))
    const trickle = setInterval(
      () => client.socket.write(frame(frameType.data, 0, 1, Buffer.from('x'))),
      5,
    )
    const goaway = framesOf(await client.closed).find(({ type }) => type === frameType.goaway)
    expect(goaway?.errorCode).toBe(NGHTTP2_ENHANCE_YOUR_CALM)
    clearInterval(trickle)
  })

  it('is not required after a bidirectional call has started its response', async () => {
    const { handler, next } = holding()
    const { url } = await start({ handler, limits: { ...quickSweep, stallTimeoutMs: soon } })
    const session = connectHttp2(url)
    const call = session.request({ ':method': 'POST', ':path': '/hold' })
    call.setEncoding('utf8')
    call.write('hello')
    const { response } = await next()
    response.write('first,')
    await once(call, 'data')
    for (let i = 0; i < 3; i++) {
      const stalled = await connectRaw(url)
      stalled.socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo')
      await stalled.closed
    }
    response.end('second')
    const [chunk] = await once(call, 'data')
    expect(chunk).toBe('second')
    call.end()
  })
})

describe('a client that does not read', () => {
  const large = Buffer.alloc(32 * 1024 * 1024)

  it('loses its HTTP/1.1 connection', async () => {
    const { url, connections } = await start({
      limits: { ...quickSweep, stallTimeoutMs: soon },
      handler: (_, response) => response.end(large),
    })
    const client = await connectRaw(url)
    client.socket.pause()
    client.socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await eventually(connections).toBe(0)
    client.socket.destroy()
  })

  it('loses its HTTP/2 stream', async () => {
    const { url } = await start({
      limits: { ...quickSweep, stallTimeoutMs: soon },
      handler: (_, response) => response.end(large),
    })
    const client = await connectRaw(url)
    const noWindow = Buffer.from([0, 4, 0, 0, 0, 0])
    client.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0, noWindow)]))
    client.socket.write(frame(frameType.headers, endHeaders | endStream, 1, getRequestHeaders))
    await eventually(
      () => framesOf(client.received()).find(({ type }) => type === frameType.rstStream)?.errorCode,
    ).toBe(NGHTTP2_CANCEL)
    client.socket.destroy()
  })
})

describe('a client that sends GOAWAY', () => {
  const goaway = frame(frameType.goaway, 0, 0, Buffer.alloc(8))
  const request = (id: number) =>
    frame(frameType.headers, endHeaders | endStream, id, getRequestHeaders)

  // Under node 20 alone this ends the process, see `Http2Conversation.drain`.
  it.each([
    ['first', [goaway, request(1), request(3)]],
    ['after a request', [request(1), goaway, request(3)]],
    ['twice', [goaway, goaway, request(1), goaway, request(3)]],
  ])('%s, followed by more in the same packet, is disconnected', async (_, frames) => {
    const { url } = await start({ limits: quickSweep })
    for (let i = 0; i < 50; i++) {
      const client = await connectRaw(url)
      client.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0), ...frames]))
      await client.closed
    }
    await expectAlive(url)
  })
})

describe('a half-open HTTP/2 peer', () => {
  it('is disconnected if it does not answer a ping, and stays open otherwise', async () => {
    const { handler, next } = holding()
    const limits = { ...quickSweep, pingAfterMs: soon, pingTimeoutMs: soon }
    const { url } = await start({ handler, limits })
    const alive = connectHttp2(url)
    const answer = requestHttp2(alive, '/hold')
    const held = await next()
    for (let i = 0; i < 3; i++) {
      const dead = await connectRaw(url)
      dead.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0)]))
      dead.socket.write(frame(frameType.headers, endHeaders | endStream, 1, getRequestHeaders))
      // The path of this request is `/`, which is answered: a second stream is held open by its
      // missing end.
      dead.socket.write(frame(frameType.headers, endHeaders, 3, postRequestHeaders))
      expect(
        framesOf(await dead.closed).filter(({ type }) => type === frameType.ping),
      ).toHaveLength(1)
    }
    held.response.end('alive')
    expect((await answer).text).toBe('alive')
  })
})

describe('a flood', () => {
  it('of idle connections evicts its own connections and no busy ones', async () => {
    const { handler, next } = holding()
    const { url, connections } = await start({ handler, limits: { maxConnections: 4 } })
    const working = await connectRaw(url)
    working.socket.write('GET /hold HTTP/1.1\r\nHost: a\r\n\r\n')
    const session = connectHttp2(url)
    const answer = requestHttp2(session, '/hold')
    const held = [await next(), await next()]
    const idle: RawClient[] = []
    for (let i = 0; i < 20; i++) idle.push(await connectRaw(url))
    await Promise.all(idle.slice(0, 18).map(({ closed }) => closed))
    expect(connections()).toBe(4)
    await expectAlive(url)
    for (const { response } of held) response.end('done')
    await working.until('done')
    expect((await answer).text).toBe('done')
    for (const { socket } of [working, ...idle]) socket.destroy()
  })

  it('of busy connections is refused above the limit', async () => {
    const { handler, next } = holding()
    const { url } = await start({ handler, limits: { maxConnections: 1 } })
    const working = await connectRaw(url)
    working.socket.write('GET /hold HTTP/1.1\r\nHost: a\r\n\r\n')
    const held = await next()
    const refused = await connectRaw(url)
    expect(await refused.closed).toBe('')
    held.response.end('done')
    await working.until('done')
    working.socket.destroy()
  })

  // CVE-2023-44487
  it.each([
    ['in one breath', 5000],
    ['in bursts that honest clients may send', 100],
  ])('of streams reset at once, %s, ends the session', async (_, burst) => {
    const { url } = await start({ limits: quickSweep })
    const client = await connectRaw(url)
    const request = (id: number) =>
      frame(frameType.headers, endHeaders | endStream, id, getRequestHeaders)
    client.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0)]))
    for (let begun = 0; begun < 5000 && !client.socket.destroyed; begun += burst) {
      const ids = Array.from({ length: burst }, (_, i) => 2 * (begun + i) + 1)
      client.socket.write(
        Buffer.concat(
          ids.flatMap((id) => [request(id), frame(frameType.rstStream, 0, id, cancelCode)]),
        ),
      )
      if (burst < 5000) await expectAlive(url)
    }
    await client.closed
    await expectAlive(url)
  })

  it('of resets of one closed stream ends the session', async () => {
    const { url } = await start({
      limits: { ...quickSweep, pingAfterMs: soon, pingTimeoutMs: soon },
    })
    const client = await connectRaw(url)
    client.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0)]))
    client.socket.write(frame(frameType.headers, endHeaders | endStream, 1, getRequestHeaders))
    for (let i = 0; i < 5000; i++) client.socket.write(frame(frameType.rstStream, 0, 1, cancelCode))
    await client.closed
    await expectAlive(url)
  })

  // CVE-2024-27316
  it('of CONTINUATION frames ends the session', async () => {
    const { url } = await start({ limits: quickSweep })
    const client = await connectRaw(url)
    client.socket.write(Buffer.concat([http2Preface, frame(frameType.settings, 0, 0)]))
    client.socket.write(frame(frameType.headers, 0, 1, getRequestHeaders))
    // A literal field without indexing, `x: y`.
    const field = Buffer.from([0x00, 0x01, 0x78, 0x01, 0x79])
    for (let i = 0; i < 1000; i++) client.socket.write(frame(frameType.continuation, 0, 1, field))
    await client.closed
    await expectAlive(url)
  })

  it.each([
    ['large', { 'x-large': 'y'.repeat(40_000) }],
    ['many', Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, 'y']))],
  ])('of headers on HTTP/2, %s, is refused', async (_, headers) => {
    const { url } = await start({ limits: quickSweep })
    const session = connectHttp2(url)
    // The first answer shows that the settings were exchanged; limits bind a client that knows
    // them.
    await requestHttp2(session, '/')
    const stream = session.request(headers)
    const [error] = await once(stream, 'error')
    expect(error.message).toContain('ENHANCE_YOUR_CALM')
    await expectAlive(url)
  })
})
