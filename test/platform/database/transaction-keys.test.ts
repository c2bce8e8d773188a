import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { withLease } from '../../../src/platform/concurrency/leases.ts'
import { transactionOf } from '../../../src/platform/database/database.ts'
import type { Tx } from '../../../src/platform/database/schema.ts'
import { isOnPostgres, openTestDatabase } from '../../support/database.ts'

/** Stores an id unless there are as many as the limit. */
async function storeBelow(tx: Tx, limit: number, id: string): Promise<void> {
  const rows = await tx.selectFrom('data_folders').select('id').execute()
  if (rows.length < limit) await tx.insertInto('data_folders').values({ id }).execute()
}

it('transactions with a common key see each other, in any order of their keys, and none fails', async () => {
  const db = await openTestDatabase()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 60 }, (_, i) => {
      const own = `own ${i % 3}`
      const keys = i % 2 === 0 ? ['common', own] : [own, 'common']
      return transactionOf(db, keys, (tx) => storeBelow(tx, 20, `folder ${i}`))
    }),
  )
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([])
  expect(await db.selectFrom('data_folders').select('id').execute()).toHaveLength(20)
  await db.destroy()
})

it.skipIf(!isOnPostgres)(
  'locks and checks go to PostgreSQL together with statements of the work (skipped on SQLite)',
  async () => {
    const db = await openTestDatabase()
    const store = (id: string) => transactionOf(db, ['common'], (tx) => storeBelow(tx, 20, id))
    await store('first')
    const sent = vi.spyOn(pg.Client.prototype, 'query')
    await store('second')
    expect(sent).toHaveBeenCalledTimes(3)
    sent.mockClear()
    // No server has this number, so that nobody holds its lock.
    const lost = withLease({ holder: 4_711, check() {} }, () => store('third'))
    await expect(lost).rejects.toThrow('a lock of this server was lost')
    // The fourth rolls back.
    expect(sent).toHaveBeenCalledTimes(4)
    sent.mockRestore()
    await store('fourth')
    expect(
      (await db.selectFrom('data_folders').select('id').orderBy('id').execute()).map(
        ({ id }) => id,
      ),
    ).toEqual(['first', 'fourth', 'second'])
    await db.destroy()
  },
)
