import { expect, it } from 'vitest'
import { transaction } from '../../../src/storage/database/database.ts'
import { openTestDatabase } from '../../support/database.ts'

const LIMIT = 20

it('transactions that check one limit at the same time keep to it, and none fails', async () => {
  const db = await openTestDatabase()
  const stored = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      transaction(db, async (tx) => {
        const rows = await tx.selectFrom('data_folders').select('id').execute()
        if (rows.length === LIMIT) return false
        await tx
          .insertInto('data_folders')
          .values({ id: `folder ${i}` })
          .execute()
        return true
      }),
    ),
  )
  expect(stored.filter((isStored) => isStored)).toHaveLength(LIMIT)
  await db.destroy()
})
