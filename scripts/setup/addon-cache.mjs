import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * Returns the folder of compiled addons. It is outside of the clone, so that all clones of a user
 * share it (XDG Base Directory Specification).
 * @param {Record<string, string | undefined>} [env]
 */
export function cacheFolder(env = process.env) {
  // The specification says to ignore a relative path.
  const base = env.XDG_CACHE_HOME?.startsWith('/')
    ? env.XDG_CACHE_HOME
    : join(env.HOME || homedir(), '.cache')
  return join(base, 'branchline', 'addons')
}

/**
 * Returns the name of a compiled addon: everything that decides whether it can be loaded.
 * @param {{ name: string, version: string, abi: string, platform: string, arch: string, libc:
 *   string }} parts `abi` is `process.versions.modules`
 */
export function addonKey({ name, version, abi, platform, arch, libc }) {
  return [name, version, `abi${abi}`, platform, arch, libc].join('-')
}

/**
 * Returns the ABI that an addon was compiled for, as `process.versions.modules` names ABIs; undefined
 * for an addon of Node-API, which every version loads.
 * @param {Buffer} file the content of the compiled addon
 */
export function abiOf(file) {
  return /node_register_module_v(\d+)/.exec(file.toString('latin1'))?.[1]
}

/** Returns the C library that Node runs on: `glibc` or `musl` on Linux, otherwise `system`. */
export function currentLibc() {
  if (process.platform !== 'linux') return 'system'
  // The loader of musl leaves out the field. Addresses of network interfaces are not needed and may
  // take seconds.
  Object.assign(process.report, { excludeNetwork: true })
  const report = process.report.getReport()
  const { header } = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (
    /** @type {unknown} */ (report)
  )
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
}

/**
 * Puts a file into the cache under `key`. The folder of the key appears with its complete content.
 * If another process has published it meanwhile, that one stays.
 * @param {string} cache
 * @param {string} key
 * @param {string} file
 * @param {string} name the file's name within the folder
 */
export function publish(cache, key, file, name) {
  mkdirSync(cache, { recursive: true })
  const draft = mkdtempSync(join(cache, '.draft-'))
  try {
    copyFileSync(file, join(draft, name), constants.COPYFILE_FICLONE)
    if (!existsSync(join(cache, key))) renameSync(draft, join(cache, key))
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/**
 * Copies a cached file to `target` and returns whether it exists. A process that has loaded the old
 * file keeps it.
 * @param {string} cache
 * @param {string} key
 * @param {string} target
 * @param {string} name the file's name within the folder
 */
export function restore(cache, key, target, name) {
  const cached = join(cache, key, name)
  if (!existsSync(cached)) return false
  mkdirSync(dirname(target), { recursive: true })
  const draft = `${target}.${process.pid}`
  copyFileSync(cached, draft, constants.COPYFILE_FICLONE)
  renameSync(draft, target)
  return true
}
