import { expect, it } from 'vitest'
import { transaction } from '../../../src/storage/database/database.ts'
import { onRollback } from '../../../src/storage/database/rollbacks.ts'
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
