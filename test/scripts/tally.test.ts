import { describe, expect, it } from 'vitest'
import { addTallies, nameTally, summaryLine, tallyVitest } from '../../scripts/tests/tally.mjs'

const folder = '/clone'

function file(name: string, status: string, tests: Record<string, string>, message = '') {
  const assertionResults = Object.entries(tests).map(([fullName, state]) => ({
    fullName,
    status: state,
  }))
  return { name: `${folder}/test/${name}`, status, message, assertionResults }
}

function tally(code: number | null, ...testResults: object[]) {
  return tallyVitest({ report: JSON.stringify({ testResults }), code, folder })
}

describe('the tally of a Vitest run', () => {
  it('counts each test once', () => {
    const states = { ' a b': 'passed', ' a c': 'failed', ' a d': 'skipped', ' a e': 'todo' }
    expect(
      tally(1, file('a.test.ts', 'failed', states), file('b.test.ts', 'passed', { x: 'passed' })),
    ).toEqual({
      passed: 2,
      failures: ['test/a.test.ts > a c'],
      skipped: 2,
      unstable: [],
    })
  })

  it.each([
    [
      'a file that does not load',
      tally(1, file('a.test.ts', 'failed', {}, 'no such module')),
      'no such module',
    ],
    // A hook before all tests of a group throws: Vitest skips the tests and fails the file.
    [
      'a hook that throws',
      tally(1, file('a.test.ts', 'failed', { x: 'skipped' })),
      'test/a.test.ts',
    ],
    [
      'a test that never ended',
      tally(1, file('a.test.ts', 'passed', { x: 'pending' })),
      'x (did not end)',
    ],
    [
      'an error outside of every test',
      tally(1, file('a.test.ts', 'passed', { x: 'passed' })),
      'exit code 1',
    ],
    [
      'an end by a signal',
      tally(null, file('a.test.ts', 'passed', { x: 'passed' })),
      'exit code null',
    ],
    ['a report without tests', tally(0), 'without a report'],
    ['no report', tallyVitest({ report: undefined, code: 0, folder }), 'without a report'],
    [
      'a report that is cut short',
      tallyVitest({ report: '{"testResults":[{', code: 1, folder }),
      'without a report',
    ],
  ])('counts %s as one failure', (_, { failures }, failure) => {
    expect(failures).toEqual([expect.stringContaining(failure)])
  })
})

describe('the last line of a run', () => {
  it('sums up all that ran', () => {
    const checks = { passed: 5, failures: ['types'], skipped: 1, unstable: [] }
    const tests = { passed: 40, failures: ['test/a.test.ts > a'], skipped: 2, unstable: [] }
    expect(summaryLine(addTallies([checks, tests]))).toBe('45 passed, 2 failed, 3 skipped')
  })

  it('says of a failure in which run it happened', () => {
    const [sqlite, postgres] = ['on SQLite', 'on PostgreSQL'].map((run) =>
      nameTally({ passed: 1, failures: ['test/a.test.ts > a'], skipped: 0, unstable: [] }, run),
    )
    expect([sqlite?.failures, postgres?.failures]).toEqual([
      ['test/a.test.ts > a (on SQLite)'],
      ['test/a.test.ts > a (on PostgreSQL)'],
    ])
  })
})
