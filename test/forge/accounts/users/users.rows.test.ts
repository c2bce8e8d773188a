import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  findActiveUsersByUsernameKeys,
  findUsersByEmailKeys,
  findUsersByIds,
} from '../../../../src/forge/accounts/users/users.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

it.each([
  ['addresses', (on: Db) => findUsersByEmailKeys(on, ['a@example.org', 'b@example.org'])],
  ['ids', (on: Db) => findUsersByIds(on, [1, 2])],
  ['names', (on: Db) => findActiveUsersByUsernameKeys(on, ['ada', 'bob'])],
])('many accounts are looked up by an index in one query: %s', async (_, find) => {
  const [steps = [], ...others] = await plansOf(db, find)
  expect(others).toEqual([])
  expect(steps.join('\n')).toMatch(/SEARCH (users|account_names) USING/)
  expect(steps.join('\n')).not.toMatch(/SCAN (users|account_names)/)
})
