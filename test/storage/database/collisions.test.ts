import { setTimeout as sleep } from 'node:timers/promises'
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

it('a slow transaction succeeds beside a stream of short ones that change the same row', async () => {
  const db = await openTestDatabase()
  await db.insertInto('data_folders').values({ id: 'first' }).execute()
  const rename = (waitMs: number) =>
    transaction(db, async (tx) => {
      const row = await tx.selectFrom('data_folders').select('id').executeTakeFirstOrThrow()
      await sleep(waitMs)
      await tx
        .updateTable('data_folders')
        .set({ id: `${row.id.slice(0, 5)} ${waitMs}` })
        .execute()
    })
  let isOver = false
  const streams = Array.from({ length: 3 }, async () => {
    while (!isOver) await rename(1)
  })
  try {
    for (let count = 0; count < 5; count++) await rename(40)
  } finally {
    isOver = true
    await Promise.all(streams)
  }
  await db.destroy()
})
