import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findMemoSummaries,
  type NotificationTerm,
  scanNotifications,
} from '../../../../src/forge/memos/activity/notifications.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

/** Returns the query plan of the only query of some work. */
async function planOf(work: (db: Db) => Promise<unknown>): Promise<string[]> {
  const [plan = [], ...others] = await plansOf(db, work)
  expect(others).toEqual([])
  return plan
}

const UNREAD: NotificationTerm = { kind: 'status', among: ['UNREAD'] }
const RECENT: NotificationTerm = { kind: 'create_time', operator: '>=', seconds: 5 }
const COMMENTS: NotificationTerm = { kind: 'type', among: ['MEMO_COMMENT'] }

describe('a page of notifications', () => {
  // Without a step that sorts, because rows come in the order of the index.
  it.each([
    ['all', [], 'notifications_by_time (receiver_id=? AND create_time<?)'],
    ['of one type', [COMMENTS], 'notifications_by_time (receiver_id=? AND create_time<?)'],
    ['since a time', [RECENT], 'notifications_by_time (receiver_id=? AND create_time<?)'],
    [
      'of one status since a time',
      [RECENT, UNREAD],
      'notifications_by_status_and_time (receiver_id=? AND status=? AND create_time<?)',
    ],
    [
      'of one status',
      [UNREAD],
      'notifications_by_status_and_time (receiver_id=? AND status=? AND create_time<?)',
    ],
  ] as const)('is read from an index: %s', async (_, terms, index) => {
    const plan = await planOf((watched) =>
      scanNotifications(watched, 1, terms, { createTime: 9, id: 9 }, 10),
    )
    expect(plan).toEqual([`SEARCH notifications USING INDEX ${index}`])
  })
})

describe('summaries of memos', () => {
  it('are looked up one by one', async () => {
    const plan = await planOf((watched) => findMemoSummaries(watched, [1, 2, 3]))
    expect(plan).toEqual([
      'SEARCH memos USING INTEGER PRIMARY KEY (rowid=?)',
      'SEARCH root USING INTEGER PRIMARY KEY (rowid=?)',
    ])
  })
})
