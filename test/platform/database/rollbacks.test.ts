import { expect, it } from 'vitest'
import { transaction } from '../../../src/platform/database/database.ts'
import { onCommit, onRollback } from '../../../src/platform/database/rollbacks.ts'
import { openTestDatabase } from '../../support/database.ts'

it('reverses the effects of a failed transaction, and of no other', async () => {
  const db = await openTestDatabase()
  const effects = new Set<string>()
  const note = (name: string, failure?: Error) =>
    transaction(db, async (tx) => {
      effects.add(name)
      onRollback(tx, () => effects.delete(name))
      if (failure) throw failure
    })
  await note('kept')
  await expect(note('reversed', new Error('no'))).rejects.toThrow('no')
  expect([...effects]).toEqual(['kept'])
  await db.destroy()
})

it('starts work after the commit, which sees the changes, and never after a failure', async () => {
  const db = await openTestDatabase()
  const store = async (id: string, failure?: Error) => {
    let seen: Promise<unknown> | undefined
    const stored = transaction(db, async (tx) => {
      await tx.insertInto('data_folders').values({ id }).execute()
      onCommit(tx, () => {
        seen = db.selectFrom('data_folders').select('id').where('id', '=', id).executeTakeFirst()
      })
      if (failure) throw failure
    })
    await stored.catch(() => {})
    return seen
  }
  expect(await store('kept')).toEqual({ id: 'kept' })
  expect(await store('failed', new Error('no'))).toBeUndefined()
  await db.destroy()
})
