import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import http2, { type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type Client, createClient } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { ServerService } from '#gen/branchline/v1/server_service_pb.ts'
import { Health } from '#gen/health/v1/health_pb.ts'
import { refusalOf } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type ServerProcess, serveUnderLoad } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, RPC_PROTOCOLS, transportTo } from '../../support/server.ts'
import {
  askOn,
  connectSlowly,
  residentMib,
  type SlowConnection,
} from '../../support/slow-clients.ts'

/** In base64 13.3 MiB: one fits on a connection, four fit for a peer. */
const FILE_BYTES = 10 * 1024 * 1024

/** With four of those all but a few hundred KiB of what a peer may have. */
const REST_BYTES = 7.7 * 1024 * 1024
const CONTENTS = '/api/v1/repos/bob/engine/contents/large'

const { data, client } = await openProcessStory()
let server: ServerProcess
const slow: SlowConnection[] = []
const sessions: ClientHttp2Session[] = []

beforeAll(async () => {
  server = await serveUnderLoad(data, ['--limit-loopback', 'on'])
  const { bob } = await createTestUsers(server.url)
  await restAt(server.url)(bob, 'POST', '/user/repos', {
    name: 'engine',
    auto_init: true,
    default_branch: 'main',
  })
  await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/engine', 'bob', PASSWORD), 'mine')
  await writeFile(join(client.home, 'mine', 'large'), randomBytes(FILE_BYTES))
  await writeFile(join(client.home, 'mine', 'rest'), randomBytes(REST_BYTES))
  await client.git('mine', 'add', '.')
  await client.commit('mine', 'large')
  await client.git('mine', 'push', '-q')
})

afterEach(async () => {
  for (const connection of slow.splice(0)) connection.close()
  for (const session of sessions.splice(0)) session.destroy()
  // What one test leaves unread is nothing that the next one meets.
  await expect.poll(waitingBytes).toBe(0)
})

afterAll(async () => {
  server.child.kill('SIGTERM')
  await server.exited
})

const openSlowly = () => {
  const connection = connectSlowly(server.url)
  slow.push(connection)
  return connection
}
const connect = () => {
  const session = http2.connect(server.url)
  session.on('error', () => {})
  sessions.push(session)
  return session
}
const memory = () => residentMib(server.child.pid)
const probe = async () =>
  (await createClient(Health, transportTo(server.url, 'gRPC')).check({})).status
const waitingBytes = async () => {
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  return Number(/^branchline_waiting_bytes (\d+)$/m.exec(metrics)?.[1])
}
const reasonsOf = (answers: readonly { [name: string]: unknown }[]) => {
  const counts: Record<string, number> = {}
  for (const { ':status': status, 'x-error-reason': reason = 'none' } of answers) {
    counts[`${status} ${reason}`] = (counts[`${status} ${reason}`] ?? 0) + 1
  }
  return counts
}

/** Keeps answers waiting, each on a connection of its own. */
async function leaveUnread(...paths: readonly string[]): Promise<void> {
  for (const path of paths) expect((await openSlowly().ask({ ':path': path }))[':status']).toBe(200)
}

/** As many large answers as one peer may have, and as much as one may have altogether. */
const FOUR = Array<string>(4).fill(CONTENTS)
const FULL = [...FOUR, '/api/v1/repos/bob/engine/contents/rest']

describe('large responses that no client reads', () => {
  it('are limited to one per connection, and further ones are refused before they use memory', async () => {
    const before = await memory()
    const [one, other] = [openSlowly(), openSlowly()]
    const asked = [one, other].flatMap((connection) =>
      Array.from({ length: 100 }, () => connection.ask({ ':path': CONTENTS })),
    )
    expect(await probe()).toBe(1)
    expect(reasonsOf(await Promise.all(asked))).toEqual({
      '200 none': 2,
      '429 TOO_MUCH_UNREAD': 198,
    })
    expect((await memory()) - before).toBeLessThan(400)
    expect(await probe()).toBe(1)
    expect(await waitingBytes()).toBeGreaterThan(FILE_BYTES)
    for (const connection of slow.splice(0)) connection.close()
    await expect.poll(waitingBytes).toBe(0)
    expect((await memory()) - before).toBeLessThan(400)
  })

  it.each(RPC_PROTOCOLS)(
    'make %s refuse further calls of the peer, with a reason, until they are closed',
    async (protocol) => {
      const contents: Client<typeof ContentService> = createClient(
        ContentService,
        transportTo(server.url, protocol),
      )
      const large = { owner: 'bob', repo: 'engine', path: 'large' }
      await leaveUnread(...FOUR)
      const refused = await refusalOf(contents.getContents(large))
      expect(refused).toMatchObject({
        code: 'ResourceExhausted',
        reason: 'TOO_MUCH_UNREAD',
        metadata: { scope: 'peer', limit: String(64 * 1024 * 1024), retry_after_seconds: '5' },
      })
      // What is small is still answered.
      expect((await contents.getContents({ ...large, path: 'README.md' })).entry?.name).toBe(
        'README.md',
      )
      expect(await probe()).toBe(1)
      for (const connection of slow.splice(0)) connection.close()
      await expect
        .poll(async () => {
          const { entry } = await contents.getContents(large).catch(() => ({ entry: undefined }))
          return Number(entry?.size)
        })
        .toBe(FILE_BYTES)
    },
  )

  it('cause the refusal of all further calls of the peer at the memory limit, except health checks', async () => {
    await leaveUnread(...FULL)
    const full = { scope: 'peer', limit: String(64 * 1024 * 1024), retry_after_seconds: '5' }
    for (const protocol of RPC_PROTOCOLS) {
      const transport = transportTo(server.url, protocol)
      const refused = { code: 'ResourceExhausted', reason: 'TOO_MUCH_UNREAD', metadata: full }
      expect(await refusalOf(createClient(ServerService, transport).getVersion({}))).toMatchObject(
        refused,
      )
      const raw = createClient(ContentService, transport).getRawFile({
        owner: 'bob',
        repo: 'engine',
        path: 'README.md',
      })
      expect(await refusalOf(raw[Symbol.asyncIterator]().next())).toMatchObject(refused)
      expect((await createClient(Health, transport).check({})).status).toBe(1)
    }
    const rest = await fetch(`${server.url}/api/v1/version`)
    expect([
      rest.status,
      rest.headers.get('retry-after'),
      rest.headers.get('x-error-reason'),
    ]).toEqual([429, '5', 'TOO_MUCH_UNREAD'])
    const git = await fetch(`${server.url}/bob/engine.git/info/refs?service=git-upload-pack`)
    expect([git.status, git.headers.get('retry-after')]).toEqual([429, '10'])
    const metrics = await fetch(`${server.url}/metrics`)
    expect([metrics.status, metrics.headers.get('retry-after')]).toEqual([429, '5'])
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${server.url}/openapi.json`)).status).toBe(200)
  })

  it('arrive completely at a reader that starts late', async () => {
    const session = connect()
    const { stream, headers } = askOn(session, { ':path': CONTENTS })
    stream.pause()
    expect((await headers)[':status']).toBe(200)
    let text = ''
    for await (const chunk of stream.setEncoding('utf8')) text += chunk
    expect(Buffer.from(JSON.parse(text).content, 'base64')).toHaveLength(FILE_BYTES)
  })
})

describe('the OpenAPI document', () => {
  it('is held in one buffer for all slow readers', async () => {
    await fetch(`${server.url}/openapi.json`)
    const before = await memory()
    const asked = Array.from({ length: 20 }, openSlowly).flatMap((connection) =>
      Array.from({ length: 100 }, () => connection.ask({ ':path': '/openapi.json' })),
    )
    expect(reasonsOf(await Promise.all(asked))).toEqual({ '200 none': 2000 })
    expect(await probe()).toBe(1)
    expect((await memory()) - before).toBeLessThan(200)
  })

  it('is compressed if the client accepts that, and not sent again to a client with its ETag', async () => {
    const get = (headers: Record<string, string>) =>
      askOn(connect(), { ':path': '/openapi.json', ...headers })
    const { stream, headers } = get({ 'accept-encoding': 'gzip' })
    const answer = await headers
    expect(answer).toMatchObject({ 'content-encoding': 'gzip', vary: 'Origin, Accept-Encoding' })
    const bytes: Buffer[] = await stream.toArray()
    const identity = await fetch(`${server.url}/openapi.json`, {
      headers: { 'accept-encoding': 'identity' },
    })
    expect(gunzipSync(Buffer.concat(bytes)).toString()).toBe(await identity.text())
    expect(identity.headers.get('content-encoding')).toBeNull()
    const brotli = await fetch(`${server.url}/openapi.json`, {
      headers: { 'accept-encoding': 'gzip;q=0.5, br' },
    })
    expect(brotli.headers.get('content-encoding')).toBe('br')
    expect(await brotli.json()).toHaveProperty('openapi')
    const etag = identity.headers.get('etag') ?? ''
    const known = await fetch(`${server.url}/openapi.json`, { headers: { 'if-none-match': etag } })
    expect([known.status, known.headers.get('etag'), await known.text()]).toEqual([304, etag, ''])
  })
})

describe('streams that stay open', () => {
  /** A message of gRPC without a field. */
  const EMPTY = Buffer.alloc(5)
  const WATCH = {
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Watch',
    'content-type': 'application/grpc',
    te: 'trailers',
  }
  /** How a watch goes: its first message comes, or the status that it ends with. */
  const watch = (session: ClientHttp2Session) =>
    new Promise<string>((resolve) => {
      const { stream } = askOn(session, WATCH, EMPTY)
      stream.once('data', () => resolve('open'))
      const end = (headers: IncomingHttpHeaders) => {
        if (headers['grpc-status'] !== undefined) resolve(`${headers['grpc-status']}`)
      }
      // A call that is refused has its status in the headers (Trailers-Only).
      stream.once('response', end).once('trailers', end)
      stream.once('close', () => resolve('closed'))
    })
  const watchOn = (session: ClientHttp2Session, count: number) =>
    Promise.all(Array.from({ length: count }, () => watch(session)))
  const countsOf = (outcomes: readonly string[]) => ({
    open: outcomes.filter((outcome) => outcome === 'open').length,
    refused: outcomes.filter((outcome) => outcome === '8').length,
  })

  it('can use half of the streams of a connection, so that other calls are possible', async () => {
    const session = connect()
    expect(countsOf(await watchOn(session, 100))).toEqual({ open: 64, refused: 36 })
    const check = { ...WATCH, ':path': '/grpc.health.v1.Health/Check' }
    expect((await askOn(session, check, EMPTY).headers)[':status']).toBe(200)
  })

  it('are limited per peer over all connections, and stop counting when they are closed', async () => {
    const before = await memory()
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => watchOn(connect(), 64)))
    expect(countsOf(outcomes.flat())).toEqual({ open: 1024, refused: 20 * 64 - 1024 })
    expect((await memory()) - before).toBeLessThan(200)
    for (const protocol of RPC_PROTOCOLS) {
      const statuses = createClient(Health, transportTo(server.url, protocol))
        .watch({})
        [Symbol.asyncIterator]()
      expect(await refusalOf(statuses.next())).toMatchObject({
        code: 'ResourceExhausted',
        reason: 'TOO_MANY_STREAMS',
        metadata: { scope: 'peer', limit: '1024' },
      })
    }
    expect(await probe()).toBe(1)
    for (const session of sessions.splice(0)) session.destroy()
    await expect.poll(() => watch(connect())).toBe('open')
  })
})
