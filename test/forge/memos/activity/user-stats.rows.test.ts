import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findAllMemoFigures,
  findMemoFigures,
} from '../../../../src/forge/memos/activity/user-stats.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

const OF_CREATOR = 'creator_id=? AND parent_id=? AND state=? AND visibility=?'

describe('the figures of one account', () => {
  it.each([
    ['create_time', `memos_of_creator_by_create_time (${OF_CREATOR})`],
    ['update_time', `memos_of_creator_by_update_time (${OF_CREATOR})`],
  ] as const)('are read from indexes alone, with times of %s', async (time, index) => {
    expect(await plansOf(db, (watched) => findMemoFigures(watched, 1, ['PUBLIC'], time))).toEqual([
      ['SEARCH memo_counts USING PRIMARY KEY (user_id=? AND visibility=?)'],
      ['SEARCH memo_tag_counts USING PRIMARY KEY (user_id=? AND visibility=?)'],
      ['SEARCH memo_tag_counts USING PRIMARY KEY (user_id=? AND visibility=?)'],
      ['CO-ROUTINE newest', `SEARCH memos USING COVERING INDEX ${index}`, 'SCAN newest'],
      [`SEARCH memos USING INDEX memos_of_creator_pinned_first (${OF_CREATOR} AND pinned=?)`],
    ])
  })
})

describe('the figures of all accounts', () => {
  it('are read with a constant number of queries, none of which scans all memos or tags', async () => {
    const plans = await plansOf(db, (watched) =>
      findAllMemoFigures(watched, ['PUBLIC', 'PROTECTED'], 1, 'create_time'),
    )
    expect(plans).toHaveLength(6)
    // All queries start from the rows of memo_counts, at most three per account.
    const scans = plans
      .flat()
      .filter((step) => step.startsWith('SCAN') && step !== 'SCAN memo_counts')
    expect(scans).toEqual([])
  })
})
