import { describe, expect, it } from 'vitest'
import { repeatFailures } from '../../scripts/tests/repeated-failures.mjs'
import { summaryLine } from '../../scripts/tests/tally.mjs'

const [A, B] = ['test/a.test.ts > first', 'test/b.test.ts > second']

/** Repeats a run with some failures; those in `again` fail when they run alone, too. */
async function repeated(failures: string[], again: string[] = []) {
  const ran: string[] = []
  const tally = await repeatFailures(
    { passed: 10, failures, skipped: 0, unstable: [] },
    async (files) => {
      ran.push(...files)
      return { passed: 1, failures: again, skipped: 0, unstable: [] }
    },
  )
  return { ran, failures: tally.failures, summary: summaryLine(tally) }
}

describe('tests that failed in a whole run', () => {
  it('run again alone, and are unstable if they pass then', async () => {
    expect(await repeated([A, B], [B])).toEqual({
      ran: ['test/a.test.ts', 'test/b.test.ts'],
      failures: [B],
      summary: '11 passed, 1 failed, 0 skipped, 1 passed only when run again alone',
    })
  })

  it('fail if they fail again, and so does a file that fails for another reason then', async () => {
    expect((await repeated([A], [A])).failures).toEqual([A])
    const unloaded = 'test/a.test.ts: no such module'
    expect((await repeated([A], [unloaded])).failures).toEqual([unloaded])
  })

  it.each([
    ['none failed', []],
    ['many failed', Array.from({ length: 6 }, (_, i) => `test/${i}.test.ts > it`)],
    ['a failure belongs to no file', ['vitest ended with exit code 1', A]],
  ])('do not run again if %s', async (_, failures) => {
    expect(await repeated(failures, failures)).toMatchObject({ ran: [], failures })
  })
})
