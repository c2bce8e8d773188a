import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/child-process.mjs'

/**
 * A run of Vitest.
 * @typedef {{
 *   database: 'SQLite' | 'PostgreSQL',
 *   more: readonly string[],
 *   files: readonly string[],
 *   needsPostgres: boolean,
 * }} Pass `more` are options of Vitest; `files` are parts of paths, none for all files
 */

/**
 * The tests that one command runs.
 * @typedef {{ command: string, hasChecks: boolean, passes: readonly Pass[], leftOut: string }} Tier
 *   `leftOut` says what other commands run
 */

const LONG = '.long.test.ts'
const WITHOUT_LONG = `--exclude=**/*${LONG}`
const BROWSERS = ['stories/web', 'clients/browser']

/**
 * Tests about protocols rather than rows. Some start slowly on PostgreSQL, or make SQLite busy. `npm run
 * test:postgres -- protocols` runs them.
 */
const ABOUT_PROTOCOLS = ['clients', 'protocols', 'edge', 'platform/http', 'platform/rpc']

/** What depends on the database most: queries, rules about rows, and concurrent changes. */
const ABOUT_ROWS = ['platform/database/', 'forge/', 'races']

/** @returns {Pass} */
const onSqlite = (/** @type {string[]} */ files, /** @type {string[]} */ more) => ({
  database: 'SQLite',
  files,
  more,
  needsPostgres: false,
})

/** @returns {Pass} */
const onPostgres = (/** @type {string[]} */ files, /** @type {string[]} */ more) => ({
  database: 'PostgreSQL',
  files,
  more,
  needsPostgres: true,
})

/** @type {Readonly<Record<string, Tier>>} */
export const tiers = {
  usual: {
    command: 'npm test',
    hasChecks: true,
    passes: [onSqlite([], [WITHOUT_LONG]), onPostgres(ABOUT_ROWS, [WITHOUT_LONG])],
    leftOut:
      'the other tests on PostgreSQL (npm run test:postgres), long tests (npm run test:long)',
  },
  postgres: {
    command: 'npm run test:postgres',
    hasChecks: false,
    passes: [
      onPostgres(
        [],
        [
          WITHOUT_LONG,
          '--exclude=stories/web/**',
          ...ABOUT_PROTOCOLS.map((path) => `--exclude=${path}/**`),
          ...ABOUT_ROWS.map((path) => `--exclude=**/*${path}*{,/**}`),
        ],
      ),
    ],
    leftOut:
      'tests on SQLite and those about rows (npm test), protocols (npm run test:postgres -- protocols), browsers and long tests (npm run test:long)',
  },
  long: {
    command: 'npm run test:long',
    hasChecks: false,
    passes: [onSqlite(longFiles(), []), onPostgres(BROWSERS, [])],
    leftOut: 'all other tests (npm test, npm run test:postgres)',
  },
}

/** Returns the files that are long, and those that do more in this tier: they import `support/tier.ts`. */
function longFiles() {
  const folder = join(root, 'test')
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .filter((name) => {
      const isLong = name.endsWith(LONG)
      return isLong || readFileSync(join(folder, name), 'utf8').includes("support/tier.ts'")
    })
}
