import { expect, it } from 'vitest'
import { countDueIndexes } from '../../../../src/forge/repositories/search/code-index.rows.ts'
import { waitingIndexes } from '../../../../src/forge/repositories/search/code-index-checks.ts'
import { testApp } from '../../../support/app.ts'
import { plansOf } from '../../../support/query-plan.ts'

const MINUTE_MS = 60_000

it('counts the repositories whose turn has come, and how long the first one has waited', async () => {
  const app = await testApp()
  const now = app.clock.now()
  const due = async (repository_id: number, due_time: number | null) =>
    app.db.insertInto('code_indexes').values({ repository_id, due_time }).execute()
  expect(await waitingIndexes(app)).toEqual({ count: 0, ageSeconds: 0 })
  // As after an upgrade: due at once, without a time.
  await due(1, 0)
  expect(await waitingIndexes(app)).toEqual({ count: 1, ageSeconds: 0 })
  await due(2, now - MINUTE_MS)
  await due(3, now + MINUTE_MS)
  await due(4, null)
  expect(await waitingIndexes(app)).toEqual({ count: 2, ageSeconds: 60 })
  const [plan] = await plansOf(app.db, (db) => countDueIndexes(db, now))
  expect(plan?.join()).toContain('INDEX code_indexes_due')
})
