import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Event_Type } from '#gen/branchline/v1/event_pb.ts'
import {
  EventService,
  WatchEventsRequestSchema,
  type WatchEventsResponseSchema,
} from '#gen/branchline/v1/event_service_pb.ts'
import { updateUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { Credential } from '../../../../src/forge/core/access.ts'
import { RETENTION_MS } from '../../../../src/forge/core/event-logs.ts'
import { HEARTBEAT_MS } from '../../../../src/forge/core/event-watches.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { Scopes } from '../../../../src/forge/core/scopes.ts'
import { eventService } from '../../../../src/forge/memos/activity/event.service.ts'
import { pruneUserEvents } from '../../../../src/forge/memos/activity/user-events.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, LOCAL_PEER, type TestApp, testApp } from '../../../support/app.ts'
import { callContext } from '../../../support/call.ts'
import { manualTimers, type Timers } from '../../../support/timers.ts'
import { makeEvents } from '../../../support/user-events.ts'

const { MEMO_CREATED, MEMO_DELETED, NOTIFICATION_CREATED } = Event_Type
const reason = (text: string) => expect.objectContaining({ reason: text })

let app: TestApp
let ada: User
let bob: User
let timers: Timers
let service: ReturnType<typeof eventService>
let reading: AbortController
beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  bob = await addUser(app, 'bob')
  timers = manualTimers()
  service = eventService(app, timers.start)
  reading = new AbortController()
})
afterEach(async () => {
  reading.abort()
  await app.background.settled()
})

type Answer = MessageInitShape<typeof WatchEventsResponseSchema>

/** Opens a stream that is read one response at a time. */
function watch(
  user: User,
  request: MessageInitShape<typeof WatchEventsRequestSchema> = {},
  credential: Credential = { kind: 'password' },
) {
  const caller = { kind: 'user', peer: LOCAL_PEER, user, credential } as const
  const context = {
    ...callContext(EventService.method.watchEvents, { caller }),
    signal: reading.signal,
  }
  const answers = service
    .watchEvents(create(WatchEventsRequestSchema, request), context)
    [Symbol.asyncIterator]()
  return {
    async next(): Promise<Answer> {
      const { value, done } = await answers.next()
      if (done) throw new Error('the stream ended')
      return value
    },
    leave: () => answers.return?.(),
  }
}

/** Returns the cursor of a first response. */
async function cursorOf(user: User): Promise<string> {
  const stream = watch(user)
  const { cursor = '' } = await stream.next()
  await stream.leave()
  return cursor
}

describe('a stream of events', () => {
  it('starts with a cursor, and continues with each new event', async () => {
    await makeEvents(app, ada.id, ['before'])
    const stream = watch(ada)
    expect(await stream.next()).toEqual({ cursor: expect.any(String) })
    const coming = stream.next()
    await makeEvents(app, ada.id, ['now'])
    expect(await coming).toEqual({
      cursor: expect.any(String),
      event: {
        type: MEMO_CREATED,
        time: expect.objectContaining({ seconds: BigInt(app.clock.now() / 1000) }),
        resource: 'memos/now',
        current: { case: undefined },
      },
    })
  })

  it('continues after any cursor', async () => {
    const first = await cursorOf(ada)
    await makeEvents(app, ada.id, ['a', 'b', 'c'])
    const stream = watch(ada, { cursor: first })
    expect(await stream.next()).toEqual({ cursor: first })
    const { cursor = '' } = await stream.next()
    const again = watch(ada, { cursor })
    await again.next()
    expect((await again.next()).event).toMatchObject({ resource: 'memos/b' })
  })

  it('skips other types, as does its cursor', async () => {
    const first = await cursorOf(ada)
    await makeEvents(app, ada.id, ['a', 'b'])
    await makeEvents(app, ada.id, ['7'], 'NOTIFICATION_CREATED')
    const stream = watch(ada, {
      cursor: first,
      types: [NOTIFICATION_CREATED, NOTIFICATION_CREATED],
    })
    await stream.next()
    expect((await stream.next()).event).toMatchObject({ resource: 'users/ada/notifications/7' })
    const waiting = stream.next()
    await makeEvents(app, ada.id, ['c'])
    await settle()
    timers.pass(HEARTBEAT_MS)
    const { cursor = '', event } = await waiting
    expect(event).toBeUndefined()
    const all = watch(ada, { cursor })
    await all.next()
    await makeEvents(app, ada.id, ['d'])
    expect((await all.next()).event).toMatchObject({ resource: 'memos/d' })
  })

  it('sends a heartbeat after each silence', async () => {
    const stream = watch(ada)
    const { cursor } = await stream.next()
    for (let beats = 0; beats < 2; beats++) {
      const waiting = stream.next()
      await settle()
      timers.pass(HEARTBEAT_MS)
      expect(await waiting).toEqual({ cursor })
    }
    const waiting = stream.next()
    await settle()
    timers.pass(HEARTBEAT_MS - 1)
    await makeEvents(app, ada.id, ['a'])
    expect((await waiting).event).toMatchObject({ resource: 'memos/a' })
    const silent = stream.next()
    await settle()
    // The event replaces a heartbeat.
    timers.pass(HEARTBEAT_MS - 1)
    await makeEvents(app, ada.id, ['b'])
    expect((await silent).event).toMatchObject({ resource: 'memos/b' })
  })

  it('names the account by its current name', async () => {
    const stream = watch(ada)
    await stream.next()
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { username: 'lovelace' }))
    await makeEvents(app, ada.id, ['7'], 'NOTIFICATION_DELETED')
    expect((await stream.next()).event).toMatchObject({
      resource: 'users/lovelace/notifications/7',
    })
  })

  it('reads events and credentials again when a client is slow', async () => {
    const stream = watch(ada)
    await stream.next()
    await makeEvents(app, ada.id, ['a', 'b'])
    await stream.next()
    app.clock.advance(2)
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { state: 'ARCHIVED' }))
    await expect(stream.next()).rejects.toEqual(reason('BAD_CREDENTIALS'))
  })
})

describe('the end of a stream', () => {
  it.each([
    ['at its next event', () => makeEvents(app, ada.id, ['a'])],
    ['at its next heartbeat', async () => timers.pass(HEARTBEAT_MS)],
  ])('comes %s once the credentials are invalid', async (_, happen) => {
    const stream = watch(ada)
    await stream.next()
    const waiting = stream.next()
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { token_version: 2 }))
    await settle()
    happen()
    await expect(waiting).rejects.toEqual(reason('BAD_CREDENTIALS'))
  })

  it.each([
    ['its client leaves', undefined, Code.Canceled],
    ['the server stops', new ConnectError('stopping', Code.Unavailable), Code.Unavailable],
    ['its deadline passes', new ConnectError('late', Code.DeadlineExceeded), Code.DeadlineExceeded],
  ])('comes immediately when %s', async (_, why, code) => {
    const stream = watch(ada)
    await stream.next()
    const waiting = stream.next()
    await settle()
    reading.abort(why)
    await expect(waiting).rejects.toMatchObject({ code })
  })

  it('comes when events that a slow client has not read are pruned', async () => {
    const stream = watch(ada)
    await stream.next()
    await makeEvents(app, ada.id, ['a', 'b', 'c'])
    await stream.next()
    app.clock.advance(RETENTION_MS / 1000 + 1)
    await pruneUserEvents(app)
    await expect(stream.next()).rejects.toEqual(reason('CURSOR_EXPIRED'))
  })
})

describe('a stream is rejected', () => {
  it.each([
    ['nonsense', () => 'nonsense'],
    ['a cursor of another account', () => cursorOf(bob)],
    ['half a cursor', async () => (await cursorOf(ada)).slice(0, 12)],
    ['a text far too long', () => 'A'.repeat(100_000)],
  ])('with %s', async (_, make) => {
    await expect(watch(ada, { cursor: await make() }).next()).rejects.toEqual(
      reason('INVALID_CURSOR'),
    )
  })

  it('with a cursor after which events have been pruned', async () => {
    const cursor = await cursorOf(ada)
    await makeEvents(app, ada.id, ['a'])
    app.clock.advance(RETENTION_MS / 1000 + 1)
    await pruneUserEvents(app)
    await expect(watch(ada, { cursor }).next()).rejects.toEqual(reason('CURSOR_EXPIRED'))
  })

  it.each([[[Event_Type.TYPE_UNSPECIFIED]], [[MEMO_CREATED, 99]]])(
    'for the types %j',
    async (types) => {
      await expect(watch(ada, { types }).next()).rejects.toEqual(reason('INVALID_FIELD'))
    },
  )

  it.each([
    ['everything', []],
    ['memos', [MEMO_DELETED]],
    ['memos beside notifications', [NOTIFICATION_CREATED, MEMO_CREATED]],
  ])('for %s, with a token that reads notifications only', async (_, types) => {
    const credential = tokenWith(['read:notification'])
    await expect(watch(ada, { types }, credential).next()).rejects.toEqual(
      expect.objectContaining({ reason: 'SCOPE_MISSING', metadata: { scope: 'read:memo' } }),
    )
  })

  it('but not for notifications, with the same token', async () => {
    const stream = watch(ada, { types: [NOTIFICATION_CREATED] }, tokenWith(['read:notification']))
    expect(await stream.next()).toEqual({ cursor: expect.any(String) })
  })
})

function tokenWith(scopes: string[]): Credential {
  return { kind: 'token', uuid: 'a token', scopes: Scopes.parse(scopes) }
}

/** Lets a stream run until it waits, or reads from PostgreSQL. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
