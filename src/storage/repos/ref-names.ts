import { sql } from 'kysely'
import type { Db } from '../schema/schema.ts'

/** The two kinds of refs that rows are kept of. */
export type IndexedRefs = 'branches' | 'tags'

/** A branch or a tag, and the id of the object that it holds. */
export interface HeldRef {
  /** Without `refs/heads/` or `refs/tags/`. */
  readonly name: string
  readonly object_id: string
}

/**
 * What rows say that the refs of a repository hold: all of them, or those of some names; in no
 * order.
 */
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

/** Name of a ref below a path, as `a/b` is below `a`; undefined when there is none. */
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
    // From the slash to the character behind it.
    .where('name', '>=', `${path}/`)
    .where('name', '<', `${path}0`)
    .limit(1)
    .executeTakeFirst()
  return row?.name
}
