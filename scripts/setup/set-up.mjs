import { join } from 'node:path'
import { ensureAddon, listAddons, mustCompile } from './addons.mjs'
import { bundle } from './bundle.mjs'
import { root } from './child-process.mjs'
import { withLock } from './lock.mjs'
import { ensureNpmPackages } from './npm-packages.mjs'
import { Failure, printLine, step } from './progress.mjs'
import { compilePackages, ensureSystemPackages, runPackages, testPackages } from './system-packages.mjs'

/** The oldest Node that the test runner accepts; `engines` in package.json says the same. */
const OLDEST_NODE = [20, 19]

/**
 * Whether a version of Node, such as `v20.20.2`, is new enough.
 * @param {string} version
 */
export function isNewEnough(version) {
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}

/**
 * Makes a fresh clone ready, or a used one ready again: system packages, npm packages, compiled addons, the bundled server. Prints each
 * step and its duration on standard error, and does only what is not done yet. Throws a `Failure` whose sentence says what to do.
 * @param {'serve' | 'test' | 'check'} purpose what to get ready for: tests need more system packages, checks need npm packages only
 */
export async function setUp(purpose) {
  if (!isNewEnough(process.version)) {
    throw new Failure(
      `Node ${OLDEST_NODE.join('.')} or newer is needed, this is ${process.version}: install a newer Node.`,
    )
  }
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
    await setUpAddons(addons)
    await step('server', bundle)
  })
}

/** At once, because most of better-sqlite3 is a single C file, which keeps a single core busy. */
async function setUpAddons(/** @type {import('./addons.mjs').Addon[]} */ addons) {
  const results = await Promise.allSettled(addons.map((addon) => step(addon.name, (say) => ensureAddon(addon, say))))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}
