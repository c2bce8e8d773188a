import { beforeEach, describe, expect, it } from 'vitest'
import { deleteUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import {
  deleteUserEvents,
  findAccountsWithEvents,
  findNewestEventId,
  findUserEventLog,
  insertUserEvent,
  listOldestEvents,
  listUserEvents,
} from '../../../../src/forge/memos/activity/user-events.rows.ts'
import type { UserEvent } from '../../../../src/forge/memos/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Tx } from '../../../../src/platform/database/schema.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { plansOf } from '../../../support/query-plan.ts'

let app: TestApp
let ada: User
let bob: User
beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  bob = await addUser(app, 'bob')
})

function insert(user: User, type: UserEvent['type'] = 'MEMO_CREATED') {
  return transaction(app.db, (tx) =>
    insertUserEvent(tx, { user_id: user.id, type, resource: 'x', time: 7 }),
  )
}

const idsOf = (events: readonly { id: number }[]) => events.map(({ id }) => id)

describe('the events of an account', () => {
  it('are numbered over all accounts, and counted per account', async () => {
    expect([await insert(ada), await insert(bob), await insert(ada)]).toEqual([
      { id: 1, count: 1 },
      { id: 2, count: 1 },
      { id: 3, count: 2 },
    ])
    expect(await findUserEventLog(app.db, ada.id)).toEqual({
      user_id: ada.id,
      newest: 3,
      floor: 0,
      count: 2,
    })
    expect(await findNewestEventId(app.db)).toBe(3)
    expect(await findAccountsWithEvents(app.db, 1)).toEqual([
      { user_id: ada.id, newest: 3 },
      { user_id: bob.id, newest: 2 },
    ])
  })

  it('are read in order, after a position, by types, with the state of the log', async () => {
    for (const type of [
      'MEMO_CREATED',
      'NOTIFICATION_CREATED',
      'MEMO_CREATED',
      'MEMO_DELETED',
    ] as const) {
      await insert(ada, type)
      await insert(bob)
    }
    const log = { newest: 7, floor: 0 }
    const page = await listUserEvents(app.db, ada.id, 1, undefined, 2)
    expect(page.log).toMatchObject(log)
    expect(page.events).toEqual([
      { id: 3, type: 'NOTIFICATION_CREATED', resource: 'x', time: 7 },
      { id: 5, type: 'MEMO_CREATED', resource: 'x', time: 7 },
    ])
    const filtered = await listUserEvents(app.db, ada.id, 1, ['MEMO_CREATED', 'MEMO_UPDATED'], 9)
    expect([filtered.log, idsOf(filtered.events)]).toMatchObject([log, [5]])
    const nothing = await listUserEvents(app.db, ada.id, 7, undefined, 9)
    expect([nothing.log, nothing.events]).toMatchObject([log, []])
  })

  it('are none, and the log is empty, before the first event', async () => {
    expect(await listUserEvents(app.db, ada.id, 0, undefined, 9)).toEqual({
      log: { newest: 0, floor: 0 },
      events: [],
    })
    expect(await findUserEventLog(app.db, ada.id)).toMatchObject({ newest: 0, floor: 0, count: 0 })
    expect(await findNewestEventId(app.db)).toBe(0)
  })

  it('leave the end of the pruned events in the log, and never reuse an id', async () => {
    for (let i = 0; i < 3; i++) await insert(ada)
    await insert(bob)
    await transaction(app.db, async (tx) => {
      expect(idsOf(await listOldestEvents(tx, bob.id, 9))).toEqual([4])
      expect(idsOf(await listOldestEvents(tx, ada.id, 2))).toEqual([1, 2])
      await deleteUserEvents(tx, await listOldestEvents(tx, undefined, 9))
    })
    expect(await findUserEventLog(app.db, ada.id)).toMatchObject({ newest: 3, floor: 3, count: 0 })
    expect(await findUserEventLog(app.db, bob.id)).toMatchObject({ newest: 4, floor: 4, count: 0 })
    expect(await insert(ada)).toEqual({ id: 5, count: 1 })
  })

  it('are deleted with their account', async () => {
    await insert(ada)
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    expect(await findNewestEventId(app.db)).toBe(0)
    expect(await findUserEventLog(app.db, ada.id)).toMatchObject({ newest: 0 })
  })

  it('are found by an index, for any types', async () => {
    await insert(ada)
    const plans = await plansOf(app.db, async (watched) => {
      await listUserEvents(watched, ada.id, 5, ['MEMO_CREATED'], 9)
      await findUserEventLog(watched, ada.id)
      await listOldestEvents(watched as Tx, ada.id, 9)
    })
    expect(plans).toEqual([
      [
        'SEARCH log USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH event USING INDEX user_events_of_user (user_id=? AND id>?) LEFT-JOIN',
      ],
      ['SEARCH user_event_logs USING INTEGER PRIMARY KEY (rowid=?)'],
      ['SEARCH user_events USING INDEX user_events_of_user (user_id=?)'],
    ])
  })
})
