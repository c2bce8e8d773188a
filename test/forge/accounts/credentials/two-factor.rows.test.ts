import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  confirmTwoFactor,
  consumePasscode,
  deleteTwoFactor,
  findTwoFactor,
  putPendingTwoFactor,
} from '../../../../src/forge/accounts/credentials/two-factor.rows.ts'
import type { TwoFactor } from '../../../../src/forge/accounts/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Db } from '../../../../src/platform/database/schema.ts'
import { addUser, testApp } from '../../../support/app.ts'

let db: Db
let userId: number

beforeEach(async () => {
  const app = await testApp()
  db = app.db
  userId = (await addUser(app, 'ada')).id
})
afterEach(() => db.destroy())

async function pending(secret: string): Promise<TwoFactor> {
  const row = await putPendingTwoFactor(db, userId, {
    secret: Buffer.from(secret),
    create_time: 100,
  })
  if (!row) throw new Error('confirmed already')
  return row
}

const confirm = (row: TwoFactor, step: number) =>
  transaction(db, (tx) => confirmTwoFactor(tx, row, step, 200))

describe('a second factor', () => {
  it('is replaced while it is pending, but not once it is confirmed', async () => {
    await pending('one')
    const two = await pending('two')
    await confirm(two, 5)
    await expect(pending('three')).rejects.toThrow('confirmed already')
    expect(await findTwoFactor(db, userId)).toEqual({
      user_id: userId,
      secret: Buffer.from('two'),
      last_used_step: 5,
      create_time: 100,
      confirm_time: 200,
      last_used_time: 200,
    })
  })

  it('consumes a step and all earlier ones, once', async () => {
    const row = await pending('one')
    await confirm(row, 5)
    const spent = []
    for (const step of [5, 4, 7, 7, 6, 8]) spent.push(await consumePasscode(db, row, step, 300))
    expect(spent).toEqual([false, false, true, false, false, true])
  })

  it('is not changed by a slow request after its owner has set up another one', async () => {
    const stale = await pending('one')
    await confirm(stale, 5)
    expect(await deleteTwoFactor(db, stale)).toBe(true)
    const fresh = await pending('two')
    expect(await confirm(stale, 6)).toBeUndefined()
    await confirm(fresh, 6)
    expect(await consumePasscode(db, stale, 7, 300)).toBe(false)
    expect(await deleteTwoFactor(db, stale)).toBe(false)
    expect(await findTwoFactor(db, userId)).toMatchObject({
      secret: fresh.secret,
      last_used_step: 6,
    })
  })
})
