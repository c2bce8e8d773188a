import { HEADS, TAGS } from '../../../platform/git/core/ref-names.ts'
import { listRefs, readRefs } from '../../../platform/git/refs/refs.ts'
import type { ReposApp } from '../ports.ts'
import { type IndexedRefs, listHeldRefs } from './branches.rows.ts'

/** The tables of refs, each with the prefix of its refs and with the word for one of them. */
export const REF_TABLES = [
  ['branches', HEADS, 'branch'],
  ['tags', TAGS, 'tag'],
] as const satisfies readonly (readonly [IndexedRefs, string, string])[]

/** Names in one query. Bounds the number of its variables. */
const BATCH = 500

/** Full names of the refs that may have moved. */
export type Extent = readonly string[] | 'all'

/** The objects of refs, by the full names of the refs. */
export type RefObjects = ReadonlyMap<string, string>

/** A ref for which Git and the database have different objects. */
export interface RefDifference {
  readonly table: IndexedRefs
  /** Without `refs/heads/` or `refs/tags/`. */
  readonly name: string
  /** The object in Git. Undefined when Git does not have the ref. */
  readonly objectId: string | undefined
  /** The object in the database. Undefined when the database does not have the ref. */
  readonly known: string | undefined
}

/** Returns the objects of refs in Git. Refs that do not exist are left out. */
export async function readGitRefs(
  app: ReposApp,
  repositoryId: number,
  extent: Extent,
): Promise<RefObjects> {
  if (extent !== 'all') return readRefs(app.git, repositoryId, extent)
  const held = new Map<string, string>()
  for await (const { name, id } of listRefs(app.git, repositoryId, [HEADS, TAGS]))
    held.set(name, id)
  return held
}

/** Returns the branches and tags that differ between Git and the database. */
export async function findDifferences(
  app: ReposApp,
  repositoryId: number,
  held: RefObjects,
  extent: Extent,
): Promise<RefDifference[]> {
  const differences: RefDifference[] = []
  for (const [table, prefix] of REF_TABLES) {
    const names = (extent === 'all' ? [...held.keys()] : extent).flatMap((ref) =>
      ref.startsWith(prefix) ? ref.slice(prefix.length) : [],
    )
    const known = await readKnown(app, table, repositoryId, extent === 'all' ? 'all' : names)
    for (const name of new Set([...names, ...known.keys()])) {
      const objectId = held.get(`${prefix}${name}`)
      if (objectId !== known.get(name))
        differences.push({ table, name, objectId, known: known.get(name) })
    }
  }
  return differences
}

/** Returns the objects of refs in the database, by their names in the table. */
async function readKnown(
  app: ReposApp,
  table: IndexedRefs,
  repositoryId: number,
  names: Extent,
): Promise<RefObjects> {
  const rows = names === 'all' ? await listHeldRefs(app.db, table, repositoryId) : []
  for (let start = 0; names !== 'all' && start < names.length; start += BATCH)
    rows.push(
      ...(await listHeldRefs(app.db, table, repositoryId, names.slice(start, start + BATCH))),
    )
  return new Map(rows.map(({ name, object_id }) => [name, object_id]))
}
