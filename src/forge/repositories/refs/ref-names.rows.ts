import { sql } from 'kysely'
import type { Db } from '../../../platform/database/schema.ts'

/** The kinds of refs with an index in the database. */
export type IndexedRefs = 'branches' | 'tags'

/** A branch or tag, and the id of the object that it points to. */
export interface HeldRef {
  /** Without `refs/heads/` or `refs/tags/`. */
  readonly name: string
  readonly object_id: string
}

/** Returns the indexed refs of a repository: all of them, or those with some names; in no order. */
export function listHeldRefs(
  db: Db,
  table: IndexedRefs,
  repositoryId: number,
  names?: readonly string[],
): Promise<HeldRef[]> {
  const id = table === 'branches' ? 'commit_id' : 'object_id'
  return db
    .selectFrom(table)
    .select(['name', sql.ref<string>(id).as('object_id')])
    .where('repository_id', '=', repositoryId)
    .$if(names !== undefined, (query) => query.where('name', 'in', names ?? []))
    .execute()
}

/** Returns the name of a ref below a path, as `a/b` is below `a`, if there is one. */
export async function refNameBelow(
  db: Db,
  table: IndexedRefs,
  repositoryId: number,
  path: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom(table)
    .select('name')
    .where('repository_id', '=', repositoryId)
    // All names from the slash to the next character.
    .where('name', '>=', `${path}/`)
    .where('name', '<', `${path}0`)
    .limit(1)
    .executeTakeFirst()
  return row?.name
}
