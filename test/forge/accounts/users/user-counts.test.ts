import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { insertAccount } from '../../../../src/forge/accounts/users/users.rows.ts'
import { wrongCounters } from '../../../../src/forge/administration/counters.rows.ts'
import { migrations } from '../../../../src/forge/migrations/index.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { isOnPostgres } from '../../../support/database.ts'

describe('the numbers of accounts', () => {
  let app: TestApp

  beforeAll(async () => {
    app = await testApp()
  })
  afterAll(() => app.db.destroy())

  const findWrong = async () => {
    const wrong = []
    for await (const { repair, ...counter } of wrongCounters(app.db)) {
      wrong.push(counter)
      await repair()
    }
    return wrong
  }

  it.runIf(isOnPostgres)(
    'let one account be created while another one is (skipped on SQLite, which has one writer)',
    async () => {
      const ada = await addUser(app, 'ada')
      await transaction(app.db, async (tx) => {
        await sql`update users set state = 'ARCHIVED' where id = ${ada.id}`.execute(tx)
        // This transaction ends only after the next one, which must not wait for a row of it.
        await addUser(app, 'ben')
      })
      expect(await findWrong()).toEqual([])
    },
  )

  it.runIf(isOnPostgres)(
    'do so while other connections end (skipped on SQLite, which has one writer)',
    async () => {
      const other = new pg.Client(process.env.BRANCHLINE_TEST_POSTGRES)
      await other.connect()
      await sql`select 1`.execute(app.db)
      const dora = await addUser(app, 'dora')
      // From here on, the pool has connections that are older and newer than that of the transaction.
      await Promise.all(Array.from({ length: 4 }, () => sql`select pg_sleep(0.1)`.execute(app.db)))
      await transaction(app.db, async (tx) => {
        await sql`update users set state = 'ARCHIVED' where id = ${dora.id}`.execute(tx)
        await other.end()
        await Promise.all(['finn', 'gus', 'hal'].map((name) => addUser(app, name)))
      })
      expect(await findWrong()).toEqual([])
    },
  )

  it('are right with and without the migration to shards, and are repaired', async () => {
    const step = migrations.find(({ name }) => name === '0081-user-count-shards')
    await addUser(app, 'cleo')
    await transaction(app.db, async (tx) => step?.down(tx))
    await addUser(app, 'dan')
    await transaction(app.db, async (tx) => step?.up(tx))
    const eve = await addUser(app, 'eve')
    await app.db.updateTable('users').set({ state: 'ARCHIVED' }).where('id', '=', eve.id).execute()
    await transaction(app.db, (tx) => insertAccount(tx, 'ORGANIZATION'))
    expect(await findWrong()).toEqual([])

    await sql`update user_counts set count = count + 7 where shard = 0 and state = 'NORMAL'`.execute(
      app.db,
    )
    expect(await findWrong()).toMatchObject([{ table: 'user_counts', key: 'NORMAL' }])
    expect(await findWrong()).toEqual([])
  })
})
