import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findBranchProtection,
  findListed,
  findListings,
  listBranchProtections,
} from '../../../../src/forge/repositories/protection/branch-protections.rows.ts'
import {
  findBranchRename,
  listRenamesOf,
} from '../../../../src/forge/repositories/refs/branches.rows.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('branch protections', () => {
  it('and their lists are found by indexes, without rows of other repositories', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listBranchProtections(watched, 1)
      await findBranchProtection(watched, 1, 'main')
      await findListed(watched, 1)
      await findListings(watched, 1, 1)
      await findBranchRename(watched, 1, 'main')
      await listRenamesOf(watched, [1, 2])
    })
    expect(plans).toHaveLength(8)
    expect(plans.flat().filter((step) => step.startsWith('SCAN'))).toEqual([])
    expect(plans[0]?.[0]).toContain('(repository_id=?)')
    expect(plans[1]?.[0]).toContain('(repository_id=? AND rule_name=?)')
  })
})
