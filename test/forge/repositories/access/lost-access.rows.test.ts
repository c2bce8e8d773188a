import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  forgetUnreadable,
  type LostAccess,
} from '../../../../src/forge/repositories/access/lost-access.rows.ts'
import type { Db, Tx } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('stars and subscriptions that end with access', () => {
  it.each<[string, LostAccess]>([
    ['of a user on one repository', { userIds: [1], repositoryIds: [2] }],
    ['of a user on the repositories of an owner', { userIds: [1], ownerId: 3 }],
    ['of a user', { userIds: [1] }],
    ['on one repository', { repositoryIds: [2] }],
  ])('%s are found by an index', async (_, scope) => {
    const plans = await plansOf(db, (watched) => forgetUnreadable(watched as Tx, scope))
    expect(plans.map(([first]) => first)).toEqual([
      expect.stringMatching(/^SEARCH stars USING/),
      expect.stringMatching(/^SEARCH repository_subscriptions USING/),
    ])
  })
})
