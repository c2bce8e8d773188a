import { sql } from 'kysely'
import { lowerCase } from '../../../platform/database/dialects/dialects.ts'
import { prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Tag } from '../schema.ts'

/** Returns the tag with a name. */
export const findTag = prepareFirst((db, repositoryId: number, name: string) =>
  db
    .selectFrom('tags')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('name', '=', name),
)

/** Returns tags of a repository, latest first, then by name. */
export const pageOfTags = prepareQuery((db, repositoryId: number, offset: number, limit: number) =>
  db
    .selectFrom('tags')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('time', 'desc')
    .orderBy('name')
    .limit(limit)
    .offset(offset),
)

/** Returns a tag whose name differs only in the case of ASCII letters. */
export function findTagInAnyCase(
  db: Db,
  repositoryId: number,
  name: string,
): Promise<Tag | undefined> {
  return (
    db
      .selectFrom('tags')
      .selectAll()
      .where('repository_id', '=', repositoryId)
      // The same expression as in the index.
      .where(sql<string>`lower(name)`, '=', lowerCase(name))
      .orderBy('name')
      .limit(1)
      .executeTakeFirst()
  )
}

/** Returns the number of tags of a repository. */
export async function countTags(db: Db, repositoryId: number): Promise<number> {
  const { count } = await db
    .selectFrom('tags')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('repository_id', '=', repositoryId)
    .executeTakeFirstOrThrow()
  return count
}

/** Inserts or updates tags. */
export async function putTags(tx: Tx, tags: readonly Tag[]): Promise<void> {
  if (tags.length === 0) return
  await tx
    .insertInto('tags')
    .values(tags)
    .onConflict((conflict) =>
      conflict.columns(['repository_id', 'name']).doUpdateSet((eb) => ({
        object_id: eb.ref('excluded.object_id'),
        annotated: eb.ref('excluded.annotated'),
        commit_id: eb.ref('excluded.commit_id'),
        time: eb.ref('excluded.time'),
        message: eb.ref('excluded.message'),
      })),
    )
    .execute()
}

/** Deletes the tags that exist. */
export async function deleteTags(
  tx: Tx,
  repositoryId: number,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  await tx
    .deleteFrom('tags')
    .where('repository_id', '=', repositoryId)
    .where('name', 'in', names)
    .execute()
}
