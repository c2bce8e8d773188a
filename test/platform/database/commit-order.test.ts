import { expect, it } from 'vitest'
import {
  findAccountsWithEvents,
  insertUserEvent,
} from '../../../src/forge/memos/activity/user-events.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { addUser, testApp } from '../../support/app.ts'

const ACCOUNTS = 8
const EVENTS_OF_EACH = 10

it('shows events in the order of their ids while many accounts write', async () => {
  const app = await testApp()
  const events: Parameters<typeof insertUserEvent>[1][] = []
  for (let account = 0; account < ACCOUNTS; account++) {
    const { id } = await addUser(app, `user${account}`, { password_hash: '' })
    const event = { user_id: id, type: 'MEMO_CREATED', resource: 'memos/1', time: 0 } as const
    events.push(...Array.from({ length: EVENTS_OF_EACH }, () => event))
  }
  let isOver = false
  const writes = Promise.all(
    events.map((event) => transaction(app.db, (tx) => insertUserEvent(tx, event))),
  ).finally(() => {
    isOver = true
  })
  const accountsOf = new Map<number, number>()
  let newest = 0
  for (let isLast = false; !isLast; ) {
    isLast = isOver
    for (const found of await findAccountsWithEvents(app.db, newest)) {
      accountsOf.set(found.user_id, found.newest)
      newest = Math.max(newest, found.newest)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  const ids = (await writes).map(({ id }) => id)
  expect(newest).toBe(Math.max(...ids))
  // A reader that follows the newest id has met the last event of every account.
  for (const [account, last] of accountsOf) {
    const own = ids.filter((_, index) => events[index]?.user_id === account)
    expect(last).toBe(Math.max(...own))
  }
  expect(accountsOf.size).toBe(ACCOUNTS)
  await app.db.destroy()
})
