import { sql } from 'kysely'
import { type DueQueue, dueQueue } from '../../platform/database/due-queue.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'

/** A linked identity whose texts at other servers are looked up. */
export interface AdoptingIdentity {
  readonly id: number
  readonly user_id: number
  readonly extern_uid: string
  readonly identifier_claim: string
  /** Where the provider tells who somebody is. */
  readonly user_info_url: string
}

/** The identities that were linked and not looked up since, in the order of their due times. */
export function adoptionQueue(db: Db): DueQueue {
  return dueQueue(
    db,
    db
      .selectFrom('linked_identities')
      .select(['id', 'user_id as ownerId', 'adopt_time as dueTime'])
      .where('adopt_time', 'is not', null),
  )
}

/** Returns an identity that is to be looked up. */
export function findAdoptingIdentity(db: Db, id: number): Promise<AdoptingIdentity | undefined> {
  return db
    .selectFrom('linked_identities as identity')
    .innerJoin('identity_providers as provider', 'provider.id', 'identity.provider_id')
    .select([
      'identity.id',
      'identity.user_id',
      'identity.extern_uid',
      'provider.identifier_claim',
      'provider.user_info_url',
    ])
    .where('identity.id', '=', id)
    .where('identity.adopt_time', 'is not', null)
    .executeTakeFirst()
}

/** Sets when an identity is looked up again. @param dueTime Unix milliseconds; null for never. */
export async function setAdoptTime(db: Db, id: number, dueTime: number | null): Promise<void> {
  await db
    .updateTable('linked_identities')
    .set({ adopt_time: dueTime })
    .where('id', '=', id)
    .execute()
}

/** Returns whether an import from an origin runs. */
export async function importRuns(db: Db, origin: string): Promise<boolean> {
  const row = await db
    .selectFrom('project_imports')
    .select('id')
    .where('identity_origin', '=', origin)
    .where('due_time', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The tables whose rows have authors at other servers, and their columns for the author here. */
export const AUTHORED = {
  issues: 'poster_id',
  issue_comments: 'poster_id',
  reviews: 'reviewer_id',
  review_comments: 'poster_id',
  releases: 'publisher_id',
} as const

export type Authored = keyof typeof AUTHORED

/** Somebody at another server, by id or by login. */
export type OriginalAuthor = { readonly id: number } | { readonly login: string }

/**
 * Returns rows of an author in the order of their ids, from all origins.
 *
 * @param after the last id of the rows before.
 */
export async function originalRows(
  db: Db,
  table: Authored,
  author: OriginalAuthor,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<{ readonly id: number; readonly repositoryId: number }[]> {
  const isAuthor =
    'id' in author
      ? sql<boolean>`original_author_id = ${author.id}`
      : sql<boolean>`original_author = ${author.login}`
  const { rows } = await sql<{ id: number; repositoryId: number }>`
    select id, ${repositoryOf(table)} as ${sql.id('repositoryId')} from ${sql.table(table)}
    where ${isAuthor} and original_author_id > 0 and id > ${after}
    order by id limit ${limit}`.execute(db)
  return rows
}

/** The repository of a row. */
function repositoryOf(table: Authored) {
  const ofPull = sql`select repository_id from issues where issues.id =`
  if (table === 'reviews') return sql`(${ofPull} reviews.pull_request_id)`
  if (table !== 'review_comments') return sql`repository_id`
  const pull = sql`select pull_request_id from reviews where reviews.id = review_comments.review_id`
  return sql`(${ofPull} (${pull}))`
}

/** Returns which of some repositories were imported from an origin. */
export async function importedFrom(
  db: Db,
  origin: string,
  repositoryIds: readonly number[],
): Promise<ReadonlySet<number>> {
  if (repositoryIds.length === 0) return new Set()
  const rows = await db
    .selectFrom('project_imports')
    .select('repository_id')
    .where('repository_id', 'in', repositoryIds)
    .where('identity_origin', '=', origin)
    .execute()
  return new Set(rows.map(({ repository_id }) => repository_id))
}

/** Makes an account the author of rows. */
export async function adoptRows(
  tx: Tx,
  table: Authored,
  ids: readonly number[],
  userId: number,
): Promise<void> {
  if (ids.length === 0) return
  await sql`update ${sql.table(table)} set ${sql.id(AUTHORED[table])} = ${userId},
    original_author = '', original_name = '', original_author_id = 0
    where id in (${sql.join(ids)}) and original_author_id > 0`.execute(tx)
}
