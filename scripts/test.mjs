// `npm test`: sets the clone up, then runs all checks and tests. `npm test -- transport/rpc` runs
// the tests that the arguments select (as in Vitest), and no checks.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checks, runChecks } from './checks/checks.mjs'
import { addTallies, summaryLine, tallyVitest } from './checks/tally.mjs'
import { root, run } from './setup/child-process.mjs'
import { explainFailure, printLine } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

const selection = process.argv.slice(2)
await explainFailure(() => setUp('test'))
const tallies = selection.length > 0 ? [] : [await runChecks(checks)]
const tally = addTallies([...tallies, await runTests(selection)])
for (const failure of tally.failures) printLine('FAIL', failure, process.stdout)
process.stdout.write(`${summaryLine(tally)}\n`)
process.exitCode = tally.failures.length > 0 ? 1 : 0

async function runTests(/** @type {readonly string[]} */ args) {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-test-'))
  const reportPath = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`]
  try {
    const { code } = await run(
      'vitest',
      ['run', '--config', 'test/vitest.config.ts', ...reporters, ...args],
      {
        show: true,
      },
    )
    const report = existsSync(reportPath) ? readFileSync(reportPath, 'utf8') : undefined
    return tallyVitest({ report, code, folder: root })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
