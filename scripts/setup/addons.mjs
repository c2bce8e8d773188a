import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join, resolve } from 'node:path'
import { usesNodeApi } from '../../src/platform/database/sqlite-choice.mjs'
import { abiOf, addonKey, cacheFolder, currentLibc, publish, restore } from './addon-cache.mjs'
import { lastLines, root, run } from './child-process.mjs'
import { withLock } from './lock.mjs'
import { Failure } from './progress.mjs'
import { compilePackages, ensureSystemPackages } from './system-packages.mjs'

/**
 * A native addon at the version of the lock file.
 * @typedef {{ name: string, file: string, version: string, key: string, duration: string }} Addon
 */

/**
 * Returns the native addons without a prebuilt binary for this Node. `duration` is the time to
 * compile on two cores.
 * @returns {Addon[]}
 */
export function listAddons() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const { modules: abi } = process.versions
  const { platform, arch } = process
  const libc = currentLibc()
  return [
    ...(usesNodeApi
      ? []
      : [{ name: 'better-sqlite3', file: 'better_sqlite3.node', duration: 'about a minute' }]),
    { name: 'nodegit', file: 'nodegit.node', duration: 'about four minutes' },
  ].map((addon) => {
    const { version } = packages[`node_modules/${addon.name}`]
    return {
      ...addon,
      version,
      key: addonKey({ name: addon.name, version, abi, platform, arch, libc }),
    }
  })
}

/**
 * Returns whether an addon is neither installed nor cached, so that a compiler is needed.
 * @param {Addon} addon
 */
export function mustCompile(addon) {
  return !isInPlace(addon) && !existsSync(join(cacheFolder(), addon.key, addon.file))
}

/**
 * Installs an addon into its package, from the cache or by compilation. Throws a `Failure` if it
 * does not compile or does not load.
 * @param {Addon} addon
 * @param {(what: string) => void} say
 * @returns {Promise<string>} the result in a few words
 */
export async function ensureAddon(addon, say) {
  if (isInPlace(addon)) return 'in place'
  if (restore(cacheFolder(), addon.key, addonPath(addon), addon.file)) {
    if (await loads(addon)) {
      writeFileSync(markPath(addon), addon.key)
      return 'from the cache'
    }
    say('the cached copy does not load here')
  }
  return compileOnce(addon, say)
}

/**
 * Loads the prebuilt binary of better-sqlite3 for this Node. npm skips the optional package without
 * a message if its installation fails. Throws a `Failure` if the binary does not load.
 * @returns {Promise<string>} the result in a few words
 */
export async function checkReadyMade() {
  const { code, output } = await run(process.execPath, [
    '-e',
    "new (require('better-sqlite3-napi'))(':memory:')",
  ])
  if (code === 0) return 'ready-made'
  throw new Failure(
    'better-sqlite3-napi does not load: remove node_modules and try again; where its package has no binary for this platform, use Node 20.',
    lastLines(output),
  )
}

/**
 * Concurrent set-ups of several clones compile an addon once: the second one waits for the first
 * and uses its result from the cache.
 */
async function compileOnce(/** @type {Addon} */ addon, /** @type {(what: string) => void} */ say) {
  const cache = cacheFolder()
  const lock = join(cache, `${addon.key}.lock`)
  const onWait = (/** @type {number} */ owner) =>
    say(`process ${owner} is compiling it; waiting (its lock is ${lock})`)
  return withLock(lock, onWait, async () => {
    const isShared = restore(cache, addon.key, addonPath(addon), addon.file) && (await loads(addon))
    if (!isShared) {
      const headers = await compile(addon, say)
      checkAbi(addon, headers)
      rmSync(join(cache, addon.key), { recursive: true, force: true })
      publish(cache, addon.key, addonPath(addon), addon.file)
      // Object files are many times the size of the addon and are not needed again.
      rmSync(join(packageFolder(addon), 'build'), { recursive: true, force: true })
      restore(cache, addon.key, addonPath(addon), addon.file)
      if (!(await loads(addon))) {
        throw new Failure(
          `${addon.name} ${addon.version} was compiled but does not load: look at \`node -e "require('${addon.name}')"\`.`,
        )
      }
    }
    writeFileSync(markPath(addon), addon.key)
    return isShared ? 'from the cache' : 'compiled'
  })
}

async function compile(/** @type {Addon} */ addon, /** @type {(what: string) => void} */ say) {
  // Requested again, because it was unknown that a cached copy does not load when the system
  // packages were listed.
  await ensureSystemPackages({ required: compilePackages, optional: [] }, say)
  say(`compiling ${addon.version}, ${addon.duration} on two cores`)
  const headers = headersFolder()
  say(`compiling with the headers ${headersText(headers)}`)
  const { code, output } = await run(
    'node-gyp',
    ['rebuild', '--release', ...(headers === undefined ? [] : [`--nodedir=${headers}`])],
    {
      cwd: packageFolder(addon),
      env: {
        JOBS: String(os.availableParallelism()),
        // `npm run` passes the `nodedir` of npm's configuration on, which node-gyp prefers to its option.
        npm_config_nodedir: headers,
      },
    },
  )
  if (code === 0) return headers
  throw new Failure(
    `${addon.name} ${addon.version} did not compile: read the compiler's output above. It needs ${compilePackages.map((p) => p.name).join(', ')}${headers === undefined ? ', and the network for the headers of Node' : ''}.`,
    lastLines(output),
  )
}

/**
 * Throws a `Failure` if an addon was compiled for another version of Node, so that the cache never has
 * it under the name of this version.
 */
function checkAbi(/** @type {Addon} */ addon, /** @type {string | undefined} */ headers) {
  const abi = abiOf(readFileSync(addonPath(addon)))
  if (abi === undefined || abi === process.versions.modules) return
  throw new Failure(
    `${addon.name} ${addon.version} was compiled for the ABI ${abi}, not for ${process.versions.modules} of this Node, with the headers ${headersText(headers)}: remove nodedir from the configuration of npm, and npm_config_nodedir from the environment.`,
  )
}

function headersText(/** @type {string | undefined} */ headers) {
  return headers === undefined ? 'that node-gyp downloads' : `in ${headers}`
}

/** Returns the folder of the headers of this Node. With undefined, node-gyp downloads them. */
function headersFolder() {
  const besideNode = resolve(process.execPath, '../..')
  return [besideNode, '/usr'].find((folder) => {
    const header = join(folder, 'include', 'node', 'node_version.h')
    return (
      existsSync(header) &&
      readFileSync(header, 'utf8').includes(`NODE_MODULE_VERSION ${process.versions.modules}`)
    )
  })
}

function packageFolder(/** @type {Addon} */ addon) {
  return join(root, 'node_modules', addon.name)
}

function addonPath(/** @type {Addon} */ addon) {
  return join(packageFolder(addon), 'build', 'Release', addon.file)
}

/**
 * Returns the path of a file that is written when the addon has been loaded once. npm ci removes it
 * together with the addon.
 */
function markPath(/** @type {Addon} */ addon) {
  return `${addonPath(addon)}.key`
}

function isInPlace(/** @type {Addon} */ addon) {
  return (
    existsSync(addonPath(addon)) &&
    existsSync(markPath(addon)) &&
    readFileSync(markPath(addon), 'utf8') === addon.key
  )
}

/** In a separate process, because a broken addon may crash the process that loads it. */
async function loads(/** @type {Addon} */ addon) {
  const { code } = await run(process.execPath, ['-e', 'require(process.argv[1])', addonPath(addon)])
  return code === 0
}
