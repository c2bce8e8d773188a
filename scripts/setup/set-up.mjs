import { join } from 'node:path'
import { judgeNode } from '../../src/node-version.mjs'
import { usesNodeApi } from '../../src/storage/database/sqlite-choice.mjs'
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
 * Sets a clone up: system packages, npm packages, compiled addons, the bundled server. Prints each
 * step and its duration on standard error, and skips finished steps. Throws a `Failure` whose
 * sentence says what to do.
 * @param {'serve' | 'test' | 'check'} purpose of the set-up: tests need more system packages,
 *   checks need only npm packages
 */
export async function setUp(purpose) {
  const { refusal, warning } = judgeNode(process.version)
  if (refusal !== undefined) throw new Failure(refusal)
  if (warning !== undefined) printLine('..', warning)
  const lock = join(root, 'dist', '.setup.lock')
  const onWait = (/** @type {number} */ owner) =>
    printLine('..', `process ${owner} is setting up this clone; waiting (its lock is ${lock})`)
  await withLock(lock, onWait, async () => {
    if (purpose === 'check') return step('npm packages', ensureNpmPackages)
    const addons = listAddons()
    const required = [...runPackages, ...(addons.some(mustCompile) ? compilePackages : [])]
    const optional = purpose === 'test' ? testPackages : []
    await step('system packages', (say) => ensureSystemPackages({ required, optional }, say))
    await step('npm packages', ensureNpmPackages)
    if (usesNodeApi) await step('better-sqlite3', checkReadyMade)
    await setUpAddons(addons)
    await step('server', bundle)
    await step('web pages', bundleWeb)
  })
}

/** Concurrently, because most of better-sqlite3 is a single C file, which uses a single core. */
async function setUpAddons(/** @type {import('./addons.mjs').Addon[]} */ addons) {
  const results = await Promise.allSettled(
    addons.map((addon) => step(addon.name, (say) => ensureAddon(addon, say))),
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}
