import { beforeAll, describe, expect, it } from 'vitest'
import { listUsers } from '../../src/forge/accounts/users/users.ts'
import type { User } from '../../src/forge/core/schema.ts'
import { listNotifications } from '../../src/forge/memos/activity/notifications.ts'
import { getUserStats, listAllUserStats } from '../../src/forge/memos/activity/user-stats.ts'
import { listMemos, readMemoOrder } from '../../src/forge/memos/memo-list.ts'
import { createComment, createMemo, listMemoComments } from '../../src/forge/memos/memos.ts'
import { addUser, type TestApp, testApp } from '../support/app.ts'
import { countQueries } from '../support/query-plan.ts'
import { caller, draft, reader } from './memos/test-users.ts'

const COUNT = 12

let app: TestApp
let ada: User

beforeAll(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  const { memo } = await createMemo(app, caller(ada), draft('first', { uid: 'first' }))
  for (let i = 0; i < COUNT; i++) {
    const user = await addUser(app, `u${i}`)
    const content = `#a${i} #b${i} @ada`
    await createMemo(app, caller(user), draft(content, { visibility: 'PUBLIC' }))
    await createMemo(app, caller(ada), draft(content, { pinned: true }))
    await createComment(app, caller(ada), memo.uid, draft(content))
  }
})

/** The lists by name, with the queries of one page of any length. */
const lists: [string, number, (app: TestApp, limit: number) => Promise<{ length: number }>][] = [
  [
    'accounts',
    2,
    async (at, limit) =>
      (await listUsers(at, { includeArchived: false, username: undefined }, undefined, limit))
        .users,
  ],
  [
    'memos',
    3,
    async (at, limit) =>
      (await listMemos(at, reader(ada), 'NORMAL', '', { ...NEWEST, limit })).memos,
  ],
  [
    'comments',
    5,
    async (at, limit) =>
      (await listMemoComments(at, reader(ada), 'first', { ...NEWEST, limit })).memos,
  ],
  [
    'notifications',
    3,
    async (at, limit) => (await listNotifications(at, ada, [], undefined, limit)).notifications,
  ],
]

const NEWEST = { order: readMemoOrder(''), after: undefined }

function queriesOf(work: (watched: TestApp) => Promise<unknown>): Promise<number> {
  return countQueries(app.db, (db) => work({ ...app, db }))
}

describe('a page', () => {
  it.each(lists)('of %s takes %i queries, whatever its length', async (_, queries, list) => {
    for (const limit of [1, 2, COUNT]) {
      let length: number | undefined
      const taken = await queriesOf(async (watched) => {
        length = (await list(watched, limit)).length
      })
      expect({ length, taken }).toEqual({ length: limit, taken: queries })
    }
  })
})

describe('statistics', () => {
  it('of one account take five queries for each visibility, whatever they count', async () => {
    const other = await addUser(app, 'no-memos')
    for (const user of [ada, other])
      expect(await queriesOf((watched) => getUserStats(watched, reader(user), user))).toBe(15)
    expect(await queriesOf((watched) => getUserStats(watched, reader(other), ada))).toBe(10)
  })

  it('of all accounts take six queries', async () => {
    expect(await queriesOf((watched) => listAllUserStats(watched, reader(ada)))).toBe(6)
  })
})
