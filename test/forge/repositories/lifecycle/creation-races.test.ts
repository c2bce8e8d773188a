import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { userAsOwner } from '../../../../src/forge/accounts/users/owners.ts'
import { insertAccount } from '../../../../src/forge/accounts/users/users.rows.ts'
import { wrongCounters } from '../../../../src/forge/administration/counters.rows.ts'
import { migrations } from '../../../../src/forge/migrations/index.ts'
import { createRepositoryIn } from '../../../../src/forge/repositories/lifecycle/create-repository.ts'
import { removeRepository } from '../../../../src/forge/repositories/lifecycle/repositories.ts'
import { waitAtMost } from '../../../../src/platform/concurrency/wait-at-most.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { isOnPostgres } from '../../../support/database.ts'
import { addRepository, session } from '../../../support/forge-rows.ts'

/** Fewer than the connections of a server. */
const AT_ONCE = 6

/** Returns a function that waits until it was called so often. */
function meeting(count: number): () => Promise<void> {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  let arrived = 0
  return () => {
    arrived += 1
    if (arrived === count) resolve()
    return promise
  }
}

describe('the numbers of repositories', () => {
  let app: TestApp
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'branchline-'))
    app = await testApp({}, {}, folder)
  })
  afterAll(async () => {
    await app.db.destroy()
    await rm(folder, { recursive: true })
  })

  const findWrong = async () => {
    const wrong = []
    for await (const { repair, ...counter } of wrongCounters(app.db)) {
      wrong.push(counter)
      await repair()
    }
    return wrong
  }

  it.runIf(isOnPostgres)(
    'do not make all others run again (skipped on SQLite, which has one writer)',
    async () => {
      const users = []
      for (let i = 0; i < AT_ONCE; i++) users.push(await addUser(app, `user${i}`))
      const meet = meeting(AT_ONCE)
      let attempts = 0
      const addRows = async () => {
        attempts += 1
        // A transaction that runs again alone lets no other one in before it ends.
        await waitAtMost(meet(), 2_000)
      }
      const created = await Promise.all(
        users.map((user, i) => {
          const place = { owner: userAsOwner(user), makesAdministrator: false }
          return createRepositoryIn(app, session(user), place, draft(`tools-${i}`), { addRows })
        }),
      )
      expect(created).toHaveLength(AT_ONCE)
      // One row for all would let every one but the first run again, and all but two of these again.
      // PostgreSQL locks pages of small tables as a whole, so that one may run again by chance.
      expect(attempts).toBeLessThan(2 * AT_ONCE)
      expect(await findWrong()).toEqual([])

      for (const { repository } of created) await removeRepository(app, repository.id)
      expect(await findWrong()).toEqual([])
    },
  )

  it('are right with and without the migration to shards, and are repaired', async () => {
    const step = migrations.find(({ name }) => name === '0046-repository-count-shards')
    const add = (name: string, flag: 0 | 1) =>
      transaction(app.db, async (tx) => {
        const owner_id = await insertAccount(tx, 'ORGANIZATION')
        await addRepository(tx, { owner_id, name, private: flag })
      })
    await add('first', 0)
    await transaction(app.db, async (tx) => step?.down(tx))
    await add('second', 1)
    await transaction(app.db, async (tx) => step?.up(tx))
    await add('third', 1)
    await app.db
      .updateTable('repositories')
      .set({ private: 0 })
      .where('name', '=', 'third')
      .execute()
    expect(await findWrong()).toEqual([])

    await sql`update repository_counts set count = count + 7 where shard = 0 and private = 1`.execute(
      app.db,
    )
    expect(await findWrong()).toMatchObject([{ key: '1', stored: 8, actual: 1 }])
    expect(await findWrong()).toEqual([])
  })
})

function draft(name: string) {
  return {
    name,
    description: '',
    private: false,
    template: false,
    autoInit: false,
    defaultBranch: '',
    objectFormatName: '',
    readme: '',
    gitignores: '',
    license: '',
    issueLabels: '',
  }
}
