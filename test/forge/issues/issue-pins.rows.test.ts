import { afterAll, beforeAll, expect, it } from 'vitest'
import { listPinned } from '../../../src/forge/issues/issue-pins.rows.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

it('pins are read in the order of an index, however many issues there are', async () => {
  const plans = await plansOf(db, (watched) =>
    listPinned(watched, { repository_id: 1, is_pull: 0 }),
  )
  expect(plans).toEqual([
    ['SEARCH issues USING INDEX issues_pinned (repository_id=? AND is_pull=? AND pin_order>?)'],
  ])
})
