import { readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { root } from './child-process.mjs'

/** The part of all pages that needs a module, from which on all pages load the module at once. */
const COMMON_SHARE = 0.4

/**
 * Modules of so few bytes are common from a few pages on, since a request takes longer than their
 * bytes on the pages that do not need them.
 */
const SMALL_BYTES = 1000
const SMALL_PAGES = 5

/** The name of the modules that the plugin adds. */
const LOADED = 'loaded-before'

/** @typedef {import('esbuild').Metafile} Metafile */

/**
 * Returns a plugin that brings modules into fewer files. By itself, esbuild makes a file for each set
 * of entries that need the same modules, and a browser asks for each of them. Entries are the first
 * script, the pages, and the parts that pages load later.
 *
 * Modules come into one file if the same entries need them. Therefore an entry imports, beside what
 * the entry imports itself:
 * - each entry: the modules that many pages need
 * - a part that loads later: the modules that all its pages have loaded before. They cost nothing.
 *
 * @param {Metafile} metafile of a build without the plugin.
 * @param {string} main the first script of all pages.
 * @param {(path: string) => boolean} isPage
 * @returns {import('esbuild').Plugin}
 */
export function fewerFiles(metafile, main, isPage) {
  const loaded = loadedBefore(metafile, main, isPage)
  return {
    name: 'fewer-files',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: new RegExp(`^${LOADED}:`) }, ({ path }) => ({
        path: path.slice(LOADED.length + 1),
        namespace: LOADED,
        sideEffects: true,
      }))
      onLoad({ filter: /./, namespace: LOADED }, ({ path }) => ({
        contents:
          loaded
            .get(path)
            ?.map((module) => `import './${module}'`)
            .join('\n') ?? '',
        resolveDir: root,
      }))
      onLoad({ filter: /[.]tsx?$/ }, ({ path }) => {
        const entry = relative(root, path)
        if (!loaded.has(entry)) return
        return {
          contents: `${readFileSync(path, 'utf8')}\nimport '${LOADED}:${entry}'\n`,
          loader: path.endsWith('x') ? 'tsx' : 'ts',
          resolveDir: dirname(path),
        }
      })
    },
  }
}

/**
 * Returns the modules that each entry imports beside its own.
 *
 * @param {Metafile} metafile
 * @param {string} main
 * @param {(path: string) => boolean} isPage
 * @returns {Map<string, string[]>}
 */
function loadedBefore({ inputs, outputs }, main, isPage) {
  const parts = new Set(Object.values(inputs).flatMap((input) => pathsOf(input, 'dynamic-import')))
  const pages = new Set([main, ...[...parts].filter(isPage)])
  const needs = new Map([...pages].map((page) => [page, neededBy(outputs, page)]))
  const common = commonModules(needs, main, sizesOf(outputs))
  const entries = [...new Set([...parts, main])]
  return new Map(
    entries.map((entry) => {
      const before = [...pages]
        .filter(
          (page) => page !== entry && !pages.has(entry) && reaches(inputs, page, entry, pages),
        )
        .map((page) => needs.get(page) ?? new Set())
      const [first = new Set(), ...others] = before
      const shared = [...first].filter((module) => others.every((needed) => needed.has(module)))
      const modules = new Set([...common, ...shared])
      return [entry, [...modules].filter((module) => !parts.has(module) && module !== main)]
    }),
  )
}

/**
 * Returns the paths that a file imports in some way.
 *
 * @param {{ imports: readonly { path: string, kind: string }[] } | undefined} file
 * @param {string} kind
 */
function pathsOf(file, kind) {
  return file?.imports.flatMap((one) => (one.kind === kind ? [one.path] : [])) ?? []
}

/**
 * Returns whether a page can load an entry at any time.
 *
 * @param {Metafile['inputs']} inputs
 * @param {string} page
 * @param {string} entry
 * @param {ReadonlySet<string>} pages
 */
function reaches(inputs, page, entry, pages) {
  const reached = new Set([page])
  for (const module of reached) {
    if (module !== page && pages.has(module)) continue
    for (const { path } of inputs[module]?.imports ?? []) reached.add(path)
  }
  return reached.has(entry)
}

/**
 * Returns the modules of all files that a browser loads for an entry.
 *
 * @param {Metafile['outputs']} outputs
 * @param {string} entry
 */
function neededBy(outputs, entry) {
  const files = new Set(
    Object.keys(outputs).filter((file) => entry in (outputs[file]?.inputs ?? {})),
  )
  for (const file of files)
    for (const path of pathsOf(outputs[file], 'import-statement')) files.add(path)
  return new Set([...files].flatMap((file) => Object.keys(outputs[file]?.inputs ?? {})))
}

/**
 * Returns the bytes of each module.
 *
 * @param {Metafile['outputs']} outputs
 * @returns {Map<string, number>}
 */
function sizesOf(outputs) {
  return new Map(
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).map(([module, { bytesInOutput }]) => [module, bytesInOutput]),
    ),
  )
}

/**
 * Returns the modules that the first script needs, and those that many pages need.
 *
 * @param {ReadonlyMap<string, ReadonlySet<string>>} needs the modules of each page.
 * @param {string} main
 * @param {ReadonlyMap<string, number>} sizes
 */
function commonModules(needs, main, sizes) {
  const counts = new Map()
  for (const module of [...needs.values()].flatMap((modules) => [...modules]))
    counts.set(module, (counts.get(module) ?? 0) + 1)
  const isCommon = (/** @type {string} */ module) => {
    const isSmall = (sizes.get(module) ?? 0) <= SMALL_BYTES
    return counts.get(module) >= (isSmall ? SMALL_PAGES : COMMON_SHARE * needs.size)
  }
  return new Set([...(needs.get(main) ?? []), ...[...counts.keys()].filter(isCommon)])
}
