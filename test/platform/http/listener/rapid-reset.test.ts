import { once } from 'node:events'
import http2 from 'node:http2'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ClientConnection } from '../../../../src/platform/http/listener/connection.ts'
import { PeerCredits } from '../../../../src/platform/http/listener/credit.ts'
import { defaultListenerLimits } from '../../../../src/platform/http/listener/limits.ts'
import { Outgoing } from '../../../../src/platform/http/listener/outgoing.ts'
import { http2Preface } from '../../../../src/platform/http/listener/tls.ts'
import { startTestServer, type TestServer } from '../../../support/server.ts'
import { useListeners } from './fixture.ts'
import {
  connectRaw,
  endHeaders,
  endStream,
  frame,
  frameType,
  getRequestHeaders,
} from './raw-client.ts'

const { maxAbandonedBurst } = defaultListenerLimits
const cancel = Buffer.from([0, 0, 0, http2.constants.NGHTTP2_CANCEL])

/** A session that begins `count` requests and resets each at once (CVE-2023-44487). */
function rapidReset(count: number): Buffer {
  const streams = Array.from({ length: count }, (_, i) => [
    frame(frameType.headers, endHeaders | endStream, 2 * i + 1, getRequestHeaders),
    frame(frameType.rstStream, 0, 2 * i + 1, cancel),
  ])
  return Buffer.concat([http2Preface, frame(frameType.settings, 0, 0), ...streams.flat()])
}

/**
 * Sends bytes on a new connection, and says whether the server spoke before it closed the
 * connection.
 */
async function attack(url: string, bytes: Buffer): Promise<'heard' | 'refused'> {
  const client = await connectRaw(url)
  client.socket.end(bytes)
  return (await client.closed) === '' ? 'refused' : 'heard'
}

describe('a peer that resets streams on many connections', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ limitLoopback: true })
  })
  afterAll(() => server.stop())

  /** The answer to a health probe from another address of this machine, which is another peer. */
  function probe(): Promise<string> {
    const { hostname, port } = new URL(server.url)
    const socket = net.connect({ host: hostname, port: Number(port), localAddress: '127.0.0.2' })
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk
    })
    return once(socket, 'close').then(() => text)
  }

  it('is refused before its data is read, while other peers are served', async () => {
    const bytes = rapidReset(500)
    const attackers = Array.from({ length: 20 }, async () => {
      let outcome: string
      let connections = 0
      do {
        outcome = await attack(server.url, bytes)
        connections++
      } while (outcome === 'heard' && connections < 100)
      return outcome
    })
    expect(await probe()).toMatch(/^HTTP\/1\.1 200 /)
    expect(await Promise.all(attackers)).toEqual(Array(20).fill('refused'))
    expect(await probe()).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('the credit of a peer', () => {
  const { start, connectHttp2 } = useListeners()

  it('is not used up by streams that are reset after their responses began', async () => {
    const { url } = await start({
      limits: { limitLoopback: true, maxAbandonedBurst: 0, maxAbandonedPerSecond: 0 },
      handler(_, response) {
        response.write('begun')
      },
    })
    for (let i = 0; i < 3; i++) {
      const session = connectHttp2(url)
      const stream = session.request({ ':path': '/' })
      await once(stream, 'response')
      stream.close(http2.constants.NGHTTP2_CANCEL)
      await once(stream, 'close')
    }
  })

  it('is also used up by HTTP/1.1 requests that are aborted before their responses', async () => {
    const { url } = await start({ limits: { limitLoopback: true }, handler: () => {} })
    const pipelined = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500)
    const refused = false
    for (let i = 0; i <= maxAbandonedBurst / 500 + 1 && !refused; i++) {
      const client = await connectRaw(url)
      client.socket.end(pipelined)
      await client.closed
    }
    expect(await attack(url, rapidReset(0))).toBe('refused')
  })

  it.each([
    ['192.0.2.1', undefined],
    ['::ffff:192.0.2.1', undefined],
    ['192.0.2.2', '192.0.2.2'],
  ])('does not apply to a trusted proxy: %s', (remoteAddress, peer) => {
    const uncountedAddresses = new net.BlockList()
    uncountedAddresses.addAddress('192.0.2.1')
    const socket = Object.defineProperty(new net.Socket(), 'remoteAddress', {
      value: remoteAddress,
    })
    const limits = { ...defaultListenerLimits, uncountedAddresses }
    const accounts = { credits: new PeerCredits(1, 1), outgoing: new Outgoing(limits).open() }
    expect(new ClientConnection(socket, limits, accounts).peer).toBe(peer)
  })

  it('comes back', async () => {
    const { url } = await start({
      limits: { limitLoopback: true, maxAbandonedBurst: 0, maxAbandonedPerSecond: 1000 },
      handler: () => {},
    })
    await attack(url, rapidReset(100))
    await expect.poll(() => attack(url, rapidReset(0))).toBe('heard')
  })
})

describe('a stream that is reset in its first packet', () => {
  const { start } = useListeners()

  it('does not start a call', async () => {
    const called: string[] = []
    const { url } = await start({
      handler(request, response) {
        called.push(request.method ?? '')
        response.end('answer')
      },
    })
    const client = await connectRaw(url)
    client.socket.write(rapidReset(100))
    client.socket.write(frame(frameType.headers, endHeaders | endStream, 201, getRequestHeaders))
    await client.until('answer')
    expect(called).toHaveLength(1)
    client.socket.destroy()
  })
})
