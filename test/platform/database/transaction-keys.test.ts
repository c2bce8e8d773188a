import { expect, it } from 'vitest'
import { transactionOf } from '../../../src/platform/database/database.ts'
import type { Tx } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'

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
