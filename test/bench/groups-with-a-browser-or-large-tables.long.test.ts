import { describe, expect, it } from 'vitest'
import { isOnPostgres } from '../support/database.ts'
import { checkBench, HEAVY_GROUPS } from './bench-check.ts'

describe.skipIf(isOnPostgres)('npm run bench, which starts servers of its own', () => {
  it.each(HEAVY_GROUPS)('is answered rightly in the group %s', async (name) => {
    expect(await checkBench(name)).toEqual([name])
  })
})
