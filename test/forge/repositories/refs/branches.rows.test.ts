import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertAccount } from '../../../../src/forge/accounts/users/users.rows.ts'
import {
  countBranches,
  findBranch,
  pageOfBranches,
  putBranches,
} from '../../../../src/forge/repositories/refs/branches.rows.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../../support/database.ts'
import { addRepository } from '../../../support/forge-rows.ts'
import { plansOf } from '../../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('branches', () => {
  it('are listed in the order of an index, without counting rows', async () => {
    const plans = await plansOf(db, async (watched) => {
      await pageOfBranches(watched, 1, '', 0, 30)
      await countBranches(watched, 1, '')
      await findBranch(watched, 1, 'main')
    })
    expect(plans).toEqual([
      ['SEARCH branches USING INDEX branches_latest (repository_id=?)'],
      ['SEARCH repositories USING INTEGER PRIMARY KEY (rowid=?)'],
      ['SEARCH branches USING PRIMARY KEY (repository_id=? AND name=?)'],
    ])
  })

  it('are searched by a part of a name within their repository', async () => {
    const plans = await plansOf(db, async (watched) => {
      await pageOfBranches(watched, 1, 'fix', 0, 30)
      await countBranches(watched, 1, 'fix')
    })
    // Any index of the names is good.
    const names = expect.stringMatching(
      /^SEARCH branches USING COVERING INDEX branches_\w+ \(repository_id=\?\)$/,
    )
    expect(plans).toEqual([
      ['SEARCH branches USING INDEX branches_latest (repository_id=?)'],
      [names],
    ])
  })

  it('have a count that stays correct when they are stored again', async () => {
    const { id } = await transaction(db, async (tx) =>
      addRepository(tx, { owner_id: await insertAccount(tx, 'USER'), name: 'engine' }),
    )
    const branch = (name: string) => ({
      repository_id: id,
      name,
      commit_id: '0'.repeat(40),
      commit_time: 1,
    })
    await transaction(db, (tx) => putBranches(tx, [branch('a'), branch('b')]))
    await transaction(db, (tx) => putBranches(tx, [branch('b'), branch('c')]))
    expect(await countBranches(db, id, '')).toBe(3)
    await db.deleteFrom('branches').where('name', '=', 'a').execute()
    expect(await countBranches(db, id, '')).toBe(2)
    expect(await countBranches(db, id, 'C')).toBe(1)
    // A branch of a deleted repository.
    expect(await countBranches(db, id + 1, '')).toBe(0)
  })
})
