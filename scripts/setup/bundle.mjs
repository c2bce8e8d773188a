import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './child-process.mjs'
import { Failure } from './progress.mjs'

/** The bundled server, a program that reads `process.argv`. */
export const bundlePath = join(root, 'dist', 'main.js')

/** Packages that load compiled files from their own folders. */
const ADDONS = ['nodegit', 'better-sqlite3', 'better-sqlite3-napi', '@node-rs/argon2']

/** CommonJS packages in the bundle load the modules of Node by `require`, which a module lacks. */
const REQUIRE =
  "import { createRequire as createRequireOfNode } from 'node:module'; const require = createRequireOfNode(import.meta.url);"

/**
 * Bundles the server. It always does so, since bundling takes less than a second. Throws a
 * `Failure` with the messages of the compiler.
 * @returns {Promise<string>} the result in a few words
 */
export async function bundle() {
  // Imported here, because it exists only after the installation of the npm packages.
  const { build } = await import('esbuild').catch((/** @type {Error} */ error) => {
    throw new Failure(
      'esbuild cannot be loaded: remove node_modules, then try again.',
      error.message,
    )
  })
  const result = await build({
    absWorkingDir: root,
    entryPoints: {
      main: 'src/main.ts',
      cli: 'src/cli.ts',
      'process-spawner': 'src/git/processes/process-spawner-program.ts',
    },
    outdir: dirname(bundlePath),
    bundle: true,
    // A start reads a few files instead of two thousand, and takes a quarter less time.
    external: ADDONS,
    banner: { js: REQUIRE },
    plugins: [cliApart],
    write: false,
    format: 'esm',
    logLevel: 'silent',
    platform: 'node',
    sourcemap: 'linked',
    target: 'node20',
  }).catch((/** @type {Error} */ error) => {
    throw new Failure('The source does not compile: correct what is said above.', error.message)
  })
  const changed = result.outputFiles.filter(({ path, contents }) => !holds(path, contents))
  for (const { path, contents } of changed) replace(path, contents)
  return changed.length === 0 ? 'up to date' : 'dist/main.js'
}

/**
 * Puts the imports of main.ts after its check into a separate file. In one bundle, the packages of
 * both would be loaded at once.
 * @type {import('esbuild').Plugin}
 */
const cliApart = {
  name: 'cli apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/cli\.ts$/ }, () => ({ path: './cli.js', external: true }))
  },
}

function holds(/** @type {string} */ path, /** @type {Uint8Array} */ contents) {
  return existsSync(path) && readFileSync(path).equals(contents)
}

/**
 * Replaces a file by a rename. A server that starts at this moment reads the old bundle or the new
 * one, never a part.
 */
function replace(/** @type {string} */ path, /** @type {Uint8Array} */ contents) {
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, contents)
  renameSync(draft, path)
}
