import type { Metafile, OnLoadArgs, OnLoadResult, PluginBuild } from 'esbuild'
import { expect, it } from 'vitest'
import { fewerFiles } from '../../scripts/setup/bundle-groups.mjs'

/** The modules of a build: their bytes, what they import, and what they load later. */
type Modules = Readonly<
  Record<string, { bytes: number; imports?: readonly string[]; later?: readonly string[] }>
>

const MAIN = 'src/main.tsx'

/** Returns the modules that each entry imports beside its own. */
async function importsOf(modules: Modules): Promise<Map<string, string[]>> {
  const loads: ((args: OnLoadArgs) => OnLoadResult)[] = []
  const build = {
    onResolve: () => {},
    onLoad: ({ namespace }: { namespace?: string }, load: (args: OnLoadArgs) => OnLoadResult) => {
      if (namespace) loads.push(load)
    },
  } as unknown as PluginBuild
  await fewerFiles(metafileOf(modules), MAIN, (path: string) => path.endsWith('.page.tsx')).setup(
    build,
  )
  const contentsOf = (path: string) => String(loads[0]?.({ path } as OnLoadArgs).contents)
  return new Map(
    Object.keys(modules).map((path) => [
      path,
      [...contentsOf(path).matchAll(/'(.*)'/g)].map(([, module = '']) => module).sort(),
    ]),
  )
}

function metafileOf(modules: Modules): Metafile {
  const inputs = Object.fromEntries(
    Object.entries(modules).map(([path, { bytes, imports = [], later = [] }]) => [
      path,
      {
        bytes,
        imports: [
          ...imports.map((to) => ({ path: to, kind: 'import-statement' as const })),
          ...later.map((to) => ({ path: to, kind: 'dynamic-import' as const })),
        ],
      },
    ]),
  )
  const contents = Object.entries(modules).map(([path, { bytes }]) => [
    path,
    { bytesInOutput: bytes },
  ])
  const output = { bytes: 0, inputs: Object.fromEntries(contents), imports: [], exports: [] }
  return { inputs, outputs: { 'all.js': output } }
}

/** Some pages. */
const pages = (
  imports: Readonly<Record<string, readonly string[]>>,
  later: readonly string[] = [],
) => ({
  [MAIN]: { bytes: 1, later: Object.keys(imports) },
  ...Object.fromEntries(
    Object.entries(imports).map(([page, of]) => [page, { bytes: 1, imports: of, later }]),
  ),
})

/** Pages that need nothing, so many that two others are few. */
const OTHERS = Object.fromEntries(
  Array.from({ length: 12 }, (_, i) => [`other-${i}.page.tsx`, [] as const]),
)

/** Returns the modules that entries load, besides the first script, which all of them load. */
async function othersOf(modules: Modules): Promise<(entry: string) => readonly string[]> {
  const found = await importsOf(modules)
  return (entry) => (found.get(entry) ?? []).filter((module) => module !== MAIN)
}

it('gives all pages at once what many of them need, with the first script', async () => {
  const found = await importsOf({
    ...pages({ 'a.page.tsx': ['x'], 'b.page.tsx': ['x'], 'c.page.tsx': [] }),
    x: { bytes: 100_000 },
  })
  expect(found.get('c.page.tsx')).toEqual([MAIN, 'x'])
  expect(found.get(MAIN)).toEqual([MAIN, 'x'])
})

const FEW = { 'a.page.tsx': ['x'], 'b.page.tsx': ['y', 'x'], ...OTHERS }

it('joins small groups, and leaves large ones to those that need them', async () => {
  const small = await othersOf({ ...pages(FEW), x: { bytes: 900 }, y: { bytes: 900 } })
  expect(small('a.page.tsx')).toEqual(['x', 'y'])
  expect(small('b.page.tsx')).toEqual(['x', 'y'])
  expect(small('other-0.page.tsx')).toEqual([])
  const large = await othersOf({ ...pages(FEW), x: { bytes: 900 }, y: { bytes: 90_000 } })
  expect(large('a.page.tsx')).toEqual(['x'])
  expect(large('b.page.tsx')).toEqual(['x', 'y'])
})

it('counts what a module of the other group imports', async () => {
  const found = await othersOf({
    ...pages(FEW),
    x: { bytes: 900 },
    y: { bytes: 900, imports: ['z'] },
    z: { bytes: 90_000 },
  })
  expect(found('a.page.tsx')).toEqual(['x'])
  expect(found('b.page.tsx')).toEqual(['x', 'y', 'z'])
})

it('keeps parts to the groups that their pages have loaded', async () => {
  const found = await othersOf({
    ...pages({ 'a.page.tsx': ['x'], ...OTHERS }),
    'a.page.tsx': { bytes: 1, imports: ['x'], later: ['part.tsx'] },
    'part.tsx': { bytes: 1, imports: ['x', 'own'] },
    x: { bytes: 90_000 },
    own: { bytes: 90_000 },
  })
  expect(found('a.page.tsx')).toEqual(['x'])
  expect(found('part.tsx')).toEqual(['own', 'x'])
})

it('adds nothing to a part that needs nothing which its pages have loaded', async () => {
  const found = await othersOf({
    ...pages({ 'a.page.tsx': ['x'], 'b.page.tsx': ['x'] }, ['german.ts']),
    'german.ts': { bytes: 1, imports: ['texts'] },
    x: { bytes: 900 },
    texts: { bytes: 900 },
  })
  expect(found('german.ts')).toEqual(['texts'])
})
