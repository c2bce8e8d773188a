// `npm test`: sets the clone up, then runs all checks and the usual tests; `npm run test:postgres` and
// `npm run test:long` run other tiers (`tests/tiers.mjs`). Arguments are parts of paths: `npm test --
// platform/rpc` runs the tests of the tier that they select (as in Vitest), and no checks.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checks, runChecks } from './checks/checks.mjs'
import { postgresPrograms } from './checks/postgres-programs.mjs'
import { root, run } from './setup/child-process.mjs'
import { explainFailure, printLine, secondsSince } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'
import { costLines } from './tests/costs.mjs'
import { repeatFailures } from './tests/repeated-failures.mjs'
import { addTallies, nameTally, summaryLine, tallyVitest } from './tests/tally.mjs'
import { tiers } from './tests/tiers.mjs'

const CONFIGS = {
  SQLite: 'test/vitest.config.ts',
  PostgreSQL: 'test/vitest.postgres.config.ts',
}

const tierOption = process.argv.slice(2).find((arg) => arg.startsWith('--tier='))
const selection = process.argv.slice(2).filter((arg) => arg !== tierOption)
const name = tierOption?.slice('--tier='.length) ?? 'usual'
const tier = tiers[name]
if (!tier) throw new Error(`there is no tier ${name}`)
const startedAtMs = performance.now()
await explainFailure(() => setUp('test'))
const tallies = tier.hasChecks && selection.length === 0 ? [await runChecks(checks)] : []
// Arguments of `npm test` select tests on SQLite.
const isSelected = (/** @type {import('./tests/tiers.mjs').Pass} */ pass) =>
  selection.length === 0 || pass === tier.passes[0]
for (const pass of tier.passes.filter(isSelected)) tallies.push(await runPass(pass))
const tally = addTallies(tallies)
if (selection.length === 0) printLine('..', `not run: ${tier.leftOut}`, process.stdout)
printLine('..', `${tier.command}: ${secondsSince(startedAtMs)}`, process.stdout)
for (const unstable of tally.unstable) printLine('UNSTABLE', unstable, process.stdout)
for (const failure of tally.failures) printLine('FAIL', failure, process.stdout)
process.stdout.write(`${summaryLine(tally)}\n`)
process.exitCode = tally.failures.length > 0 ? 1 : 0

async function runPass(/** @type {import('./tests/tiers.mjs').Pass} */ pass) {
  if (pass.needsPostgres && !postgresPrograms && !process.env.BRANCHLINE_TEST_POSTGRES)
    return withoutPostgres()
  printLine('..', `tests on ${pass.database}`, process.stdout)
  const startedAtMs = performance.now()
  const files = selection.length > 0 ? selection : pass.files
  // Arguments also select what the tier leaves out.
  const more = selection.length > 0 ? [] : pass.more
  const first = await runTests(pass, files, more)
  const runAlone = (/** @type {readonly string[]} */ failed) => {
    printLine('..', 'tests that failed, once more and alone', process.stdout)
    return runTests(pass, failed, [...more, '--no-file-parallelism'])
  }
  const result = selection.length > 0 ? first : await repeatFailures(first, runAlone)
  const tally = nameTally(result, `on ${pass.database}`)
  const mark = tally.failures.length > 0 ? 'FAIL' : 'ok'
  const summary = `${summaryLine(tally)} (${secondsSince(startedAtMs)})`
  printLine(mark, `tests on ${pass.database}: ${summary}`, process.stdout)
  return tally
}

/** Without the programs of PostgreSQL, only a run that asks for them fails. */
function withoutPostgres() {
  const reason = 'tests on PostgreSQL: its programs are missing (package postgresql)'
  if (name === 'postgres') return { passed: 0, failures: [reason], skipped: 0, unstable: [] }
  printLine('skip', reason, process.stdout)
  return { passed: 0, failures: [], skipped: 1, unstable: [] }
}

async function runTests(
  /** @type {import('./tests/tiers.mjs').Pass} */ { database },
  /** @type {readonly string[]} */ files,
  /** @type {readonly string[]} */ more,
) {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-test-'))
  const reportPath = join(folder, 'report.json')
  const costsPath = join(folder, 'costs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`]
  try {
    const all = ['run', '--config', CONFIGS[database], ...reporters, ...more, ...files]
    const env = {
      // Only the tests on PostgreSQL may know of a server.
      ...(database === 'SQLite' && { BRANCHLINE_TEST_POSTGRES: undefined }),
      TEST_TIER: name,
      TEST_COSTS: costsPath,
    }
    const { code } = await run('vitest', all, { show: true, env })
    const report = existsSync(reportPath) ? readFileSync(reportPath, 'utf8') : undefined
    for (const line of costLines(costsPath, join(root, 'test')))
      printLine('cost', line, process.stdout)
    return tallyVitest({ report, code, folder: root })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
