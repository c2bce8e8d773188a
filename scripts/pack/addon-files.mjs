import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { usesNodeApi } from '../../src/platform/database/sqlite-choice.mjs'
import { root } from '../setup/child-process.mjs'

/** The packages with addons that this version of Node loads. All others are in the bundle. */
const PACKAGES = [
  'nodegit',
  usesNodeApi ? 'better-sqlite3-napi' : 'better-sqlite3',
  '@node-rs/argon2',
]

const PACKAGE_FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/

/**
 * Returns the files of the packages with addons: the modules that they can load, the compiled
 * addons, and the manifests and licences of the packages. Sources and build files are left out.
 * @returns {Promise<string[]>} paths from the root of the checkout
 */
export async function addonFiles() {
  const modules = [...(await loadableModules()), ...loadedFiles()]
  const folders = new Set(modules.flatMap((path) => PACKAGE_FOLDER.exec(path)?.[0] ?? []))
  const documents = [...folders].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => /^(?:package\.json|licen[cs]e\b.*|copying\b.*)$/i.test(name))
      .map((name) => `${folder}/${name}`),
  )
  return [...new Set([...modules, ...documents])].sort()
}

/** Returns the modules of JavaScript that the packages may load at any time. */
async function loadableModules() {
  const { build } = await import('esbuild')
  const { metafile } = await build({
    absWorkingDir: root,
    stdin: {
      contents: PACKAGES.map((name) => `require(${JSON.stringify(name)})`).join('\n'),
      resolveDir: root,
    },
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    // Compiled files, among them those of other platforms, which are not installed.
    external: ['*.node', '@node-rs/argon2-*'],
    logLevel: 'silent',
  })
  return Object.keys(metafile.inputs).filter((path) => existsSync(join(root, path)))
}

/** Returns the files that the packages load at once: in addition, the addons of this platform. */
function loadedFiles() {
  const require = createRequire(join(root, 'package.json'))
  for (const name of PACKAGES) require(name)
  const Sqlite = require(PACKAGES[1] ?? '')
  // The addon is loaded for the first database.
  new Sqlite(':memory:').close()
  return Object.keys(require.cache)
    .map((path) => relative(root, path))
    .filter((path) => path.startsWith('node_modules/') && isOfPackages(path))
}

/** Excludes what the scripts themselves load. */
function isOfPackages(/** @type {string} */ path) {
  return path.endsWith('.node') || path.endsWith('package.json')
}
