import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The module through which every test opens its database. */
const DATABASE = 'support/database.ts'

/** The relative path of a module that a line imports. */
const IMPORT = /^(?:import .*|\} )from '(\.[^']+\.ts)'$/gm

/**
 * Returns the test files that use a database: those whose imports lead to `database.ts`.
 *
 * @param root the folder of the tests. The names are relative to it.
 */
export function listDatabaseTests(root: string): string[] {
  const importers = new Map<string, string[]>()
  const modules = readdirSync(root, { recursive: true, encoding: 'utf8' })
  for (const file of modules.filter((name) => name.endsWith('.ts'))) {
    for (const [, path = ''] of readFileSync(join(root, file), 'utf8').matchAll(IMPORT)) {
      const imported = join(dirname(file), path)
      importers.set(imported, [...(importers.get(imported) ?? []), file])
    }
  }
  const found = new Set([DATABASE])
  // A set visits what is added during the loop.
  for (const file of found) for (const importer of importers.get(file) ?? []) found.add(importer)
  return [...found].filter((file) => file.endsWith('.test.ts')).sort()
}
