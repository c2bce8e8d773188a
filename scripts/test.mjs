// `npm test`: sets the clone up, then runs all checks, all tests on SQLite, and the tests that use a
// database on PostgreSQL. `npm test -- transport/rpc` runs the tests on SQLite that the arguments
// select (as in Vitest), and no checks; `npm test -- --postgres stories/pulls` those on PostgreSQL.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checks, runChecks } from './checks/checks.mjs'
import { postgresPrograms } from './checks/postgres-programs.mjs'
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

const args = process.argv.slice(2)
const selection = args.filter((arg) => arg !== '--postgres')
const isPostgresOnly = args.includes('--postgres')
await explainFailure(() => setUp('test'))
const tallies = args.length > 0 ? [] : [await runChecks(checks)]
if (!isPostgresOnly) tallies.push(await runPass(onSqlite))
if (isPostgresOnly || selection.length === 0) tallies.push(await runOnPostgres())
const tally = addTallies(tallies)
for (const failure of tally.failures) printLine('FAIL', failure, process.stdout)
process.stdout.write(`${summaryLine(tally)}\n`)
process.exitCode = tally.failures.length > 0 ? 1 : 0

/** Without the programs of PostgreSQL, only a run that asks for them fails. */
async function runOnPostgres() {
  if (postgresPrograms || process.env.BRANCHLINE_TEST_POSTGRES) return runPass(onPostgres)
  const reason = 'tests on PostgreSQL: its programs are missing (package postgresql)'
  if (isPostgresOnly) return { passed: 0, failures: [reason], skipped: 0 }
  printLine('skip', reason, process.stdout)
  return { passed: 0, failures: [], skipped: 1 }
}

async function runPass(/** @type {Pass} */ { database, config, env }) {
  printLine('..', `tests on ${database}`, process.stdout)
  const startedAtMs = performance.now()
  const tally = nameTally(await runTests(config, env), `on ${database}`)
  const mark = tally.failures.length > 0 ? 'FAIL' : 'ok'
  const result = `${summaryLine(tally)} (${secondsSince(startedAtMs)})`
  printLine(mark, `tests on ${database}: ${result}`, process.stdout)
  return tally
}

async function runTests(/** @type {string} */ config, /** @type {Pass['env']} */ env) {
  const folder = mkdtempSync(join(tmpdir(), 'branchline-test-'))
  const reportPath = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`]
  try {
    const { code } = await run('vitest', ['run', '--config', config, ...reporters, ...selection], {
      show: true,
      env,
    })
    const report = existsSync(reportPath) ? readFileSync(reportPath, 'utf8') : undefined
    return tallyVitest({ report, code, folder: root })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
