import { relative } from 'node:path'

/**
 * The results of a run: failures by name, the others by number. Unstable tests failed, and passed alone
 * afterwards (`repeated-failures.mjs`).
 * @typedef {{ passed: number, failures: string[], skipped: number, unstable: string[] }} Tally
 */

/**
 * The part of Vitest's JSON report that is used here.
 * @typedef {{
 *   name: string,
 *   status: string,
 *   message: string,
 *   assertionResults: { fullName: string, status: string }[]
 * }} FileReport
 */

/**
 * Counts a run of Vitest. Failures that are missing from the numbers of its report count too: a
 * file that does not load, a hook that throws, a test that never ended, an error outside of every
 * test (shown only by the exit code), and a missing report.
 * @param {{ report: string | undefined, code: number | null, folder: string }} run the text of the
 *   report. Names are shown relative to `folder`
 * @returns {Tally}
 */
export function tallyVitest({ report, code, folder }) {
  const files = filesOf(report)
  if (files === undefined || files.length === 0) {
    return {
      passed: 0,
      failures: [`vitest ended with exit code ${code} and without a report of any test`],
      skipped: 0,
      unstable: [],
    }
  }
  const tallies = files.map((file) => tallyFile(file, folder))
  const total = addTallies(tallies)
  if (code === 0 || total.failures.length > 0) return total
  const failure = `vitest ended with exit code ${code} although no test failed: an error outside of the tests, see above`
  return { ...total, failures: [failure] }
}

/** @returns {FileReport[] | undefined} undefined if the report is missing or incomplete */
function filesOf(/** @type {string | undefined} */ report) {
  if (report === undefined) return undefined
  try {
    return JSON.parse(report).testResults
  } catch {
    return undefined
  }
}

function tallyFile(
  /** @type {FileReport} */ { name, status, message, assertionResults },
  /** @type {string} */ folder,
) {
  const file = relative(folder, name)
  const statesOf = (/** @type {string[]} */ ...states) =>
    assertionResults.filter((a) => states.includes(a.status))
  const passed = statesOf('passed').length
  const skipped = statesOf('skipped', 'todo', 'disabled').length
  const failures = assertionResults
    .filter((a) => !['passed', 'skipped', 'todo', 'disabled'].includes(a.status))
    .map((a) => `${file} > ${a.fullName.trim()}${a.status === 'failed' ? '' : ' (did not end)'}`)
  if (status === 'failed' && failures.length === 0)
    failures.push(`${file}${message ? `: ${message}` : ''}`)
  return { passed, failures, skipped, unstable: [] }
}

/**
 * Returns the sum of several tallies.
 * @param {readonly Tally[]} tallies
 * @returns {Tally}
 */
export function addTallies(tallies) {
  return {
    passed: tallies.reduce((sum, t) => sum + t.passed, 0),
    failures: tallies.flatMap((t) => t.failures),
    skipped: tallies.reduce((sum, t) => sum + t.skipped, 0),
    unstable: tallies.flatMap((t) => t.unstable),
  }
}

/**
 * Returns a tally whose failures say to which run they belong.
 * @param {Tally} tally
 * @param {string} run
 * @returns {Tally}
 */
export function nameTally(tally, run) {
  const named = (/** @type {string} */ name) => `${name} (${run})`
  const { failures, unstable } = tally
  return { ...tally, failures: failures.map(named), unstable: unstable.map(named) }
}

/**
 * Returns the last line of a test run.
 * @param {Tally} tally
 */
export function summaryLine({ passed, failures, skipped, unstable }) {
  const line = `${passed} passed, ${failures.length} failed, ${skipped} skipped`
  return unstable.length === 0
    ? line
    : `${line}, ${unstable.length} passed only when run again alone`
}
