import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The module through which every test opens its database. */
const DATABASE = 'support/database.ts'

/** The relative path of a module that a line imports. */
const IMPORT = /^(?:import .*|\} )from '(\.[^']+\.ts)'$/gm

/** The module that starts PostgreSQL. */
const POSTGRES_SERVER = 'support/postgres-server.ts'

/**
 * Returns the test files that use a database: those whose imports lead to `database.ts`. Tests that
 * start PostgreSQL themselves are left out, since they do so in each run.
 *
 * @param root the folder of the tests. The names are relative to it.
 */
export function listDatabaseTests(root: string): string[] {
  const importers = readImporters(root)
  const startsPostgres = filesAbove(importers, POSTGRES_SERVER)
  return [...filesAbove(importers, DATABASE)]
    .filter((file) => file.endsWith('.test.ts') && !startsPostgres.has(file))
    .sort()
}

/** Returns the files that import each module. */
function readImporters(root: string): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>()
  const modules = readdirSync(root, { recursive: true, encoding: 'utf8' })
  for (const file of modules.filter((name) => name.endsWith('.ts'))) {
    for (const [, path = ''] of readFileSync(join(root, file), 'utf8').matchAll(IMPORT)) {
      const imported = join(dirname(file), path)
      importers.set(imported, [...(importers.get(imported) ?? []), file])
    }
  }
  return importers
}

/** Returns the files whose imports lead to a module, and the module. */
function filesAbove(
  importers: ReadonlyMap<string, readonly string[]>,
  module: string,
): ReadonlySet<string> {
  const found = new Set([module])
  // A set visits what is added during the loop.
  for (const file of found) for (const importer of importers.get(file) ?? []) found.add(importer)
  return found
}
