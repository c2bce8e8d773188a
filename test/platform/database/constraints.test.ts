import { afterAll, describe, expect, it } from 'vitest'
import { transaction } from '../../../src/platform/database/database.ts'
import { addUser, testApp } from '../../support/app.ts'
import { isOnPostgres } from '../../support/database.ts'

describe.runIf(isOnPostgres)(
  'a transaction (skipped on SQLite, which has one writer)',
  async () => {
    const app = await testApp()
    const { db } = app
    afterAll(() => db.destroy())

    it('finds a row that another one inserts meanwhile, and does not fail', async () => {
      let runs = 0
      const found = await transaction(db, async (tx) => {
        runs++
        const known = await tx.selectFrom('data_folders').select('id').executeTakeFirst()
        if (known) return known.id
        await db.insertInto('data_folders').values({ id: 'first' }).execute()
        await tx.insertInto('data_folders').values({ id: 'first' }).execute()
        return 'second'
      })
      expect([found, runs]).toEqual(['first', 2])
    })

    it('does not find a row that another one deletes meanwhile, and does not fail', async () => {
      const bob = await addUser(app, 'bob')
      const outcome = await transaction(db, async (tx) => {
        const users = tx.selectFrom('users').select('id').where('id', '=', bob.id)
        if (!(await users.executeTakeFirst())) return 'no bob'
        await db.deleteFrom('users').where('id', '=', bob.id).execute()
        const settings = {
          user_id: bob.id,
          locale: '',
          memo_visibility: 'PUBLIC' as const,
          theme: '',
        }
        await tx.insertInto('user_settings').values(settings).execute()
        return 'stored'
      })
      expect(outcome).toBe('no bob')
    })

    it('fails when its own rows violate a constraint', async () => {
      const twice = transaction(db, (tx) =>
        tx
          .insertInto('data_folders')
          .values([{ id: 'same' }, { id: 'same' }])
          .execute(),
      )
      await expect(twice).rejects.toThrow('duplicate key')
    })
  },
)
