import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { transaction } from '../../src/platform/database/database.ts'
import type { Db } from '../../src/platform/database/schema.ts'
import { openTestDatabase } from '../support/database.ts'

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

it('a statement without a transaction succeeds although it and a transaction wait for each other', async () => {
  const db = await openTestDatabase()
  // In this order, in which PostgreSQL changes them.
  for (const id of ['second', 'first']) await db.insertInto('data_folders').values({ id }).execute()
  const mark = (handle: Db, id: string, text: string) =>
    handle
      .updateTable('data_folders')
      .set({ id: sql`id || ${sql.lit(text)}` })
      .where('id', 'like', id)
      .execute()
  let hasBegun = () => {}
  const begun = new Promise<void>((resolve) => {
    hasBegun = resolve
  })
  await Promise.all([
    transaction(db, async (tx) => {
      await mark(tx, 'first%', ' a')
      hasBegun()
      // The statement reaches the first row meanwhile.
      await sleep(200)
      await mark(tx, 'second%', ' a')
    }),
    begun.then(() => mark(db, '%', ' b')),
  ])
  const ids = (await db.selectFrom('data_folders').select('id').orderBy('id').execute()).map(
    ({ id }) => id,
  )
  // PostgreSQL ends one of them, which runs again, after the other one.
  expect([
    ['first a b', 'second a b'],
    ['first b a', 'second b a'],
  ]).toContainEqual(ids)
  await db.destroy()
})
