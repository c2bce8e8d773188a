import { join } from 'node:path'
import { judgeNode } from '../../src/app/node-version.mjs'
import { usesNodeApi } from '../../src/platform/database/sqlite-choice.mjs'
import { checkReadyMade, ensureAddon, listAddons, mustCompile } from './addons.mjs'
import { bundle } from './bundle.mjs'
import { bundleWeb } from './bundle-web.mjs'
import { root } from './child-process.mjs'
import { withLock } from './lock.mjs'
import { ensureNpmPackages } from './npm-packages.mjs'
import { Failure, printLine, step } from './progress.mjs'
import {
  compilePackages,
  ensureSystemPackages,
  runPackages,
  testPackages,
} from './system-packages.mjs'

/**
 * What a set-up prepares. `build` and `check` need npm packages only. `serve` and `measure` also need
 * the compiled addons and the bundles, and `test` the programs that tests drive.
 * @type {Record<string, { packages: import('./npm-packages.mjs').PackageSet, serves: boolean,
 *   programs: readonly import('./system-packages.mjs').SystemPackage[] }>}
 */
const PURPOSES = {
  build: { packages: 'production', serves: false, programs: [] },
  serve: { packages: 'production', serves: true, programs: [] },
  check: { packages: 'all', serves: false, programs: [] },
  measure: { packages: 'all', serves: true, programs: [] },
  test: { packages: 'all', serves: true, programs: testPackages },
}

/**
 * Sets a clone up: system packages, npm packages, compiled addons, the bundled server. Prints each
 * step and its duration on standard error, and skips finished steps. Throws a `Failure` whose
 * sentence says what to do.
 * @param {'build' | 'serve' | 'check' | 'measure' | 'test'} name of the purpose
 */
export async function setUp(name) {
  const { refusal, warning } = judgeNode(process.version)
  if (refusal !== undefined) throw new Failure(refusal)
  if (warning !== undefined) printLine('..', warning)
  const lock = join(root, 'dist', '.setup.lock')
  const onWait = (/** @type {number} */ owner) =>
    printLine('..', `process ${owner} is setting up this clone; waiting (its lock is ${lock})`)
  await withLock(lock, onWait, () => prepare(PURPOSES[name]))
}

async function prepare(/** @type {typeof PURPOSES[string]} */ { packages, serves, programs }) {
  const installPackages = () => step('npm packages', (say) => ensureNpmPackages(packages, say))
  if (!serves) return installPackages()
  const addons = listAddons()
  const required = [...runPackages, ...(addons.some(mustCompile) ? compilePackages : [])]
  await step('system packages', (say) =>
    ensureSystemPackages({ required, optional: programs }, say),
  )
  await installPackages()
  if (usesNodeApi) await step('better-sqlite3', checkReadyMade)
  await setUpAddons(addons)
  await step('server', bundle)
  await step('web pages', bundleWeb)
}

/** Concurrently, because most of better-sqlite3 is a single C file, which uses a single core. */
async function setUpAddons(/** @type {import('./addons.mjs').Addon[]} */ addons) {
  const results = await Promise.allSettled(
    addons.map((addon) => step(addon.name, (say) => ensureAddon(addon, say))),
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}
