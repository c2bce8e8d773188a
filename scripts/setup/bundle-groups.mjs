import { readFileSync } from 'node:fs'
import { dirname, join as joinPaths, relative } from 'node:path'
import { root } from './child-process.mjs'

/** The share of the pages that need a module, from which on all pages load the module at once. */
const COMMON_SHARE = 0.15

/**
 * What a further request is worth, in bytes of minified script. A page loads so many bytes that it does
 * not need, to need one file less.
 */
const REQUEST_BYTES = 30_000

/** What a part that only some visitors load counts, beside a page and a part that all of them load. */
const PART_WEIGHT = 0.15

/** The ending of the files of the parts that each visitor of a page loads after its first view. */
const LATER_ENDING = '.later.ts'

/** The namespace of the imports that the plugin adds. */
const GROUPED = 'grouped'

/** @typedef {import('esbuild').Metafile} Metafile */

/**
 * Modules that stand in one file.
 * @typedef {object} Group
 * @property {Set<string>} modules
 * @property {Set<string>} entries that load them
 * @property {Set<Group>} imports the other groups that the modules import, directly or not
 * @property {number} bytes
 */

/**
 * Returns a plugin that brings modules into fewer files. By itself, esbuild makes a file for each set
 * of entries that need the same modules, and a browser asks for each of them. Entries are the first
 * script, the pages, and the parts that pages load later.
 *
 * Modules come into one file if the same entries need them. Therefore each entry imports all modules of
 * the groups of which it needs one. The groups are:
 * - the modules that the first script or many pages need, for all entries
 * - for all others, at first the modules that the same entries need. Two groups become one as long as
 *   that saves more requests than it costs bytes.
 *
 * A part does not count where all its pages have loaded a group before.
 *
 * @param {Metafile} metafile of a build without the plugin.
 * @param {string} main the first script of all pages.
 * @param {(path: string) => boolean} isPage
 * @returns {import('esbuild').Plugin}
 */
export function fewerFiles(metafile, main, isPage) {
  const imports = importsOfEntries(new Graph(metafile, main, isPage))
  return {
    name: 'fewer-files',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: new RegExp(`^${GROUPED}:`) }, ({ path }) => ({
        path: path.slice(GROUPED.length + 1),
        namespace: GROUPED,
        sideEffects: true,
      }))
      // Otherwise esbuild leaves out imports of packages without side effects.
      onResolve({ filter: /./, namespace: GROUPED }, ({ path }) => ({
        path: joinPaths(root, path),
        sideEffects: true,
      }))
      onLoad({ filter: /./, namespace: GROUPED }, ({ path }) => ({
        contents: (imports.get(path) ?? []).map((module) => `import '${module}'`).join('\n'),
        resolveDir: root,
      }))
      onLoad({ filter: /[.]tsx?$/ }, ({ path }) => {
        const entry = relative(root, path)
        if (!imports.has(entry)) return
        return {
          contents: `${readFileSync(path, 'utf8')}\nimport '${GROUPED}:${entry}'\n`,
          loader: path.endsWith('x') ? 'tsx' : 'ts',
          resolveDir: dirname(path),
        }
      })
    },
  }
}

/** What the entries of a build need. */
class Graph {
  /**
   * @param {Metafile} metafile
   * @param {string} main
   * @param {(path: string) => boolean} isPage
   */
  constructor({ inputs, outputs }, main, isPage) {
    const dynamic = Object.values(inputs).flatMap((input) => pathsOf(input, 'dynamic-import'))
    this.main = main
    this.entries = [...new Set([main, ...dynamic])]
    this.pages = new Set([main, ...dynamic.filter(isPage)])
    /** The bytes of the modules that the bundle has. */
    this.bytes = new Map(
      Object.values(outputs).flatMap((output) =>
        Object.entries(output.inputs).map(([module, { bytesInOutput }]) => [module, bytesInOutput]),
      ),
    )
    const isModule = (/** @type {string} */ path) =>
      this.bytes.has(path) && !this.entries.includes(path)
    /** The modules that each module and entry imports statically, directly or not. */
    this.needs = new Map(
      Object.keys(inputs).map((path) => [
        path,
        [...reached(inputs, path, (kind) => kind === 'import-statement')].filter(isModule),
      ]),
    )
    /** The pages that can load each part at any time. */
    this.pagesOfPart = new Map(
      this.entries
        .filter((entry) => !this.pages.has(entry))
        .map((part) => [part, /** @type {string[]} */ ([])]),
    )
    for (const page of this.pages)
      for (const module of reached(inputs, page, (_, to) => !this.pages.has(to)))
        this.pagesOfPart.get(module)?.push(page)
  }
}

/**
 * Returns the modules that a module reaches by imports, itself included.
 *
 * @param {Metafile['inputs']} inputs
 * @param {string} start
 * @param {(kind: string, to: string) => boolean} isFollowed
 */
function reached(inputs, start, isFollowed) {
  const found = new Set([start])
  for (const module of found)
    for (const { path, kind } of inputs[module]?.imports ?? [])
      if (isFollowed(kind, path)) found.add(path)
  return found
}

/**
 * Returns the paths that a file imports in some way.
 *
 * @param {{ imports: readonly { path: string, kind: string }[] }} file
 * @param {string} kind
 */
function pathsOf(file, kind) {
  return file.imports.flatMap((one) => (one.kind === kind ? [one.path] : []))
}

/**
 * Returns the modules that each entry imports, so that each group is one file.
 *
 * @param {Graph} graph
 * @returns {Map<string, string[]>}
 */
function importsOfEntries(graph) {
  const common = commonModules(graph)
  const groups = joined(groupsOf(graph, common))
  return new Map(
    graph.entries.map((entry) => {
      const modules = groups
        .filter(({ entries }) => entries.has(entry) || isLoadedBefore(graph, entry, entries))
        .flatMap((group) => [...group.modules])
      const needed = [entry, ...modules].flatMap((module) => graph.needs.get(module) ?? [])
      // The catalogue of a language needs none of the common modules, and they wait for the catalogue.
      const needsCommon = graph.pages.has(entry) || needed.some((module) => common.has(module))
      return [entry, [...(needsCommon ? common : []), ...modules]]
    }),
  )
}

/**
 * Returns whether all pages of a part have loaded what the entries of a group load.
 *
 * @param {Graph} graph
 * @param {string} part
 * @param {ReadonlySet<string>} entries
 */
function isLoadedBefore({ pagesOfPart }, part, entries) {
  const pages = pagesOfPart.get(part) ?? []
  return pages.length > 0 && pages.every((page) => entries.has(page))
}

/**
 * Returns the modules that the first script needs, and those that many pages need.
 *
 * @param {Graph} graph
 */
function commonModules({ needs, pages, main }) {
  const counts = new Map()
  for (const page of pages)
    for (const module of needs.get(page) ?? []) counts.set(module, (counts.get(module) ?? 0) + 1)
  const isCommon = (/** @type {string} */ module) => counts.get(module) >= COMMON_SHARE * pages.size
  // With the first script itself, which would be a request for a few bytes.
  return new Set([main, ...(needs.get(main) ?? []), ...[...counts.keys()].filter(isCommon)])
}

/**
 * Returns the groups of modules that the same entries need.
 *
 * @param {Graph} graph
 * @param {ReadonlySet<string>} common
 */
function groupsOf(graph, common) {
  /** @type {Map<string, Set<string>>} */
  const entriesOf = new Map()
  for (const entry of graph.entries)
    for (const module of graph.needs.get(entry) ?? [])
      if (!common.has(module))
        entriesOf.set(module, (entriesOf.get(module) ?? new Set()).add(entry))
  /** @type {Map<string, Group>} */
  const groups = new Map()
  /** @type {Map<string, Group>} */
  const groupOf = new Map()
  for (const [module, needing] of entriesOf) {
    const entries = new Set([...needing].filter((part) => !isLoadedBefore(graph, part, needing)))
    const key = [...entries].sort().join()
    const group = groups.get(key) ?? { modules: new Set(), entries, imports: new Set(), bytes: 0 }
    group.modules.add(module)
    group.bytes += graph.bytes.get(module) ?? 0
    groups.set(key, group)
    groupOf.set(module, group)
  }
  for (const [module, group] of groupOf)
    for (const needed of graph.needs.get(module) ?? []) {
      const other = groupOf.get(needed)
      if (other && other !== group) group.imports.add(other)
    }
  return [...groups.values()]
}

/**
 * Joins two groups as long as that is worth it, the most worthy first.
 *
 * @param {Group[]} groups which the function changes.
 */
function joined(groups) {
  for (;;) {
    /** @type {{ worth: number, into: Group, from: Group } | undefined} */
    let best
    for (const [i, into] of groups.entries())
      for (const from of groups.slice(i + 1)) {
        const worth = worthOf(into, from)
        if (worth > (best?.worth ?? 0)) best = { worth, into, from }
      }
    if (!best) return groups
    join(groups, best.into, best.from)
  }
}

/**
 * Moves the modules of a group into another one.
 *
 * @param {Group[]} groups
 * @param {Group} into
 * @param {Group} from which is no group afterwards.
 */
function join(groups, into, from) {
  groups.splice(groups.indexOf(from), 1)
  into.modules = new Set([...into.modules, ...from.modules])
  into.entries = new Set([...into.entries, ...from.entries])
  into.imports = importsOf(into, from)
  into.bytes += from.bytes
  for (const { imports } of groups) if (imports.delete(from)) imports.add(into)
  into.imports.delete(into)
  for (const other of into.imports) other.entries = new Set([...other.entries, ...into.entries])
}

/**
 * Returns the other groups that two groups import.
 *
 * @param {Group} a
 * @param {Group} b
 */
function importsOf(a, b) {
  return new Set([...a.imports, ...b.imports].filter((group) => group !== a && group !== b))
}

/**
 * Returns what one file for two groups saves: the requests of the entries that need both, less the
 * bytes that those load which need one of them, and less what the other group imports.
 *
 * @param {Group} a
 * @param {Group} b
 */
function worthOf(a, b) {
  let worth = 0
  for (const entry of a.entries)
    worth += weightOf(entry) * (b.entries.has(entry) ? REQUEST_BYTES : -b.bytes)
  for (const entry of b.entries) if (!a.entries.has(entry)) worth -= weightOf(entry) * a.bytes
  for (const { entries, bytes } of importsOf(a, b))
    for (const entry of new Set([...a.entries, ...b.entries]))
      if (!entries.has(entry)) worth -= weightOf(entry) * (bytes + REQUEST_BYTES)
  return worth
}

/** Returns how many of the visitors load an entry, beside other entries. */
function weightOf(/** @type {string} */ entry) {
  return /[.]page[.]tsx$/.test(entry) || entry.endsWith(LATER_ENDING) ? 1 : PART_WEIGHT
}
