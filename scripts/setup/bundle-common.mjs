import { readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { root } from './child-process.mjs'

/** The part of all pages that needs a module, from which on all pages load the module at once. */
const COMMON_SHARE = 0.4

/** The name of the module that imports all modules that pages load at once. */
const COMMON = 'common-parts'

/** @typedef {import('esbuild').Metafile} Metafile */

/**
 * Returns a plugin that brings the modules that many pages need into one file. By itself, esbuild
 * makes a file for each set of pages that share modules, and a browser asks for each of them.
 *
 * The modules come into one file if the same entries need them. Therefore each entry imports all of
 * them, beside what the entry imports itself.
 *
 * @param {Metafile} metafile of a build without the plugin.
 * @param {string} main the first script of all pages.
 * @param {(path: string) => boolean} isPage
 * @returns {import('esbuild').Plugin}
 */
export function commonParts({ inputs, outputs }, main, isPage) {
  const loaded = new Set(
    Object.values(inputs).flatMap(({ imports }) =>
      imports.flatMap(({ kind, path }) => (kind === 'dynamic-import' ? [path] : [])),
    ),
  )
  const entries = new Set([...loaded, main])
  const common = commonModules(outputs, main, [...loaded].filter(isPage))
  const contents = [...common]
    .filter((module) => !entries.has(module))
    .map((module) => `import ${JSON.stringify(`./${module}`)}`)
    .join('\n')
  return {
    name: COMMON,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: new RegExp(`^${COMMON}$`) }, () => ({
        path: COMMON,
        namespace: COMMON,
        sideEffects: true,
      }))
      onLoad({ filter: /./, namespace: COMMON }, () => ({ contents, resolveDir: root }))
      onLoad({ filter: /[.]tsx?$/ }, ({ path }) =>
        entries.has(relative(root, path))
          ? {
              contents: `${readFileSync(path, 'utf8')}\nimport '${COMMON}'\n`,
              loader: path.endsWith('x') ? 'tsx' : 'ts',
              resolveDir: dirname(path),
            }
          : undefined,
      )
    },
  }
}

/**
 * Returns the modules that the first script needs, and those that many pages need.
 *
 * @param {Metafile['outputs']} outputs
 * @param {string} main
 * @param {readonly string[]} pages
 * @returns {Set<string>}
 */
function commonModules(outputs, main, pages) {
  const needed = (/** @type {string} */ module) => {
    const files = new Set(
      Object.keys(outputs).filter((file) => module in (outputs[file]?.inputs ?? {})),
    )
    for (const file of files)
      for (const { kind, path } of outputs[file]?.imports ?? [])
        if (kind === 'import-statement') files.add(path)
    return [...files].flatMap((file) => Object.keys(outputs[file]?.inputs ?? {}))
  }
  const common = new Set(needed(main))
  const counts = new Map()
  for (const module of pages.flatMap(needed)) counts.set(module, (counts.get(module) ?? 0) + 1)
  for (const [module, count] of counts) if (count >= COMMON_SHARE * pages.length) common.add(module)
  return common
}
