// `npm test`: sets the clone up, then runs all checks, all tests on SQLite, and the stories and tests
// of rows on PostgreSQL. `npm test -- transport/rpc` runs the tests on SQLite that the arguments
// select (as in Vitest), and no checks; `npm test -- --postgres stories/pulls` those on PostgreSQL.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checks, runChecks } from './checks/checks.mjs'
import { postgresPrograms } from './checks/postgres-programs.mjs'
import { repeatFailures } from './checks/repeated-failures.mjs'
import { addTallies, nameTally, summaryLine, tallyVitest } from './checks/tally.mjs'
import { root, run } from './setup/child-process.mjs'
import { explainFailure, printLine, secondsSince } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

/**
 * A run of tests on a database.
 * @typedef {{ database: string, config: string, env: NodeJS.ProcessEnv }} Pass
 */

/** @type {Pass} */
const onSqlite = {
  database: 'SQLite',
  config: 'test/vitest.config.ts',
  env: { BRANCHLINE_TEST_POSTGRES: undefined },
}
/** @type {Pass} */
const onPostgres = { database: 'PostgreSQL', config: 'test/vitest.postgres.config.ts', env: {} }

/**
 * Tests about protocols rather than rows, which `npm test` does not run again on PostgreSQL, since
 * all of it must end within the time of a build machine. `npm test -- --postgres` runs them, too.
 */
const ABOUT_PROTOCOLS = ['clients', 'protocols', 'services', 'transport'].map(
  (folder) => `--exclude=${folder}/**`,
)

const args = process.argv.slice(2)
const selection = args.filter((arg) => arg !== '--postgres')
const isPostgresOnly = args.includes('--postgres')
await explainFailure(() => setUp('test'))
const tallies = args.length > 0 ? [] : [await runChecks(checks)]
if (!isPostgresOnly) tallies.push(await runPass(onSqlite))
if (isPostgresOnly || selection.length === 0) tallies.push(await runOnPostgres())
const tally = addTallies(tallies)
for (const name of tally.unstable) printLine('UNSTABLE', name, process.stdout)
for (const failure of tally.failures) printLine('FAIL', failure, process.stdout)
process.stdout.write(`${summaryLine(tally)}\n`)
process.exitCode = tally.failures.length > 0 ? 1 : 0

/** Without the programs of PostgreSQL, only a run that asks for them fails. */
async function runOnPostgres() {
  const more = isPostgresOnly ? [] : ABOUT_PROTOCOLS
  if (postgresPrograms || process.env.BRANCHLINE_TEST_POSTGRES) return runPass(onPostgres, more)
  const reason = 'tests on PostgreSQL: its programs are missing (package postgresql)'
  if (isPostgresOnly) return { passed: 0, failures: [reason], skipped: 0, unstable: [] }
  printLine('skip', reason, process.stdout)
  return { passed: 0, failures: [], skipped: 1, unstable: [] }
}

async function runPass(
  /** @type {Pass} */ { database, config, env },
  /** @type {readonly string[]} */ more = [],
) {
  printLine('..', `tests on ${database}`, process.stdout)
  const startedAtMs = performance.now()
  const first = await runTests(config, env, more)
  const runAlone = (/** @type {readonly string[]} */ files) => {
    printLine('..', 'tests that failed, once more and alone', process.stdout)
    return runTests(config, env, [...more, '--no-file-parallelism', ...files])
  }
  const result = selection.length > 0 ? first : await repeatFailures(first, runAlone)
  const tally = nameTally(result, `on ${database}`)
  const mark = tally.failures.length > 0 ? 'FAIL' : 'ok'
  const summary = `${summaryLine(tally)} (${secondsSince(startedAtMs)})`
  printLine(mark, `tests on ${database}: ${summary}`, process.stdout)
  return tally
}

async function runTests(
  /** @type {string} */ config,
  /** @type {Pass['env']} */ env,
  /** @type {readonly string[]} */ more,
) {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-test-'))
  const reportPath = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`]
  try {
    const all = ['run', '--config', config, ...reporters, ...more, ...selection]
    const { code } = await run('vitest', all, { show: true, env })
    const report = existsSync(reportPath) ? readFileSync(reportPath, 'utf8') : undefined
    return tallyVitest({ report, code, folder: root })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
