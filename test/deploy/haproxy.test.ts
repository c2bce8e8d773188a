import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { Client, credentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { Health, HealthCheckResponse_ServingStatus } from '#gen/health/v1/health_pb.ts'
import { postgresPrograms } from '../../scripts/checks/postgres-programs.mjs'
import { authorized, callStream, callUnary } from '../clients/grpc-client.ts'
import { type GitClient, openGitClient, remoteOf } from '../support/git-client.ts'
import { haproxyProgram, type ProxyServer, startHaproxy } from '../support/haproxy.ts'
import { sendHttp1 } from '../support/http-request.ts'
import { restAt } from '../support/rest.ts'
import { createTestUsers, PASSWORD, type TestUsers } from '../support/server.ts'
import { type ServerGroup, startServerGroup } from '../support/server-group.ts'
import { WATCH_PROTOCOLS, watchRepository } from '../support/watch.ts'

/** Two servers, PostgreSQL and HAProxy start first. */
const TIMEOUT_MS = 120_000

/** Less than the time between two heartbeats of a stream, by which a server would notice later. */
const SOON_MS = 20_000

const MEBIBYTE = 1024 * 1024

/** HTTP/2 connections, and streams on each: together more than one connection to a server takes. */
const [CONNECTIONS, STREAMS] = [3, 40]

const isInstalled = postgresPrograms !== undefined && haproxyProgram !== undefined
const TITLE = 'two servers behind HAProxy (skipped without its program or PostgreSQL)'

describe.skipIf(!isInstalled)(TITLE, { timeout: TIMEOUT_MS }, () => {
  let group: ServerGroup
  let proxy: ProxyServer
  let users: TestUsers
  let client: GitClient

  beforeAll(async () => {
    group = await startServerGroup(2, [
      '--trusted-proxies',
      '127.0.0.1',
      '--public-url',
      'https://forge.example.org',
      '--log-level',
      'debug',
      // The proxy notices within four seconds.
      '--stop-delay',
      '6s',
    ])
    users = await createTestUsers(group.url())
    const [first, second] = group.servers
    proxy = await startHaproxy([first?.url ?? '', second?.url ?? ''])
    client = await openGitClient()
    await restAt(proxy.plainUrl)(users.bob, 'POST', '/user/repos', {
      name: 'engine',
      auto_init: true,
    })
  }, TIMEOUT_MS)

  afterAll(async () => {
    await client.remove()
    await proxy.stop()
    expect(await group.doctor()).toBe('nothing is wrong\n')
    await group.stop()
  }, TIMEOUT_MS)

  const grpcJs = () =>
    new Client(new URL(proxy.url).host, credentials.createSsl(proxy.certificate.cert), {
      'grpc.use_local_subchannel_pool': 1,
    })
  const secure = () => ({ baseUrl: proxy.url, nodeOptions: { ca: proxy.certificate.cert } })
  const remote = () => remoteOf(proxy.url, 'bob/engine', 'bob', PASSWORD)
  const trusting = () => ['-c', `http.sslCAInfo=${proxy.certificate.certFile}`]

  it('are reached by https only', async () => {
    const answer = await sendHttp1(`${proxy.redirectUrl}/bob/engine?a=b`, {
      headers: { host: 'forge.example.org' },
    })
    expect([answer.status, answer.headers.location]).toEqual([
      308,
      'https://forge.example.org/bob/engine?a=b',
    ])
  })

  it('answer Connect, gRPC-Web and REST over TLS, by both versions of HTTP', async () => {
    const transports = [
      createConnectTransport({ ...secure(), httpVersion: '1.1' }),
      createConnectTransport({ ...secure(), httpVersion: '2', useBinaryFormat: true }),
      createGrpcWebTransport({ ...secure(), httpVersion: '1.1' }),
      createGrpcWebTransport({ ...secure(), httpVersion: '2' }),
    ]
    for (const transport of transports) {
      const user = await createClient(UserService, transport).getUser({ name: 'users/bob' })
      expect(user.username).toBe('bob')
    }
    const { status, body } = await restAt(proxy.plainUrl)(undefined, 'GET', '/users/nobody')
    expect([status, body.code]).toEqual([404, 5])
  })

  it('answer gRPC calls and streams', async () => {
    const grpc = grpcJs()
    try {
      const user = await callUnary(
        grpc,
        UserService.method.getUser,
        { name: 'users/bob' },
        authorized(users.bob.authorization),
      )
      expect(user.email).toBe('bob@example.org')
      const stream = callStream(grpc, Health.method.watch, {})
      const [{ status }] = await once(stream, 'data')
      expect(status).toBe(HealthCheckResponse_ServingStatus.SERVING)
      stream.on('error', () => {})
      stream.cancel()
    } finally {
      grpc.close()
    }
  })

  it('give each client the streams of a connection of its own', async () => {
    const clients = Array.from({ length: CONNECTIONS }, grpcJs)
    try {
      const first = clients.flatMap((grpc) =>
        Array.from({ length: STREAMS }, async () => {
          const stream = callStream(grpc, Health.method.watch, {})
          const [{ status }] = await once(stream, 'data')
          stream.on('error', () => {})
          return status
        }),
      )
      const serving = Array(CONNECTIONS * STREAMS).fill(HealthCheckResponse_ServingStatus.SERVING)
      expect(await Promise.all(first)).toEqual(serving)
    } finally {
      for (const grpc of clients) grpc.close()
    }
  })

  it.each(WATCH_PROTOCOLS)('send events as they happen, by %s', async (protocol) => {
    const watcher = watchRepository(proxy.plainUrl, protocol, users.bob.authorization, {
      owner: 'bob',
      repo: 'engine',
    })
    await watcher.next()
    const branch = `by-${protocol.toLowerCase().replaceAll(' ', '-')}`
    const { status } = await restAt(proxy.plainUrl)(
      users.bob,
      'POST',
      '/repos/bob/engine/branches',
      { new_branch_name: branch },
    )
    expect(status).toBe(201)
    for (;;) {
      const { event } = await watcher.next()
      const refs = event?.subject.case === 'refs' ? event.subject.value.refs : []
      if (refs.some(({ ref }) => ref === `refs/heads/${branch}`)) break
    }
    watcher.leave()
  })

  it('take clones and pushes', async () => {
    await client.git('.', ...trusting(), 'clone', '-q', remote(), 'engine')
    const id = await client.commit('engine', 'through the proxy')
    await client.git('engine', ...trusting(), 'push', '-q')
    const { body } = await restAt(proxy.plainUrl)(
      users.bob,
      'GET',
      '/repos/bob/engine/branches/main',
    )
    expect(body.commit.id).toBe(id)
  })

  it('take uploads of any size, as they arrive', async () => {
    const rest = restAt(proxy.plainUrl)
    const { body: release } = await rest(users.bob, 'POST', '/repos/bob/engine/releases', {
      tag_name: 'v1',
    })
    const path = `/api/v1/repos/bob/engine/releases/${release.id}/assets?name=large.bin`
    const send = (authorization: string) =>
      requestHttps(proxy.url + path, {
        method: 'POST',
        ca: proxy.certificate.cert,
        headers: {
          authorization,
          'content-type': 'application/octet-stream',
          'transfer-encoding': 'chunked',
        },
      })
    const content = randomBytes(64 * MEBIBYTE)
    const upload = send(users.bob.authorization)
    upload.end(content)
    const [answer] = await once(upload, 'response')
    const asset = JSON.parse(await text(answer))
    expect([answer.statusCode, asset.size]).toEqual([201, content.length])

    // The server refuses an upload before its end, which it can only after it has seen the beginning.
    const refused = send('Bearer nonsense')
    refused.write(content.subarray(0, MEBIBYTE))
    const [refusal] = await once(refused, 'response')
    expect(refusal.statusCode).toBe(401)
    refused.on('error', () => {})
    refused.destroy()
  })

  it('keep validators of caches, and answers without content', async () => {
    const url = `${proxy.plainUrl}/openapi.json`
    const whole = await sendHttp1(url, {})
    const etag = String(whole.headers.etag)
    const known = await sendHttp1(url, { headers: { 'if-none-match': etag } })
    const head = await sendHttp1(url, { method: 'HEAD' })
    expect([known.status, known.body]).toEqual([304, ''])
    expect([head.status, head.body, head.headers.etag]).toEqual([200, '', etag])
    expect(head.headers['content-length']).toBe(whole.headers['content-length'])
  })

  it('see the address of the client, and nothing that the client says about it', async () => {
    await sendHttp1(`${proxy.plainUrl}/api/v1/users/nobody`, {
      from: '127.0.0.9',
      headers: {
        'x-request-id': 'forged',
        'x-forwarded-for': '203.0.113.7',
        forwarded: 'for=203.0.113.8',
        'x-webauth-user': 'ada',
      },
    })
    const lines = await Promise.race(group.servers.map((server) => server.line('forged')))
    expect(JSON.parse(lines)).toMatchObject({ peer: '127.0.0.9' })
  })

  it('mark cookies as secure', async () => {
    const answer = await sendHttp1(`${proxy.plainUrl}/api/v1/auth/signin`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ passwordCredentials: { username: 'bob', password: PASSWORD } }),
    })
    expect(String(answer.headers['set-cookie'])).toContain('; Secure')
  })

  it('show their metrics to nobody outside, and the log of the proxy has no query', async () => {
    for (const path of ['/metrics', '/metrics?token=tulip'])
      expect((await sendHttp1(proxy.plainUrl + path, {})).status).toBe(404)
    await sendHttp1(`${proxy.plainUrl}/reset-password?token=tulip`, {})
    await proxy.logged('GET /reset-password HTTP')
    expect(proxy.log()).not.toContain('tulip')
  })

  it(
    'hear of a client that leaves',
    async () => {
      const stream = requestHttp(`${proxy.plainUrl}/api/v1/repos/bob/engine/events:watch`, {
        headers: { authorization: users.bob.authorization, 'x-request-id': 'leaver' },
      }).end()
      const [answer] = await once(stream, 'response')
      await once(answer, 'data')
      stream.on('error', () => {})
      stream.destroy()
      // The server logs a stream when it ends.
      const line = await Promise.race(group.servers.map((server) => server.line('leaver')))
      expect(JSON.parse(line)).toMatchObject({ code: 'Canceled' })
    },
    SOON_MS,
  )

  it('lose no call when one of them stops, and the proxy sends it nothing more', async () => {
    const rest = restAt(proxy.plainUrl)
    const statuses = new Set<number>()
    const call = async () => {
      const written = await rest(users.bob, 'POST', '/memos', { content: 'tulips' })
      const read = await rest(users.bob, 'GET', `/${written.body.name}`)
      statuses.add(written.status).add(read.status)
    }
    let isOver = false
    const work = async () => {
      while (!isOver) await call()
    }
    const workers = [work(), work(), work(), work()]
    const [first] = group.servers
    first?.child.kill('SIGTERM')
    await proxy.logged('Server branchline/branchline-1 is DOWN')
    expect(await first?.exited).toBe(0)
    isOver = true
    await Promise.all(workers)
    await call()
    expect([...statuses]).toEqual([200])
  })
})
