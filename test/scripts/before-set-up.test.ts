import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }

const folder = join(import.meta.dirname, '../../scripts')
const IMPORT = /^(?:import|export) (?:[\w*{},\s]+ from )?'([^']+)'/gm

/** Returns the packages that a script and the scripts it imports load before they run. */
function packagesOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return []
  seen.add(file)
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].flatMap(([, name = '']) => {
    if (name.startsWith('.')) return packagesOf(join(dirname(file), name), seen)
    return name.startsWith('node:') ? [] : [name]
  })
}

// In a fresh clone these commands install the packages first.
it.each(
  Object.values(packageJson.scripts).flatMap((command) => {
    const name = /^(?:exec )?node scripts\/([\w-]+\.mjs)$/.exec(command)?.[1]
    return name === undefined ? [] : [name]
  }),
)('%s starts in a clone without packages', (script) => {
  expect(packagesOf(join(folder, script))).toEqual([])
})

const PACKAGE = /(?:from|import\(|import) ?'(@[^/']+\/[^/']+|[\w-]+)[^':]*'/g

/** Removes the texts of a source, which may have examples with imports. */
const withoutTexts = (source: string) => source.replaceAll(/`[^`]*`/g, '')

// `npm start` installs only these, and bundles the server from them.
it('the sources and the set-up load no development package', () => {
  const root = join(folder, '..')
  const files = ['src', 'scripts/setup'].flatMap((name) =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
      .filter((path) => /(?<!\.d)\.(?:mjs|tsx?)$/.test(path))
      .map((path) => join(root, name, path)),
  )
  const development = files.flatMap((file) =>
    [...withoutTexts(readFileSync(file, 'utf8')).matchAll(PACKAGE)]
      .map(([, name = '']) => name)
      .filter((name) => name in packageJson.devDependencies)
      .map((name) => `${file}: ${name}`),
  )
  expect(files.length).toBeGreaterThan(500)
  expect(development).toEqual([])
  // The set-up runs its program.
  expect(packageJson.dependencies).toHaveProperty('node-gyp')
})
