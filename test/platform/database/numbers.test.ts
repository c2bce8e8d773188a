import { afterAll, expect, test } from 'vitest'
import { openTestDatabase } from '../../support/database.ts'

const db = await openTestDatabase()
afterAll(() => db.destroy())

test.each([2 ** 63, -(2 ** 63), 1e300])('no row has the number %d', async (number) => {
  const rows = db.selectFrom('users').select('id')
  expect(await rows.where('id', '=', number).execute()).toEqual([])
  expect(await rows.where('id', 'in', [number, 1]).execute()).toEqual([])
})
