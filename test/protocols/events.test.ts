import { Code } from '@connectrpc/connect'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { Event_Type } from '#gen/branchline/v1/event_pb.ts'
import { updateUser } from '../../src/forge/accounts/users/users.rows.ts'
import { getUser } from '../../src/forge/accounts/users/users.ts'
import { PAGE_SIZE } from '../../src/forge/core/event-logs.ts'
import type { User } from '../../src/forge/core/schema.ts'
import { MAX_USER_STREAMS } from '../../src/forge/memos/activity/user-events.ts'
import { transaction } from '../../src/platform/database/database.ts'
import { storeMemo } from '../support/memo-rows.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { makeEvents } from '../support/user-events.ts'
import { WATCH_PROTOCOLS, type Watcher, watchEvents } from '../support/watch.ts'

const METHOD = 'branchline.v1.EventService/WatchEvents'

describe.each(WATCH_PROTOCOLS)('events by %s', (protocol) => {
  let server: TestServer
  let users: TestUsers
  let bob: User
  let carol: User
  const watchers: Watcher[] = []

  beforeAll(async () => {
    server = await startTestServer()
    users = await createTestUsers(server.url)
    bob = await getUser(server.app, 'bob')
    carol = await getUser(server.app, 'carol')
  })
  afterEach(() => {
    for (const watcher of watchers.splice(0)) watcher.leave()
  })
  afterAll(() => server.stop())

  const watch = (
    request: Parameters<typeof watchEvents>[3] = {},
    { authorization } = users.bob,
  ) => {
    const watcher = watchEvents(server.url, protocol, authorization, request)
    watchers.push(watcher)
    return watcher
  }
  /** Codes of the streams of an account that have ended so far, without those that were refused. */
  const ended = ({ id }: User) =>
    server.logged.filter(
      ({ method, user, code }) => method === METHOD && user === id && code !== 'ResourceExhausted',
    )

  it('begin with a cursor, arrive as they happen, and continue after a cursor', async () => {
    const first = watch()
    expect((await first.next()).event).toBeUndefined()
    await makeEvents(server.app, bob.id, ['a', 'b'])
    const { cursor, event } = await first.next()
    expect(event).toMatchObject({ type: Event_Type.MEMO_CREATED, resource: 'memos/a' })
    const second = watch({ cursor })
    expect(await second.next()).toMatchObject({ cursor })
    expect((await second.next()).event).toMatchObject({ resource: 'memos/b' })
  })

  it('have the requested types', async () => {
    const watcher = watch({ types: [Event_Type.MEMO_DELETED, Event_Type.NOTIFICATION_DELETED] })
    await watcher.next()
    await makeEvents(server.app, bob.id, ['a'])
    await makeEvents(server.app, bob.id, ['7'], 'NOTIFICATION_DELETED')
    expect((await watcher.next()).event).toMatchObject({ resource: 'users/bob/notifications/7' })
  })

  it('are rejected with the status of the reason before the first response', async () => {
    await expect(watch({ cursor: 'nonsense' }).next()).rejects.toMatchObject({
      code: Code.InvalidArgument,
    })
    const { cursor } = await watch().next()
    await expect(watch({ cursor }, users.carol).next()).rejects.toMatchObject({
      code: Code.InvalidArgument,
    })
  })

  it('show current resources, and none that the reader may no longer read', async () => {
    const { app } = server
    const memo = await storeMemo(app, bob, { content: 'before' })
    const comment = await storeMemo(app, carol, { content: 'a word' }, memo)
    const sent = { type: 'MEMO_COMMENT', status: 'UNREAD', create_time: 1_700_000_000 } as const
    const { id } = await app.db
      .insertInto('notifications')
      .values({ ...sent, receiver_id: bob.id, sender_id: carol.id, memo_id: comment.memo.id })
      .returning('id')
      .executeTakeFirstOrThrow()
    const { cursor } = await watch().next()
    await makeEvents(app, bob.id, [memo.memo.uid])
    await makeEvents(app, bob.id, [comment.memo.uid], 'MEMO_COMMENT_CREATED')
    await makeEvents(app, bob.id, [String(id)], 'NOTIFICATION_CREATED')
    await app.db
      .updateTable('memos')
      .set({ content: 'after' })
      .where('id', '=', memo.memo.id)
      .execute()
    await app.db
      .updateTable('memos')
      .set({ state: 'ARCHIVED' })
      .where('id', '=', comment.memo.id)
      .execute()
    const watcher = watch({ cursor })
    await watcher.next()
    expect((await watcher.next()).event?.current).toMatchObject({
      case: 'memo',
      value: { content: 'after' },
    })
    expect((await watcher.next()).event?.current.case).toBeUndefined()
    const { event } = await watcher.next()
    expect(event).toMatchObject({
      current: { case: 'notification', value: { name: `users/bob/notifications/${id}` } },
    })
    // The comment that it tells of is hidden here too.
    expect(event?.current.value).toMatchObject({ payload: { case: undefined } })
  })

  it('are read from the database no faster than a slow client reads them', async () => {
    const { app } = server
    const memo = await storeMemo(app, bob, { content: 'x'.repeat(MEMO_BYTES) })
    const watcher = watch()
    const { cursor } = await watcher.next()
    const reads = vi.spyOn(app.db, 'selectFrom')
    const pagesRead = () =>
      reads.mock.calls.filter(([table]) => String(table).includes('user_event_logs')).length
    const eventsRead = () => pagesRead() * PAGE_SIZE
    await makeEvents(app, bob.id, Array(MANY).fill(memo.memo.uid))
    await standsStill(eventsRead)
    // Sockets and clients hold some megabytes between them before the server notices.
    expect(eventsRead()).toBeGreaterThan(0)
    expect(eventsRead()).toBeLessThan(MANY / 2)
    const ids = [cursor]
    for (let i = 0; i < MANY / 10; i++) ids.push((await watcher.next()).cursor)
    expect(new Set(ids).size).toBe(ids.length)
    reads.mockRestore()
    const before = ended(bob).length
    watcher.leave()
    await expect.poll(() => ended(bob).slice(before)).toMatchObject([{ code: 'Canceled' }])
  })

  it('log a line and release their slot when the reader disconnects', async () => {
    const open = Array.from({ length: MAX_USER_STREAMS }, () => watch({}, users.carol))
    for (const watcher of open) await watcher.next()
    await expect(watch({}, users.carol).next()).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    })
    const before = ended(carol).length
    for (const watcher of open) {
      const waiting = watcher.next()
      watcher.leave()
      await expect(waiting).rejects.toThrow()
    }
    await expect.poll(() => ended(carol)).toHaveLength(before + open.length)
    expect(new Set(ended(carol).map(({ code }) => code))).toEqual(
      new Set(['InvalidArgument', 'Canceled']),
    )
    await watch({}, users.carol).next()
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('end when the account is archived', async () => {
    const watcher = watch({}, users.carol)
    await watcher.next()
    await transaction(server.app.db, (tx) => updateUser(tx, carol.id, { state: 'ARCHIVED' }))
    await makeEvents(server.app, carol.id, ['a'])
    await expect(watcher.next()).rejects.toMatchObject({ code: Code.Unauthenticated })
  })

  it('end when the server stops, without delaying the stop', async () => {
    const watcher = watch()
    await watcher.next()
    const waiting = watcher.next()
    const closing = server.close(60_000)
    await expect(waiting).rejects.toMatchObject({ code: Code.Unavailable })
    await closing
  })
})

/** Some 60 MB of answers: more than all sockets and clients on the way hold. */
const MEMO_BYTES = 32 * 1024
const MANY = 2_000

/** Resolves when a number has not changed for some turns of the event loop. */
async function standsStill(number: () => number): Promise<void> {
  for (let before = -1; before !== number(); ) {
    before = number()
    for (let i = 0; i < 500; i++) await new Promise((resolve) => setImmediate(resolve))
  }
}
