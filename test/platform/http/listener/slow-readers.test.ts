import { once } from 'node:events'
import http from 'node:http'
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { accountHolder } from '../../../../src/platform/concurrency/holders.ts'
import { answerTo } from '../../../../src/platform/http/listener/answers.ts'
import type { ListenOptions } from '../../../../src/platform/http/listener/index.ts'
import type { ListenerLimits } from '../../../../src/platform/http/listener/limits.ts'
import type { HttpRequest, HttpResponse } from '../../../../src/platform/http/requests.ts'
import { quickSweep, useListeners } from './fixture.ts'

const MIB = 1024 * 1024
const { start, connectHttp2 } = useListeners()

/** Answers with as many bytes as the path says. */
const sized = (request: HttpRequest, response: HttpResponse) => {
  request.resume()
  response.end(Buffer.alloc(Number(request.url?.slice(1))))
}

const startWith = (limits: Partial<ListenerLimits>, handler: ListenOptions['handler'] = sized) =>
  start({ handler, limits: { ...quickSweep, ...limits } })

/** Reads nothing: the window of its streams is closed. */
const CLOSED = { settings: { initialWindowSize: 0 } }

const ask = (session: ClientHttp2Session, bytes: number): ClientHttp2Stream => {
  const stream = session.request({ ':path': `/${bytes}` })
  stream.on('error', () => {})
  return stream
}

/** Connects from an address of this machine. */
const from = (localAddress: string) => (authority: URL) =>
  connect({ host: authority.hostname, port: Number(authority.port), localAddress })

/** Resolves however a stream is closed. */
const closed = (stream: ClientHttp2Stream) =>
  new Promise<void>((resolve) => stream.once('close', resolve))

describe('pending responses', () => {
  it('are limited in bytes per connection, and further responses are reset with the code of gRPC', async () => {
    const { url, figures } = await startWith({})
    const session = connectHttp2(url, CLOSED)
    const kept = [5, 5, 5].map((mib) => ask(session, mib * MIB))
    await Promise.all(kept.map((stream) => once(stream, 'response')))
    const beyond = ask(session, 5 * MIB)
    await closed(beyond)
    expect(beyond.rstCode).toBe(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM)
    expect(figures().waitingBytes).toBe(15 * MIB)
    session.destroy()
    await expect.poll(() => figures().waitingBytes).toBe(0)
  })

  it('may include one above the limit if nothing else is pending', async () => {
    const { url } = await startWith({})
    expect((await (await fetch(`${url}/${20 * MIB}`)).arrayBuffer()).byteLength).toBe(20 * MIB)
  })

  it('are limited in bytes per peer and in total', async () => {
    for (const limits of [
      { maxWaitingBytesPerPeer: 8 * MIB, limitLoopback: true },
      { maxWaitingBytes: 8 * MIB },
    ]) {
      const { url, figures } = await startWith(limits)
      const open = () => connectHttp2(url, CLOSED)
      await Promise.all([3, 4].map((mib) => once(ask(open(), mib * MIB), 'response')))
      await closed(ask(open(), 2 * MIB))
      expect(figures().waitingBytes).toBe(7 * MIB)
    }
  })

  it('are no longer counted after an HTTP/1.1 connection with pipelined requests closes', async () => {
    const { url, figures } = await startWith({})
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.pause()
    socket.write('GET /8000000 HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3))
    await expect.poll(() => figures().waitingBytes).toBeGreaterThan(4 * MIB)
    expect(figures().waitingBytes).toBeLessThanOrEqual(16 * MIB + 4096)
    socket.destroy()
    await expect.poll(() => figures().waitingBytes).toBe(0)
    expect(figures().connections).toBe(0)
  })

  it('keep the order of their parts', async () => {
    const parts = [Buffer.alloc(MIB, 'a'), Buffer.from('b'), Buffer.alloc(MIB, 'c')]
    const { url } = await startWith({}, (_, response) => {
      for (const part of parts) response.write(part)
      response.end('d')
    })
    const expected = Buffer.concat([...parts, Buffer.from('d')])
    expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(expected)).toBe(true)
    const stream = connectHttp2(url).request({ ':path': '/' })
    expect(Buffer.concat(await stream.toArray()).equals(expected)).toBe(true)
  })

  it.each(['HTTP/1.1', 'HTTP/2'])(
    'are not counted if the client disconnects before its response, over %s',
    async (version) => {
      const asked: HttpRequest[] = []
      let arrived = 0
      const { url, figures } = await startWith({}, (request, response) => {
        arrived += 1
        response.once('close', () => asked.push(request))
      })
      if (version === 'HTTP/2') {
        const stream = ask(connectHttp2(url), 0)
        await expect.poll(() => arrived).toBe(1)
        stream.close()
      } else {
        const request = http.get(url).on('error', () => {})
        await expect.poll(() => arrived).toBe(1)
        request.destroy()
      }
      await expect.poll(() => asked.length).toBe(1)
      const [request] = asked
      const answer = request && answerTo(request)
      expect(answer).toBeDefined()
      expect(answer?.reserve(5 * MIB)).toBeUndefined()
      expect(answer?.enterStream()).toBeUndefined()
      expect(figures()).toMatchObject({ waitingBytes: 0, streams: 0 })
    },
  )

  it('count for the peer that sent the request', async () => {
    const { url } = await start({
      handler: sized,
      networkOf: ({ headers }) => String(headers['x-peer']),
      limits: { ...quickSweep, maxWaitingBytesPerPeer: 3 * MIB },
    })
    const askAs = (peer: string) => {
      const stream = connectHttp2(url, CLOSED).request({ ':path': `/${2 * MIB}`, 'x-peer': peer })
      stream.on('error', () => {})
      return stream
    }
    await once(askAs('a'), 'response')
    await once(askAs('b'), 'response')
    await closed(askAs('a'))
  })
})

describe('a reader that is too slow', () => {
  const LIMITS = { maxWaitingBytes: 8 * MIB, slowReaderWindowMs: 10, minTakenBytes: 1 }

  it('is disconnected only when other requests are refused at the memory limit', async () => {
    const { url, figures } = await startWith(LIMITS)
    const slow = ask(connectHttp2(url, CLOSED), 6 * MIB)
    await once(slow, 'response')
    const keepAlive = new http.Agent({ keepAlive: true })
    onTestFinished(() => keepAlive.destroy())
    const slowHttp1 = http.get(`${url}/${1.5 * MIB}`, { agent: keepAlive })
    const [answer] = await once(slowHttp1, 'response')
    expect(answer.statusCode).toBe(200)
    expect(figures().waitingBytes).toBeGreaterThanOrEqual(6 * MIB)
    // Whoever is refused may try again: room is made meanwhile.
    await expect
      .poll(
        async () =>
          (await fetch(`${url}/${4 * MIB}`).then((response) => response.arrayBuffer())).byteLength,
      )
      .toBe(4 * MIB)
    expect(slow.closed).toBe(true)
  })

  it('is not disconnected below the memory limit', async () => {
    const { url, figures } = await startWith(LIMITS)
    const slow = ask(connectHttp2(url, CLOSED), 6 * MIB)
    await once(slow, 'response')
    // Many sweeps pass in the time of these answers.
    for (let i = 0; i < 50; i++) await (await fetch(`${url}/1000`)).arrayBuffer()
    expect(slow.closed).toBe(false)
    expect(figures().waitingBytes).toBe(6 * MIB)
  })
})

describe('the bytes and streams of the server', () => {
  it('leave some to a peer that has none', async () => {
    const { url, figures } = await startWith({
      maxWaitingBytes: 8 * MIB,
      limitLoopback: true,
    })
    const crowd = connectHttp2(url, CLOSED)
    await once(ask(crowd, 6 * MIB), 'response')
    await closed(ask(crowd, MIB))
    expect(figures().waitingBytes).toBe(6 * MIB)
    const other = connectHttp2(url, { ...CLOSED, createConnection: from('127.0.0.2') })
    expect((await once(ask(other, MIB), 'response'))[0][':status']).toBe(200)
    for (const session of [crowd, other]) session.destroy()
    await expect.poll(() => figures().waitingBytes).toBe(0)
  })

  it('leave a stream to each account and each peer that has none', async () => {
    const { url, figures } = await startWith(
      { maxLongStreams: 8, limitLoopback: true },
      (request, response) => {
        const account = Number(request.headers['x-account'])
        const holder = account > 0 ? accountHolder(account) : undefined
        const crowded = answerTo(request)?.enterStream(holder)
        response.writeHead(crowded ? 429 : 200)
        if (crowded) response.end()
        else response.write('open')
      },
    )
    const sessions = ['127.0.0.1', '127.0.0.2'].map((address) =>
      connectHttp2(url, { createConnection: from(address) }),
    )
    const statusOf = async (session = sessions[0], account = 0) => {
      const stream = session?.request({ ':path': '/', 'x-account': String(account) })
      return stream && (await once(stream, 'response'))[0][':status']
    }
    // Half of the places that all share, then those that are first ones.
    expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 200, 429])
    expect([await statusOf(sessions[1]), await statusOf(sessions[1])]).toEqual([200, 429])
    const ofAccounts = [await statusOf(sessions[0], 1), await statusOf(sessions[0], 2)]
    expect([...ofAccounts, await statusOf(sessions[0], 1)]).toEqual([200, 200, 429])
    for (const session of sessions) session.destroy()
    await expect.poll(() => figures().streams).toBe(0)
  })
})

describe('long streams', () => {
  it('count towards a limit until they are closed', async () => {
    const { url, figures } = await startWith(
      { maxLongStreamsPerConnection: 2 },
      (request, response) => {
        const crowded = answerTo(request)?.enterStream()
        if (crowded) response.statusCode = 429
        response.end()
      },
    )
    const session = connectHttp2(url)
    for (let i = 0; i < 5; i++) {
      const stream = session.request({ ':path': '/' })
      const [headers] = await once(stream, 'response')
      expect(headers[':status']).toBe(200)
      await once(stream.resume(), 'close')
    }
    await expect.poll(() => figures().streams).toBe(0)
  })
})
