import { createClient } from '@connectrpc/connect'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { Health, HealthCheckResponse_ServingStatus } from '#gen/health/v1/health_pb.ts'
import { isOnPostgres } from '../../support/database.ts'
import { refusalOf, startForge } from '../../support/forge.ts'
import { PASSWORD, RPC_PROTOCOLS, signIn, transportTo } from '../../support/server.ts'

const GIB = 1024 ** 3
/** Free bytes of the file system, as the server reads them. */
let free = GIB
const read = async () => ({ free, size: 10 * GIB })
const forge = await startForge({ spaceReading: { read, everyMs: 0 } })
afterAll(forge.stop)
const { server, users, rest, client } = forge

const FULL = { reason: 'DISK_FULL', code: 'ResourceExhausted' }
const memo = { memo: { content: 'one more', visibility: Visibility.PRIVATE } }

/** Fills the disk, or makes room, and waits until the server knows. */
async function leave(bytes: number): Promise<void> {
  free = bytes
  const status = bytes < GIB / 2 ? 503 : 200
  await expect.poll(async () => (await fetch(`${server.url}/readyz`)).status).toBe(status)
}

describe('a full disk', () => {
  beforeEach(() => leave(GIB))

  it.each(RPC_PROTOCOLS)('refuses what stores data, by %s', async (protocol) => {
    const memos = createClient(
      MemoService,
      transportTo(server.url, protocol, users.bob.authorization),
    )
    const { name } = await memos.createMemo(memo)
    await leave(100 * 1024 ** 2)
    expect(await refusalOf(memos.createMemo(memo))).toMatchObject(FULL)
    expect((await memos.getMemo({ name })).content).toBe('one more')
    await memos.deleteMemo({ name })
  })

  it('refuses it over REST with 507, and takes reads, deletions and sign-ins', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'kept', auto_init: true })
    await leave(0)
    const ready = await fetch(`${server.url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([503, 'the disk is full\n'])
    const made = await rest(users.bob, 'POST', '/user/repos', { name: 'more' })
    expect([made.status, made.body.message]).toEqual([
      507,
      expect.stringContaining('the disk of the server is full'),
    ])
    expect((await rest(users.bob, 'GET', '/repos/bob/kept')).status).toBe(200)
    const again = await signIn(server.url, 'bob')
    expect((await rest(again, 'DELETE', '/repos/bob/kept')).status).toBe(204)
    await leave(GIB)
    expect((await rest(users.bob, 'POST', '/user/repos', { name: 'more' })).status).toBe(201)
  })

  it.each(RPC_PROTOCOLS)('shows in the health service, by %s', async (protocol) => {
    const health = createClient(Health, transportTo(server.url, protocol))
    const watched: HealthCheckResponse_ServingStatus[] = []
    const done = new AbortController()
    const watching = (async () => {
      for await (const { status } of health.watch({}, { signal: done.signal })) watched.push(status)
    })().catch(() => {})
    const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus
    await expect.poll(() => watched).toEqual([SERVING])
    await leave(0)
    await expect.poll(async () => (await health.check({})).status).toBe(NOT_SERVING)
    const service = MemoService.typeName
    expect((await health.check({ service })).status).toBe(NOT_SERVING)
    expect((await health.list({})).statuses[service]?.status).toBe(NOT_SERVING)
    await expect.poll(() => watched).toEqual([SERVING, NOT_SERVING])
    await leave(GIB)
    await expect.poll(() => watched).toEqual([SERVING, NOT_SERVING, SERVING])
    done.abort()
    await watching
  })

  it('refuses pushes, and takes fetches', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'pushed', auto_init: true })
    const remote = new URL('/bob/pushed.git', server.url)
    Object.assign(remote, { username: 'bob', password: PASSWORD })
    await leave(0)
    await client.git('.', 'clone', '-q', remote.href, 'pushed')
    await client.git('pushed', 'commit', '-q', '--allow-empty', '-m', 'one more')
    await expect(client.git('pushed', 'push', '-q', 'origin', 'HEAD')).rejects.toThrow('507')
    await leave(GIB)
    await client.git('pushed', 'push', '-q', 'origin', 'HEAD')
  })

  it.skipIf(isOnPostgres)(
    'that only the database notices is the same refusal (PostgreSQL has a disk of its own)',
    async () => {
      await sql`pragma max_page_count = 1`.execute(server.app.db)
      const body = { content: 'x'.repeat(8000), visibility: 'PRIVATE' }
      const statuses = new Set<number>()
      for (let i = 0; i < 100 && !statuses.has(507); i += 1)
        statuses.add((await rest(users.bob, 'POST', '/memos', body)).status)
      expect(statuses).toContain(507)
      await sql`pragma max_page_count = 4294967294`.execute(server.app.db)
      expect((await rest(users.bob, 'POST', '/memos', body)).status).toBe(200)
    },
  )
})
