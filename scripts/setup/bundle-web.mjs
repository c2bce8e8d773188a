import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { fewerFiles } from './bundle-groups.mjs'
import { shortMessages } from './bundle-messages.mjs'
import { unlessUpToDate } from './bundle-stamp.mjs'
import { root } from './child-process.mjs'
import { Failure } from './progress.mjs'
import { replaceFile } from './replace-file.mjs'

/** The bundled pages. Each file has a hash in its name and compressed forms beside it. */
export const webFolder = join(root, 'dist', 'web')

/** The most compressed script that a browser loads before it shows a page for the first time. */
const SCRIPT_BUDGET_BYTES = 60_000

/** The pages about the API read the descriptors that the server publishes, by a package that no other page needs. */
const LARGER_BUDGETS = new Map([['src/web/explorer/api.page.tsx', 68_000]])

/** The most scripts that a browser loads before it shows a page for the first time. */
const MAX_SCRIPTS = 8

/** The first script of all pages. */
const MAIN = 'src/web/main.tsx'

/** The script that begins the calls of the first view. It imports no other file. */
const BEGIN = 'src/web/first-calls/begin.ts'

/** The texts of the languages that are not in the scripts. */
const CATALOGUES = { de: 'src/web/language/german.ts', fr: 'src/web/language/french.ts' }

/** The ending of the files of pages, whose names `src/web/routes.ts` has. */
const PAGE_ENDING = '.page.tsx'

const brotli = promisify(zlib.brotliCompress)
const gzip = promisify(zlib.gzip)

/**
 * Bundles the web pages, unless the bundle is up to date: one entry, one file for each page, and the
 * files that they share. Throws a `Failure` with the messages of the compiler, or if a page needs
 * more script than the budget.
 * @returns {Promise<string>} the result in a few words
 */
export function bundleWeb() {
  return unlessUpToDate(join(root, 'dist', '.web.stamp'), build)
}

async function build() {
  // The first build finds the modules that many pages need. The second one brings them into one file.
  const { metafile } = await compile([])
  const isPage = (/** @type {string} */ path) => path.endsWith(PAGE_ENDING)
  const result = await compile([fewerFiles(metafile, MAIN, isPage)])
  const outputs = new Map(
    Object.entries(result.metafile.outputs).map(([path, output]) => [basename(path), output]),
  )
  const files = withoutHelpers(result.outputFiles, outputs)
  const begin = await compileAlone(BEGIN)
  for (const [path, output] of Object.entries(begin.metafile.outputs))
    outputs.set(basename(path), output)
  for (const { path, contents } of begin.outputFiles) files.set(basename(path), contents)
  mkdirSync(webFolder, { recursive: true })
  const sizes = new Map()
  for (const [name, contents] of files) sizes.set(name, await store(name, contents))
  const manifest = manifestOf(outputs)
  const largest = checkBudget(outputs, sizes, [...manifest.scripts, manifest.begin])
  writeManifest(manifest)
  removeOthers(new Set(manifest.files))
  return {
    inputs: [...new Set([metafile, begin.metafile].flatMap(({ inputs }) => Object.keys(inputs)))],
    outputs: [...manifest.files.flatMap(withForms), 'manifest.json'].map(
      (name) => `dist/web/${name}`,
    ),
    result: `dist/web, at most ${(largest / 1000).toFixed(1)} KB of script before a page shows`,
  }
}

/**
 * Runs esbuild without writing files.
 *
 * @param {import('esbuild').Plugin[]} plugins
 */
async function compile(plugins) {
  // Imported here, because it exists only after the installation of the npm packages.
  const esbuild = await import('esbuild')
  return esbuild
    .build({
      absWorkingDir: root,
      entryPoints: [MAIN, 'src/web/style.css', 'src/web/icon.svg'],
      outdir: webFolder,
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      bundle: true,
      splitting: true,
      format: 'esm',
      target: 'es2022',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      loader: { '.svg': 'copy' },
      minify: true,
      // Licences of the packages are in the tarball (`scripts/pack/licences.mjs`).
      legalComments: 'none',
      metafile: true,
      write: false,
      logLevel: 'silent',
      plugins: [shortMessages(), iconsInStyles, stylesWithoutElements, ...plugins],
    })
    .catch((/** @type {Error} */ error) => {
      throw new Failure('The web pages do not compile: correct what is said above.', error.message)
    })
}

/**
 * Runs esbuild for a script that imports no other file.
 *
 * @param {string} entry
 */
async function compileAlone(entry) {
  const esbuild = await import('esbuild')
  return esbuild.build({
    absWorkingDir: root,
    entryPoints: [entry],
    outdir: webFolder,
    entryNames: '[name]-[hash]',
    bundle: true,
    format: 'iife',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  })
}

/**
 * Writes the icons into the style sheet, so that a page needs no request for them.
 * @type {import('esbuild').Plugin}
 */
const iconsInStyles = {
  name: 'icons-in-styles',
  setup({ onLoad }) {
    onLoad({ filter: /[/]lucide-static[/]icons[/][a-z-]+[.]svg$/ }, ({ path }) => ({
      // Without the comment, the class and the line breaks.
      contents: readFileSync(path, 'utf8')
        .replace(/<!--.*?-->/s, '')
        .replace(/\s*class="[^"]*"/, '')
        .replace(/\s+/g, ' ')
        .trim(),
      loader: 'dataurl',
    }))
  },
}

/**
 * The editor of files adds its styles to the style sheets of the document. By itself, `style-mod` does
 * so below a shadow root only, and writes a style element otherwise, which the policy of the pages
 * refuses.
 * @type {import('esbuild').Plugin}
 */
const stylesWithoutElements = {
  name: 'styles-without-elements',
  setup({ onLoad }) {
    onLoad({ filter: /[/]style-mod[/]src[/]style-mod[.]js$/ }, ({ path }) => {
      const parts = readFileSync(path, 'utf8').split('!root.head && root.adoptedStyleSheets')
      if (parts.length !== 2) throw new Error(`${path} has no place for its correction`)
      return { contents: parts.join('root.adoptedStyleSheets'), loader: 'js' }
    })
  },
}

/**
 * Returns the contents of the files by their names. Each script of esbuild that is an entry imports the
 * file of esbuild's helpers, also where the script uses no helper. That import goes, and with it a
 * request of each page.
 * @param {readonly import('esbuild').OutputFile[]} files
 * @param {Outputs} outputs whose imports the function changes in the same way.
 * @returns {Map<string, Uint8Array>}
 */
function withoutHelpers(files, outputs) {
  const isHelpers = (/** @type {string} */ name) => {
    const output = outputs.get(name)
    return output && !output.entryPoint && Object.keys(output.inputs).length === 0
  }
  return new Map(
    files.map(({ path, contents, text }) => {
      const name = basename(path)
      if (!name.endsWith('.js')) return [name, contents]
      const shorter = text.replace(/\bimport"[.][/]([^"]+)";?/g, (whole, imported) => {
        const output = outputs.get(name)
        if (!output || !isHelpers(imported)) return whole
        output.imports = output.imports.filter(({ path }) => basename(path) !== imported)
        return ''
      })
      return [name, Buffer.from(shorter)]
    }),
  )
}

/**
 * Writes a file and its compressed forms, unless the name with its hash is there already.
 * @param {string} name
 * @param {Uint8Array} contents
 * @returns {Promise<number>} the size of the Brotli form
 */
async function store(name, contents) {
  const path = join(webFolder, name)
  if (existsSync(`${path}.br`)) return readFileSync(`${path}.br`).length
  const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: zlib.constants.BROTLI_MAX_QUALITY }
  writeFileSync(path, contents)
  writeFileSync(`${path}.gz`, await gzip(contents, { level: 9 }))
  const small = await brotli(contents, { params })
  // The last one, since it marks the others as complete.
  writeFileSync(`${path}.br`, small)
  return small.length
}

/** Returns the names of a file and of its compressed forms. */
function withForms(/** @type {string} */ name) {
  return [name, `${name}.gz`, `${name}.br`]
}

/** @typedef {Map<string, import('esbuild').Metafile['outputs'][string]>} Outputs */

/** Returns what `src/edge/web-shell/bundle.ts` reads. */
function manifestOf(/** @type {Outputs} */ outputs) {
  const nameOf = (/** @type {string} */ source) => {
    for (const [name, { entryPoint, inputs }] of outputs)
      if (entryPoint === source || (source in inputs && entryPoint === undefined)) return name
    throw new Failure(`The bundle of the web pages lacks ${source}.`, '')
  }
  // The entry itself may be a file that only imports the one with its code.
  const [mainFile = nameOf(MAIN)] = [...outputs].flatMap(([name, { inputs }]) =>
    MAIN in inputs ? name : [],
  )
  const scripts = importsOf(outputs, mainFile)
  return {
    scripts,
    pages: Object.fromEntries(
      pagesOf(outputs).map(({ name, entryPoint }) => [
        basename(entryPoint, PAGE_ENDING),
        importsOf(outputs, name).filter((script) => !scripts.includes(script)),
      ]),
    ),
    languages: Object.fromEntries(
      Object.entries(CATALOGUES).map(([language, source]) => [
        language,
        importsOf(outputs, nameOf(source)).filter((script) => !scripts.includes(script)),
      ]),
    ),
    begin: nameOf(BEGIN),
    style: nameOf('src/web/style.css'),
    icon: nameOf('src/web/icon.svg'),
    files: [...outputs.keys()].sort(),
  }
}

/** Returns the scripts of the pages. */
function pagesOf(/** @type {Outputs} */ outputs) {
  return [...outputs].flatMap(([name, { entryPoint }]) =>
    entryPoint?.endsWith(PAGE_ENDING) ? { name, entryPoint } : [],
  )
}

/**
 * Returns a script and all scripts that it imports statically.
 * @param {Outputs} outputs
 * @param {string} entry
 */
function importsOf(outputs, entry) {
  const found = new Set([entry])
  for (const name of found)
    for (const { path, kind } of outputs.get(name)?.imports ?? [])
      if (kind === 'import-statement') found.add(basename(path))
  return [...found]
}

/**
 * Checks what a browser loads before each page shows. What a page loads afterwards, such as the
 * highlighter, does not count.
 * @param {Outputs} outputs
 * @param {Map<string, number>} sizes
 * @param {readonly string[]} always the scripts that every page loads
 * @returns {number} the largest size
 */
function checkBudget(outputs, sizes, always) {
  const costs = pagesOf(outputs).map(({ name, entryPoint }) => {
    const scripts = new Set([...always, ...importsOf(outputs, name)])
    const bytes = [...scripts].reduce((sum, script) => sum + (sizes.get(script) ?? 0), 0)
    return { entryPoint, bytes, count: scripts.size }
  })
  const budgetOf = (/** @type {string} */ page) => LARGER_BUDGETS.get(page) ?? SCRIPT_BUDGET_BYTES
  const large = costs.filter(
    ({ entryPoint, bytes, count }) => bytes > budgetOf(entryPoint) || count > MAX_SCRIPTS,
  )
  if (large.length > 0) {
    const list = large.map(
      ({ entryPoint, bytes, count }) => `${entryPoint}: ${bytes} bytes in ${count} scripts`,
    )
    throw new Failure(
      `These pages need more compressed script than their budget, which is ${SCRIPT_BUDGET_BYTES} bytes for most pages, or more than ${MAX_SCRIPTS} scripts: load a part of them later.`,
      list.join('\n'),
    )
  }
  return Math.max(...costs.map(({ bytes }) => bytes))
}

function writeManifest(/** @type {object} */ manifest) {
  const path = join(webFolder, 'manifest.json')
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) replaceFile(path, text)
}

/** Removes the files of earlier builds. A server that runs has read its files already. */
function removeOthers(/** @type {Set<string>} */ files) {
  for (const file of readdirSync(webFolder)) {
    const isKept = file === 'manifest.json' || files.has(file.replace(/\.(br|gz)$/, ''))
    if (!isKept) rmSync(join(webFolder, file))
  }
}
