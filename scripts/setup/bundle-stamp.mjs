import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './child-process.mjs'
import { replaceFile } from './replace-file.mjs'

/**
 * Files of the bundler itself. esbuild does not list them as inputs. A change of the lock file is a
 * change of the packages in the bundle.
 */
const ALWAYS = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'src/web/tsconfig.json',
  'scripts/setup/bundle.mjs',
  'scripts/setup/bundle-groups.mjs',
  'scripts/setup/bundle-messages.mjs',
  'scripts/setup/bundle-stamp.mjs',
  'scripts/setup/bundle-web.mjs',
  'scripts/setup/ssh2-corrections.mjs',
]

/** How far the times of files may be behind the clock: a file system rounds them to ticks of the kernel. */
const TICK_MS = 50

/**
 * What a bundler read and wrote: paths from the root of the clone, and the result in a few words.
 * @typedef {{ inputs: readonly string[], outputs: readonly string[], result: string }} Built
 */

/**
 * Runs a bundler, unless its last run read the same files and all its results are still there. The
 * record of the last run has the names of the files and one hash of their contents, since hashing a
 * thousand files takes 0.1 s, and bundling them takes seconds on a busy machine.
 * @param {string} stamp the path of the record
 * @param {() => Promise<Built>} build
 * @param {string} [folder] what the paths are relative to, the root of the clone by default
 * @returns {Promise<string>} the result in a few words
 */
export async function unlessUpToDate(stamp, build, folder = root) {
  if (isUpToDate(stamp, folder)) return 'up to date'
  // A build that fails leaves no record.
  rmSync(stamp, { force: true })
  const startMs = Date.now() - TICK_MS
  const { inputs, outputs, result } = await build()
  // Packages change only with the lock file.
  const names = [...new Set([...ALWAYS, ...inputs])]
    .filter((name) => !name.startsWith('node_modules/'))
    .sort()
  // The bundler may have read what a file had before its last change: the next run builds again.
  if (names.some((name) => changedSince(join(folder, name), startMs))) return result
  const record = { hash: hashOf(names, folder), inputs: names, outputs }
  replaceFile(stamp, `${JSON.stringify(record)}\n`)
  return result
}

function isUpToDate(/** @type {string} */ stamp, /** @type {string} */ folder) {
  if (!existsSync(stamp)) return false
  const { hash, inputs, outputs } = JSON.parse(readFileSync(stamp, 'utf8'))
  return (
    outputs.every((/** @type {string} */ name) => existsSync(join(folder, name))) &&
    hashOf(inputs, folder) === hash
  )
}

function changedSince(/** @type {string} */ path, /** @type {number} */ timeMs) {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && stat.mtimeMs >= timeMs
}

/** A file that is absent counts as one without content. */
function hashOf(/** @type {readonly string[]} */ names, /** @type {string} */ folder) {
  const hash = createHash('sha256')
  for (const name of names) {
    const path = join(folder, name)
    const content = existsSync(path) ? readFileSync(path) : Buffer.alloc(0)
    hash.update(`${name}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}
