import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/storage/database/database.ts'
import { migrate } from '../../../src/storage/database/migrate.ts'
import {
  findBranchProtection,
  findListed,
  findListings,
  listBranchProtections,
} from '../../../src/storage/repos/branch-protections.ts'
import { findBranchRename, listRenamesOf } from '../../../src/storage/repos/branch-renames.ts'
import type { Db } from '../../../src/storage/schema/schema.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = openDatabase(':memory:')
  await migrate(db)
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
