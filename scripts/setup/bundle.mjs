import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { unlessUpToDate } from './bundle-stamp.mjs'
import { root } from './child-process.mjs'
import { Failure } from './progress.mjs'
import { replaceFile } from './replace-file.mjs'
import { ssh2Corrections } from './ssh2-corrections.mjs'

/** The bundled server, a program that reads `process.argv`. */
export const bundlePath = join(root, 'dist', 'main.js')

/** Packages that load compiled files from their own folders. */
const ADDONS = ['nodegit', 'better-sqlite3', 'better-sqlite3-napi', '@node-rs/argon2']

/** What `ssh2` uses only where it was compiled. Without them Node does the same work. */
const OPTIONAL = ['cpu-features', '*/sshcrypto.node']

/** CommonJS packages in the bundle load the modules of Node by `require`, which a module lacks. */
const REQUIRE =
  "import { createRequire as createRequireOfNode } from 'node:module'; const require = createRequireOfNode(import.meta.url);"

/**
 * Bundles the server, unless the bundle is up to date. Throws a `Failure` with the messages of the
 * compiler.
 * @returns {Promise<string>} the result in a few words
 */
export function bundle() {
  return unlessUpToDate(join(root, 'dist', '.server.stamp'), build)
}

async function build() {
  // Imported here, because it exists only after the installation of the npm packages.
  const esbuild = await import('esbuild').catch((/** @type {Error} */ error) => {
    throw new Failure(
      'esbuild cannot be loaded: remove node_modules, then try again.',
      error.message,
    )
  })
  const result = await esbuild
    .build({
      absWorkingDir: root,
      entryPoints: {
        main: 'src/app/main.ts',
        cli: 'src/app/cli.ts',
        actions: 'src/app/cli/actions.ts',
        primary: 'src/app/cli/primary.ts',
        'worker-program': 'src/app/cli/worker-program.ts',
        'license-texts': 'src/forge/repositories/lifecycle/license-texts.ts',
        'markup-program': 'src/platform/markup/markup-program.ts',
        'process-spawner': 'src/platform/git/processes/process-spawner-program.ts',
        'ssh-program': 'src/platform/ssh/ssh-program.ts',
        'storage-peer': 'src/forge/administration/storage-peer-program.ts',
      },
      outdir: dirname(bundlePath),
      bundle: true,
      // A start reads a few files instead of two thousand, and takes a quarter less time.
      external: [...ADDONS, ...OPTIONAL],
      banner: { js: REQUIRE },
      plugins: [apart, ssh2Corrections, quickStart],
      write: false,
      metafile: true,
      format: 'esm',
      logLevel: 'silent',
      // Comments are a quarter of the packages. Names stay, so that a stack trace is readable.
      minifyWhitespace: true,
      lineLimit: 160,
      platform: 'node',
      sourcemap: 'linked',
      target: 'node20',
    })
    .catch((/** @type {Error} */ error) => {
      throw new Failure('The source does not compile: correct what is said above.', error.message)
    })
  const files = result.outputFiles.map(({ path, text }) => ({ path, contents: asAscii(text) }))
  const changed = files.filter(({ path, contents }) => !holds(path, contents))
  for (const { path, contents } of changed) replaceFile(path, contents)
  return {
    inputs: Object.keys(result.metafile.inputs),
    outputs: files.map(({ path }) => relative(root, path)),
    result: 'dist/main.js',
  }
}

/**
 * Keeps dynamic imports in files of their own: the commands, which main.ts loads after its check of
 * Node, the primary process of `serve --workers`, the texts of licences, and the actions, which help and version do not need. In one file, the packages of all
 * would be loaded at once.
 * @type {import('esbuild').Plugin}
 */
const apart = {
  name: 'apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/cli\.ts$/ }, () => ({ path: './cli.js', external: true }))
    onResolve({ filter: /^\.\/primary\.ts$/ }, () => ({ path: './primary.js', external: true }))
    onResolve({ filter: /^\.\/license-texts\.ts$/ }, () => ({
      path: './license-texts.js',
      external: true,
    }))
    onResolve({ filter: /^\.\/actions\.ts$/ }, () => ({
      path: './actions.js',
      external: true,
    }))
  },
}

/**
 * What packages do at their load, which takes 8 % of the CPU time of a start on Node 20.
 * @type {readonly { file: RegExp, from: string, to: string }[]}
 */
const SLOW_LOADS = [
  {
    // The package asks by a `Response` whether it runs at Cloudflare, where there is no `navigator`. That
    // loads the client for HTTP of Node.
    file: /[\\/]pg[\\/]lib[\\/]stream\.js$/,
    from: "if (typeof Response === 'function') {",
    to: 'if (false) {',
  },
  {
    // Generated descriptors are plain Base64. Without `Uint8Array.prototype.setFromBase64` the package
    // decodes them by a loop.
    file: /@bufbuild[\\/]protobuf[\\/]dist[\\/]esm[\\/]codegenv2[\\/]file\.js$/,
    from: 'base64Decode(b64)',
    to: "new Uint8Array(Buffer.from(b64, 'base64'))",
  },
]

/** @type {import('esbuild').Plugin} */
const quickStart = {
  name: 'quick-start',
  setup({ onLoad }) {
    for (const { file, from, to } of SLOW_LOADS)
      onLoad({ filter: file }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (text.split(from).length !== 2) throw new Error(`${path} does not have ${from} once`)
        return { contents: text.replace(from, to) }
      })
  },
}

/**
 * Escapes the characters that esbuild leaves: those in regular expressions. V8 would store the whole
 * text in two bytes per character because of one of them.
 */
function asAscii(/** @type {string} */ text) {
  const escaped = text.replace(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return Buffer.from(escaped)
}

function holds(/** @type {string} */ path, /** @type {Uint8Array} */ contents) {
  return existsSync(path) && readFileSync(path).equals(contents)
}
