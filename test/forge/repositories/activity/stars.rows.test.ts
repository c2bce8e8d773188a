import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  countHiddenFollows,
  listFollows,
} from '../../../../src/forge/accounts/users/follows.rows.ts'
import type { UserViewer } from '../../../../src/forge/accounts/users/user-search.rows.ts'
import * as stars from '../../../../src/forge/repositories/activity/stars.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

const anybody: UserViewer = { visible: ['public'], viewerId: undefined }
const reader = {
  userId: 1,
  needsSignIn: false,
  restricted: false,
  publicOnly: false,
  administrator: 'none',
} as const

const sorts = (plans: string[][]) => plans.flat().filter((step) => step.includes('ORDER BY'))
const scans = (plans: string[][]) => plans.flat().filter((step) => step.startsWith('SCAN'))

describe('stars and followers', () => {
  it('are listed in the order of an index', async () => {
    const plans = await plansOf(db, async (watched) => {
      await stars.listStargazers(watched, 1, anybody, 0, 30)
      await stars.listStarredRepositories(watched, 1, reader, 0, 30)
      await listFollows(watched, 'followed_id', 1, anybody, { offset: 0, limit: 30 })
      await listFollows(watched, 'follower_id', 1, anybody, { offset: 0, limit: 30 })
    })
    expect(sorts(plans)).toEqual([])
    // Of those that are hidden, of whom there are few, and of the page itself.
    const few = /_hidden|^SCAN (page|listed)$/
    expect(scans(plans).filter((step) => !few.test(step))).toEqual([])
  })

  it('are counted by the users that are hidden, of whom there are few', async () => {
    const plans = await plansOf(db, async (watched) => {
      await stars.countHiddenStargazers(watched, 1, anybody)
      await countHiddenFollows(watched, 'followed_id', 1, anybody)
      await countHiddenFollows(watched, 'follower_id', 1, anybody)
    })
    expect(scans(plans).filter((step) => !step.includes('users_hidden'))).toEqual([])
    expect(plans.flat().join('\n')).toContain('users_hidden')
  })
})
