import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { listen } from '../../../../src/platform/http/listener/index.ts'
import { http2Preface } from '../../../../src/platform/http/listener/tls.ts'
import { echo, requestHttp2, useListeners } from './fixture.ts'
import {
  connectRaw,
  endHeaders,
  endStream,
  frame,
  framesOf,
  frameType,
  getRequestHeaders,
} from './raw-client.ts'

const { start, connectHttp2 } = useListeners()

describe('one port in clear text', () => {
  it('speaks HTTP/1.1', async () => {
    const { url } = await start()
    const response = await fetch(`${url}/a?b`, { method: 'POST', body: 'text' })
    expect(await response.text()).toBe('POST /a?b text')
  })

  it('speaks HTTP/2 to a client with prior knowledge', async () => {
    const { url } = await start()
    const session = connectHttp2(url)
    const [first, second] = await Promise.all([
      requestHttp2(session, '/one'),
      requestHttp2(session, '/two', 'text'),
    ])
    expect(first).toEqual({ status: 200, text: 'GET /one ' })
    expect(second).toEqual({ status: 200, text: 'POST /two text' })
  })

  it('answers the keep-alive pings of gRPC clients', async () => {
    const { url } = await start()
    const session = connectHttp2(url)
    await once(session, 'connect')
    const payload = Buffer.from('grpcping')
    const answer = await new Promise((resolve, reject) => {
      session.ping(payload, (error, _, echoed) => (error ? reject(error) : resolve(echoed)))
    })
    expect(answer).toEqual(payload)
  })

  const request = Buffer.concat([
    http2Preface,
    frame(frameType.settings, 0, 0),
    frame(frameType.headers, endHeaders | endStream, 1, getRequestHeaders),
  ])

  it.each([
    ['all at once', [request]],
    ['split within the preface', [request.subarray(0, 5), request.subarray(5)]],
    ['split after the preface', [request.subarray(0, 24), request.subarray(24)]],
    ['byte by byte', Array.from(request, (byte) => Buffer.from([byte]))],
  ])('accepts an HTTP/2 request that arrives %s', async (_, pieces) => {
    const { url } = await start()
    const client = await connectRaw(url)
    for (const piece of pieces) {
      await new Promise((resolve) => client.socket.write(piece, resolve))
      // Another connection's round trip: the server has read this piece before the next is sent.
      if (pieces.length < 10) await (await fetch(url)).text()
    }
    const received = await client.until('GET / ')
    expect(
      framesOf(received).some(({ type, streamId }) => type === frameType.headers && streamId === 1),
    ).toBe(true)
    client.socket.destroy()
  })

  it.each(['P|OST', 'P|UT', 'PR|OPFIND', 'PO|ST', 'G|ET'])(
    'treats %s, split there, as HTTP/1.1',
    async (method) => {
      const { url } = await start()
      const client = await connectRaw(url)
      const [first = '', second = ''] = method.split('|')
      client.socket.write(first)
      await (await fetch(url)).text()
      client.socket.end(
        `${second} /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok`,
      )
      expect(await client.closed).toContain(`${first}${second} /x ok`)
    },
  )

  it('answers pipelined requests in order and keeps the connection', async () => {
    const { url } = await start()
    const client = await connectRaw(url)
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
    client.socket.write(get('/1') + get('/2'))
    const received = await client.until('GET /2')
    expect(received.indexOf('GET /1')).toBeLessThan(received.indexOf('GET /2'))
    client.socket.write(get('/3'))
    await client.until('GET /3')
    client.socket.destroy()
  })

  it('ignores an upgrade to h2c', async () => {
    const { url } = await start()
    const client = await connectRaw(url)
    client.socket.write(
      'GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n',
    )
    expect(await client.until('GET /x')).toMatch(/^HTTP\/1\.1 200 /)
    client.socket.destroy()
  })

  it('closes the connection on CONNECT', async () => {
    const { url, connections } = await start()
    const client = await connectRaw(url)
    client.socket.write('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n')
    expect(await client.closed).toBe('')
    expect(connections()).toBe(0)
  })
})

describe('listen', () => {
  it('reports the real port, and counts connections', async () => {
    const { url, connections } = await start()
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
    const client = await connectRaw(url)
    await (await fetch(url, { headers: { connection: 'close' } })).text()
    expect(connections()).toBeGreaterThanOrEqual(1)
    client.socket.destroy()
  })

  it('reports an address that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const attempt = listen({ host: '127.0.0.1', port, handler: echo })
    await expect(attempt).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: the address is in use`,
    )
    other.close()
  })

  it('reports an invalid certificate', async () => {
    const tls = { cert: Buffer.from('no'), key: Buffer.from('no') }
    const attempt = listen({ host: '127.0.0.1', port: 0, handler: echo, tls })
    await expect(attempt).rejects.toThrow('cannot use the TLS certificate or its key')
  })
})
