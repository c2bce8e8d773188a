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
 * again when the hash changes. Scripts and description of package.json are left out, so that edits
 * there need no installation.
 * @param {{ lock: string, manifest: string, nodeVersion: string, platform: string }} sources the
 *   texts of the lock file and package.json
 */
export function fingerprint({ lock, manifest, nodeVersion, platform }) {
  const { dependencies, devDependencies, optionalDependencies, overrides } = JSON.parse(manifest)
  const sections = [dependencies, devDependencies, optionalDependencies, overrides]
  return createHash('sha256')
    .update(JSON.stringify([lock, sections, nodeVersion, platform]))
    .digest('hex')
}

/**
 * Installs the npm packages if the lock file has changed since their installation. Throws a
 * `Failure` if npm fails.
 * @param {(what: string) => void} say
 * @returns {Promise<string>} the result in a few words
 */
export async function ensureNpmPackages(say) {
  const current = fingerprint({
    lock: readFileSync(join(root, 'package-lock.json'), 'utf8'),
    manifest: readFileSync(join(root, 'package.json'), 'utf8'),
    nodeVersion: process.version,
    platform: `${process.platform}-${process.arch}`,
  })
  if (existsSync(stampPath) && readFileSync(stampPath, 'utf8') === current) return 'up to date'
  rmSync(stampPath, { force: true })
  say('npm ci')
  // Without install scripts, which would try to download prebuilt addons. `--include=dev`, because
  // NODE_ENV=production leaves out the bundler and the compilers.
  const { code, output } = await run('npm', [
    'ci',
    '--ignore-scripts',
    '--include=dev',
    '--no-fund',
    '--no-audit',
  ])
  if (code !== 0) {
    throw new Failure(
      'npm ci failed: read its output above. If package.json was edited, run `npm install --ignore-scripts` first; otherwise check the network and the registry, then try again.',
      lastLines(output.split(NPM_USAGE)[0] ?? ''),
    )
  }
  writeFileSync(stampPath, current)
  return 'installed'
}
