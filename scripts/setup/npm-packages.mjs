import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastLines, root, run } from './child-process.mjs'
import { Failure } from './progress.mjs'

/**
 * npm prints a page of options after its message about the lock file, which would hide the message.
 */
const NPM_USAGE = 'npm error Clean install a project'

const stampPath = join(root, 'node_modules', '.branchline-setup')

/**
 * Returns a hash of everything that an installed node_modules depends on. Packages are installed
 * again when the hash changes. Scripts, description and version of the project are left out, so that
 * edits there, and a release, need no installation.
 * @param {{ lock: string, manifest: string, nodeVersion: string, platform: string }} sources the
 *   texts of the lock file and package.json
 */
export function fingerprint({ lock, manifest, nodeVersion, platform }) {
  const { dependencies, devDependencies, optionalDependencies, overrides } = JSON.parse(manifest)
  const sections = [dependencies, devDependencies, optionalDependencies, overrides]
  const { version: _, packages, ...rest } = JSON.parse(lock)
  const { '': __, ...installed } = packages ?? {}
  return createHash('sha256')
    .update(JSON.stringify([rest, installed, sections, nodeVersion, platform]))
    .digest('hex')
}

/**
 * The packages of a set-up: those that build and run the server, or all of the lock file.
 * @typedef {'production' | 'all'} PackageSet
 */

/**
 * Decides what to install. A stamp has the fingerprint of an installation and its set.
 * @param {string | undefined} stamp of the present installation, if there is one
 * @param {string} current the fingerprint of the lock file
 * @param {PackageSet} wanted
 * @returns {'nothing' | 'more' | 'anew'} `more` adds packages to those of the same lock file
 */
export function planInstallation(stamp, current, wanted) {
  const [installed, set] = stamp?.split(' ') ?? []
  if (installed !== current) return 'anew'
  return set === 'all' || set === wanted ? 'nothing' : 'more'
}

/**
 * Installs npm packages if the lock file has changed since their installation, or if only those of
 * a server are installed and all are wanted. Throws a `Failure` if npm fails.
 * @param {PackageSet} wanted
 * @param {(what: string) => void} say
 * @returns {Promise<string>} the result in a few words
 */
export async function ensureNpmPackages(wanted, say) {
  const current = fingerprint({
    lock: readFileSync(join(root, 'package-lock.json'), 'utf8'),
    manifest: readFileSync(join(root, 'package.json'), 'utf8'),
    nodeVersion: process.version,
    platform: `${process.platform}-${process.arch}`,
  })
  const stamp = existsSync(stampPath) ? readFileSync(stampPath, 'utf8') : undefined
  const plan = planInstallation(stamp, current, wanted)
  if (plan === 'nothing') return 'up to date'
  // A clone that had the packages of tests keeps them when the lock file changes.
  const set = stamp?.endsWith(' all') ? 'all' : wanted
  rmSync(stampPath, { force: true })
  await install(plan, set, say)
  writeFileSync(stampPath, `${current} ${set}`)
  return set === 'all' ? 'installed' : 'installed those of the server'
}

/**
 * `npm ci` removes node_modules first. `npm install` adds to it, so that a server that runs from
 * this clone keeps its packages and addons; the lock file was compared with package.json by the
 * `npm ci` before it.
 */
async function install(
  /** @type {'more' | 'anew'} */ plan,
  /** @type {PackageSet} */ wanted,
  /** @type {(what: string) => void} */ say,
) {
  const command = plan === 'more' ? ['install', '--no-save'] : ['ci']
  say(`npm ${command.join(' ')}`)
  const { code, output } = await run('npm', [
    ...command,
    // They would try to download prebuilt addons.
    '--ignore-scripts',
    // Said in both cases, since NODE_ENV=production changes what npm does without it.
    wanted === 'all' ? '--include=dev' : '--omit=dev',
    '--no-fund',
    '--no-audit',
  ])
  if (code === 0) return
  throw new Failure(
    `npm ${command[0]} failed: read its output above. If package.json was edited, run \`npm install --ignore-scripts\` first; otherwise check the network and the registry, then try again.`,
    lastLines(output.split(NPM_USAGE)[0] ?? ''),
  )
}
