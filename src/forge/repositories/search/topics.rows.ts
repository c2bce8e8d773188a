import { sql } from 'kysely'
import { positionOf } from '../../../platform/database/dialects/dialects.ts'
import { numbersOf, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { Topic } from '../schema.ts'

/** Returns the topics of repositories in alphabetical order, by repository id. */
export async function topicsOf(
  db: Db,
  repositoryIds: readonly number[],
): Promise<ReadonlyMap<number, string[]>> {
  const topics = new Map<number, string[]>()
  if (repositoryIds.length === 0) return topics
  const rows = await namesOfTopics(db, JSON.stringify(repositoryIds))
  for (const { repository_id, name } of rows)
    topics.set(repository_id, [...(topics.get(repository_id) ?? []), name])
  return topics
}

const namesOfTopics = prepareQuery((db, repositoryIds: string) =>
  db
    .selectFrom('repository_topics')
    .innerJoin('topics', 'topics.id', 'repository_topics.topic_id')
    .select(['repository_id', 'name'])
    .where('repository_id', 'in', numbersOf(repositoryIds))
    .orderBy('name'),
)

/** Adds topics to a repository, which must not have them. */
export async function attachTopics(
  tx: Tx,
  repositoryId: number,
  names: readonly string[],
  unixSeconds: number,
): Promise<void> {
  if (names.length === 0) return
  await tx
    .insertInto('topics')
    .values(names.map((name) => ({ name, create_time: unixSeconds, update_time: unixSeconds })))
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ update_time: unixSeconds }))
    .execute()
  await tx
    .insertInto('repository_topics')
    .columns(['repository_id', 'topic_id'])
    .expression((eb) =>
      eb
        .selectFrom('topics')
        .select([sql.lit(repositoryId).as('repository_id'), 'id'])
        .where('name', 'in', names),
    )
    .execute()
}

/** Removes topics from a repository. */
export async function detachTopics(
  tx: Tx,
  repositoryId: number,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  await tx
    .deleteFrom('repository_topics')
    .where('repository_id', '=', repositoryId)
    .where('topic_id', 'in', (eb) =>
      eb.selectFrom('topics').select('id').where('name', 'in', names),
    )
    .execute()
}

/** Returns the topics of public repositories that contain a text, most frequent first. */
export function searchTopics(
  db: Db,
  text: string,
  offset: number,
  limit: number,
): Promise<Topic[]> {
  return matching(db, text)
    .selectAll()
    .orderBy('public_count', 'desc')
    .orderBy('name')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of topics in that list. */
export async function countTopics(db: Db, text: string): Promise<number> {
  const { count } = await matching(db, text)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function matching(db: Db, text: string) {
  // A literal, so that SQLite can use the partial index.
  const shown = db.selectFrom('topics').where('public_count', '>', sql.lit(0))
  return text === ''
    ? shown
    : shown.where(({ ref }) => sql<boolean>`${positionOf(sql`${text}`, ref('name'))} > 0`)
}
