import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  countHooks,
  type HookPlace,
  listHooks,
  listListeningHooks,
} from '../../../../src/forge/webhooks/registration/webhooks.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('the webhooks that receive events of a repository', () => {
  it('are found by indexes, because every change of every repository looks for them', async () => {
    const [steps = []] = await plansOf(db, (watched) => listListeningHooks(watched, 1))
    const searches = steps.filter((step) => /SEARCH|SCAN/.test(step)).join('\n')
    expect(searches).toContain('user_webhooks_of_repository (repository_id=?)')
    expect(searches).toContain('user_webhooks_of_owner (owner_id=?)')
    // The index has only these webhooks.
    expect(searches).toMatch(/SCAN user_webhooks USING INDEX user_webhooks_of_system/)
    expect(searches.match(/SCAN/g)).toHaveLength(1)
  })

  it.each([
    { scope: 'repository', repository_id: 1 },
    { scope: 'owner', owner_id: 1 },
    { scope: 'system' },
  ] satisfies HookPlace[])('are listed by an index: $scope', async (place) => {
    const plans = await plansOf(db, async (watched) => {
      await listHooks(watched, place, 0, 10)
      await countHooks(watched, place)
    })
    for (const steps of plans) {
      expect(steps.join()).toContain(`user_webhooks_of_${place.scope}`)
      expect(steps.join()).not.toContain('TEMP B-TREE')
    }
  })
})
