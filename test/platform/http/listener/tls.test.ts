import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { execFileSync } from '../../../support/programs.ts'
import { holding, quickSweep, requestHttp2, useListeners } from './fixture.ts'
import { connectRaw } from './raw-client.ts'

const { start, connectHttp2 } = useListeners()

describe('one port with a certificate', () => {
  let directory: string
  let certificate: { cert: Buffer; key: Buffer }

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'listener-tls-'))
    const key = join(directory, 'key.pem')
    const cert = join(directory, 'cert.pem')
    const subject = [
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-days',
      '1',
    ]
    const keyOptions = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    execFileSync('openssl', [
      'req',
      '-x509',
      ...keyOptions,
      ...subject,
      '-keyout',
      key,
      '-out',
      cert,
    ])
    certificate = { cert: readFileSync(cert), key: readFileSync(key) }
  })

  afterAll(() => rmSync(directory, { recursive: true }))

  const connectTls = async (
    url: string,
    options: tls.ConnectionOptions,
  ): Promise<tls.TLSSocket> => {
    const { hostname, port } = new URL(url)
    const socket = tls.connect({
      host: hostname,
      port: Number(port),
      ca: certificate.cert,
      ...options,
    })
    await once(socket, 'secureConnect')
    return socket
  }

  it('speaks HTTP/2 if ALPN selects h2', async () => {
    const { url } = await start({ tls: certificate })
    expect(url).toMatch(/^https:/)
    const session = connectHttp2(url, { ca: certificate.cert })
    expect(await requestHttp2(session, '/x', 'body')).toEqual({ status: 200, text: 'POST /x body' })
    expect(session.alpnProtocol).toBe('h2')
  })

  it.each([
    ['http/1.1', { ALPNProtocols: ['http/1.1'] }],
    ['nothing', {}],
  ])('speaks HTTP/1.1 if ALPN selects %s', async (_, options) => {
    const { url } = await start({ tls: certificate })
    const socket = await connectTls(url, options)
    socket.write('GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 .*GET \/x/s)
  })

  it('serves an ordinary HTTPS client, several requests on one connection', async () => {
    const { url, connections } = await start({ tls: certificate })
    const agent = new https.Agent({ keepAlive: true, ca: certificate.cert })
    for (const path of ['/1', '/2', '/3']) {
      const [response] = await once(https.get(`${url}${path}`, { agent }), 'response')
      expect(await text(response)).toBe(`GET ${path} `)
    }
    expect(connections()).toBe(1)
    agent.destroy()
  })

  it('refuses TLS 1.1', async () => {
    const { url } = await start({ tls: certificate })
    const old = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const
    await expect(connectTls(url, old)).rejects.toThrow(/protocol version/i)
  })

  it('closes a connection with plain HTTP, and keeps serving', async () => {
    const errors: Error[] = []
    const { url } = await start({
      tls: certificate,
      onConnectionError: (error) => errors.push(error),
    })
    const client = await connectRaw(url, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(await client.closed).not.toContain('HTTP/1.1')
    expect(errors[0]?.message).toMatch(/http request/i)
    const session = connectHttp2(url, { ca: certificate.cert })
    expect((await requestHttp2(session, '/')).status).toBe(200)
  })

  it.each(['', '\x16\x03\x01'])(
    'closes a connection whose handshake stops after %j',
    async (bytes) => {
      const { url, connections } = await start({
        tls: certificate,
        limits: { ...quickSweep, headersTimeoutMs: 40 },
      })
      const client = await connectRaw(url, bytes)
      await client.closed
      await expect.poll(connections).toBe(0)
    },
  )

  it('closes a connection whose body stops, but none whose response takes time', async () => {
    const { handler, next } = holding()
    const { url } = await start({
      tls: certificate,
      handler,
      limits: { ...quickSweep, stallTimeoutMs: 100 },
    })
    const patient = await connectTls(url, {})
    patient.write('GET /hold HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    const { response } = await next()
    for (let i = 0; i < 2; i++) {
      const stalled = await connectTls(url, {})
      stalled.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo')
      expect(await text(stalled)).toMatch(/^HTTP\/1\.1 408 /)
    }
    response.end('at last')
    expect(await text(patient)).toContain('at last')
  })

  it('closes gracefully', async () => {
    const { handler, next } = holding()
    const { url, close } = await start({ tls: certificate, handler })
    const idle = await connectTls(url, {})
    const busy = await connectTls(url, {})
    busy.write('GET /hold HTTP/1.1\r\nHost: a\r\n\r\n')
    const session = connectHttp2(url, { ca: certificate.cert })
    const answer = requestHttp2(session, '/hold')
    const held = [await next(), await next()]
    const closed = close(60_000)
    await text(idle)
    for (const { response } of held) response.end('done')
    expect(await text(busy)).toContain('done')
    expect((await answer).text).toBe('done')
    await closed
  })
})
