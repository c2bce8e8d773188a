import { readFileSync } from 'node:fs'
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
