import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findDecisions, listFollowers } from '../../../src/forge/conversations/notices.rows.ts'
import {
  countThreads,
  listThreads,
  type ThreadSearch,
} from '../../../src/forge/notifications/threads.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Db, Tx } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

const OF_BOB: ThreadSearch = {
  userId: 2,
  reader: {
    userId: 2,
    needsSignIn: false,
    restricted: false,
    publicOnly: false,
    administrator: 'none',
  },
}

describe('the threads of a user', () => {
  it.each<[string, Partial<ThreadSearch>, RegExp]>([
    ['all', {}, /notification_threads_of_user \(user_id=\?\)/],
    [
      'unread ones',
      { statuses: ['UNREAD'] },
      /notification_threads_in_status \(user_id=\? AND status=\?\)/,
    ],
    [
      'those of a repository',
      { repositoryId: 3 },
      /notification_threads_of_repository \(repository_id=\? AND user_id=\?\)/,
    ],
  ])('are read in the order of an index: %s', async (_, narrowed, index) => {
    const search = { ...OF_BOB, ...narrowed }
    const [list = [], count = []] = await plansOf(db, async (watched) => {
      await listThreads(watched, search, 0, 30)
      await countThreads(watched, search)
    })
    expect(list[0]).toMatch(index)
    expect(list.filter((step) => /SCAN notification|TEMP B-TREE FOR ORDER/.test(step))).toEqual([])
    expect(count.join()).toMatch(/SEARCH notification_threads USING (COVERING )?INDEX/)
  })
})

it('the next followers of a pull request are read by the keys of their tables', async () => {
  const plans = await plansOf(db, (watched) =>
    transaction(watched, async (tx: Tx) => {
      const search = { conversationId: 1, repositoryId: 1, withWatchers: true }
      await listFollowers(tx, search, 5, 100)
      await findDecisions(tx, search, 7, [8, 9])
    }),
  )
  for (const steps of plans)
    expect(steps.filter((step) => /^SCAN (?!json_each)|TEMP B-TREE FOR ORDER/.test(step))).toEqual(
      [],
    )
})
