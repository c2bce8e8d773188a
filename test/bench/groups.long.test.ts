import { describe, expect, it } from 'vitest'
import { isOnPostgres } from '../support/database.ts'
import { checkBench, groupsOfPage, HEAVY_GROUPS } from './bench-check.ts'

describe.skipIf(isOnPostgres)('npm run bench, which starts servers of its own', () => {
  it('is answered rightly in each group, apart from those that take long', async () => {
    const checked = await checkBench(...HEAVY_GROUPS.flatMap((name) => ['--except', name]))
    const shown = await groupsOfPage()
    expect([...checked].sort()).toEqual(shown.filter((name) => !HEAVY_GROUPS.includes(name)).sort())
    expect(shown).toEqual(expect.arrayContaining(HEAVY_GROUPS))
  })

  it.each(HEAVY_GROUPS)('is answered rightly in the group %s', async (name) => {
    expect(await checkBench(name)).toEqual([name])
  })
})
