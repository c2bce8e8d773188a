import { afterEach, beforeEach, expect, it } from 'vitest'
import { CallDeadline, withDeadline } from '../../../src/platform/concurrency/call-deadlines.ts'
import { singleStatement, transaction } from '../../../src/platform/database/database.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'

let db: Db
beforeEach(async () => {
  db = await openTestDatabase()
})
afterEach(() => db.destroy())

async function insert(handle: Db, id: string): Promise<void> {
  await handle.insertInto('data_folders').values({ id }).execute()
}

async function ids(): Promise<string[]> {
  const rows = await db.selectFrom('data_folders').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

it('a single statement runs once beside others that change rows of the same pages', async () => {
  const names = Array.from({ length: 40 }, (_, i) => `folder ${i + 10}`)
  for (const name of names) await insert(db, name)
  let runs = 0
  await Promise.all(
    names.map((name) =>
      singleStatement(db, (handle) => {
        runs += 1
        return handle
          .updateTable('data_folders')
          .set({ id: `new ${name}` })
          .where('id', '=', name)
          .execute()
      }),
    ),
  )
  expect(await ids()).toEqual(names.map((name) => `new ${name}`))
  expect(runs).toBe(names.length)
})

it('a single statement in a transaction is a part of it', async () => {
  const failing = transaction(db, async (tx) => {
    await singleStatement(tx, (handle) => insert(handle, 'one'))
    throw new Error('the transaction fails')
  })
  await expect(failing).rejects.toThrow('the transaction fails')
  expect(await ids()).toEqual([])
})

it('a single statement is refused after the deadline of its call, and committed before', async () => {
  const late = new CallDeadline(performance.now())
  await expect(
    withDeadline(late, () => singleStatement(db, (handle) => insert(handle, 'late'))),
  ).rejects.toThrow('the deadline of the call has passed')
  expect(late.changesNothing).toBe(true)
  const early = new CallDeadline(Number.POSITIVE_INFINITY)
  await withDeadline(early, () => singleStatement(db, (handle) => insert(handle, 'early')))
  expect(early.committed).toBe(true)
  expect(await ids()).toEqual(['early'])
})
