import { beforeEach, describe, expect, it } from 'vitest'
import { RETENTION_MS } from '../../../../src/forge/core/event-logs.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { findUserEventLog } from '../../../../src/forge/memos/activity/user-events.rows.ts'
import {
  MAX_USER_EVENTS,
  pruneUserEvents,
  readUserEvents,
  recordMemoEvents,
  startOfUserEvents,
} from '../../../../src/forge/memos/activity/user-events.ts'
import type { MemoEvent } from '../../../../src/forge/memos/memo-view.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { storeMemo } from '../../../support/memo-rows.ts'
import { makeEvents } from '../../../support/user-events.ts'

const CURSOR_EXPIRED = expect.objectContaining({ reason: 'CURSOR_EXPIRED' })

let app: TestApp
let ada: User
let bob: User
beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  bob = await addUser(app, 'bob')
})

const numbered = (count: number) => Array.from({ length: count }, (_, i) => String(i))

/** Stores thousands of events at a time, which would take `makeEvents` seconds. */
async function storeMany(user: User, count: number): Promise<void> {
  const time = app.clock.now()
  for (let stored = 0; stored < count; stored += 1000) {
    const rows = Array.from({ length: Math.min(1000, count - stored) }, () => ({
      user_id: user.id,
      resource: 'x',
      time,
    }))
    await app.db
      .insertInto('user_events')
      .values(rows.map((row) => ({ ...row, type: 'MEMO_CREATED' as const })))
      .execute()
  }
  await app.db
    .insertInto('user_event_logs')
    .values({ user_id: user.id, newest: count, floor: 0, count })
    .execute()
}

describe('the events of an account', () => {
  it('start with new events', async () => {
    expect(await startOfUserEvents(app, ada, undefined)).toBe(0)
    await makeEvents(app, ada.id, ['a', 'b'])
    await makeEvents(app, bob.id, ['c'])
    expect(await startOfUserEvents(app, ada, undefined)).toBe(2)
    expect(await readUserEvents(app, ada, 2, undefined)).toEqual({
      events: [],
      next: 2,
      more: false,
    })
  })

  it('are read in pages, each after the previous one', async () => {
    await makeEvents(app, ada.id, numbered(100))
    await makeEvents(app, bob.id, ['not hers'])
    const read: string[] = []
    for (let position = 0, more = true; more; ) {
      const page = await readUserEvents(app, ada, position, undefined)
      read.push(...page.events.map(({ resource }) => resource))
      position = page.next
      more = page.more
    }
    expect(read).toEqual(numbered(100))
  })

  it('of other types are skipped', async () => {
    await makeEvents(app, ada.id, ['a'])
    await makeEvents(app, ada.id, ['b'], 'MEMO_DELETED')
    await makeEvents(app, ada.id, ['c', 'd'])
    const { events, next } = await readUserEvents(app, ada, 0, ['MEMO_DELETED'])
    expect([events.map(({ resource }) => resource), next]).toEqual([['b'], 4])
  })

  it('include changes of memos, for their creators and the creators of memos commented on', async () => {
    const memo = await storeMemo(app, ada)
    const comment = await storeMemo(app, bob, {}, memo)
    const record = (event: Pick<MemoEvent, 'type' | 'view' | 'commentedOn'>) =>
      transaction(app.db, (tx) =>
        recordMemoEvents(app, tx, {
          ...event,
          previousContent: undefined,
          timeMs: app.clock.now(),
        }),
      )
    await record({ type: 'memo.created', view: comment, commentedOn: memo })
    await record({ type: 'memo.updated', view: comment, commentedOn: undefined })
    await record({ type: 'memo.deleted', view: memo, commentedOn: undefined })
    const seenBy = async (user: User) =>
      (await readUserEvents(app, user, 0, undefined)).events.map(({ type, resource }) => [
        type,
        resource,
      ])
    expect(await seenBy(bob)).toEqual([
      ['MEMO_CREATED', comment.memo.uid],
      ['MEMO_UPDATED', comment.memo.uid],
    ])
    expect(await seenBy(ada)).toEqual([
      ['MEMO_COMMENT_CREATED', comment.memo.uid],
      ['MEMO_DELETED', memo.memo.uid],
    ])
  })
})

describe('pruning', () => {
  it('deletes old events, after which an older position has expired', async () => {
    await makeEvents(app, ada.id, ['old', 'older'])
    await makeEvents(app, bob.id, ['old too'])
    app.clock.advance(RETENTION_MS / 1000 - 1)
    await makeEvents(app, ada.id, ['young'])
    app.clock.advance(1)
    await pruneUserEvents(app)
    expect(await findUserEventLog(app.db, ada.id)).toMatchObject({ count: 3, floor: 0 })

    app.clock.advance(1)
    await pruneUserEvents(app)
    expect(await findUserEventLog(app.db, ada.id)).toMatchObject({ count: 1, floor: 2, newest: 4 })
    await expect(startOfUserEvents(app, ada, 1)).rejects.toEqual(CURSOR_EXPIRED)
    await expect(readUserEvents(app, ada, 1, undefined)).rejects.toEqual(CURSOR_EXPIRED)
    expect((await readUserEvents(app, ada, 2, undefined)).events).toMatchObject([
      { resource: 'young' },
    ])
    // A client that has seen the last event has missed nothing, although no event is left.
    expect(await startOfUserEvents(app, bob, 3)).toBe(3)
    expect(await startOfUserEvents(app, bob, undefined)).toBe(3)
  })

  it('deletes thousands of events in steps', async () => {
    await storeMany(ada, 2_300)
    app.clock.advance(RETENTION_MS / 1000 + 1)
    await pruneUserEvents(app)
    expect(await findUserEventLog(app.db, ada.id)).toMatchObject({ count: 0, floor: 2_300 })
  })

  it('deletes the oldest events of an account with too many', async () => {
    await storeMany(ada, MAX_USER_EVENTS)
    await makeEvents(app, ada.id, numbered(499))
    await app.background.settled()
    expect(await findUserEventLog(app.db, ada.id)).toMatchObject({
      count: MAX_USER_EVENTS + 499,
      floor: 0,
    })
    await makeEvents(app, ada.id, ['one more'])
    await app.background.settled()
    expect(await findUserEventLog(app.db, ada.id)).toMatchObject({
      count: MAX_USER_EVENTS,
      floor: 500,
    })
    expect((await readUserEvents(app, ada, 500, undefined)).events[0]).toMatchObject({ id: 501 })
  })

  it('rejects a position that is newer than a restored database', async () => {
    await makeEvents(app, ada.id, ['a'])
    await expect(startOfUserEvents(app, ada, 2)).rejects.toEqual(CURSOR_EXPIRED)
  })
})
