import { sql } from 'kysely'
import { lowerCase } from '../../../platform/database/dialects/dialects.ts'
import { prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { NewRelease, Release, ReleaseChanges } from './schema.ts'

/** A filter for releases. */
export interface ReleaseFilter {
  /** Undefined for both. */
  readonly draft: boolean | undefined
  /** Undefined for both. */
  readonly prerelease: boolean | undefined
}

/** Returns releases of a repository, latest first. */
export function listReleases(
  db: Db,
  repositoryId: number,
  filter: ReleaseFilter,
  offset: number,
  limit: number,
): Promise<Release[]> {
  const { page } = queriesOf(filter)
  return page(db, repositoryId, offset, limit)
}

/** Returns the number of releases in that list. */
export async function countReleases(
  db: Db,
  repositoryId: number,
  filter: ReleaseFilter,
): Promise<number> {
  const { total } = queriesOf(filter)
  return (await total(db, repositoryId))?.count ?? 0
}

/** The queries of the lists of a filter. */
interface ListQueries {
  readonly page: (db: Db, repositoryId: number, offset: number, limit: number) => Promise<Release[]>
  readonly total: (db: Db, repositoryId: number) => Promise<{ count: number } | undefined>
}

function prepareList(filter: ReleaseFilter): ListQueries {
  return {
    page: prepareQuery((db, repositoryId: number, offset: number, limit: number) =>
      selectReleases(db, repositoryId, filter)
        .selectAll()
        .orderBy('create_time', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .offset(offset),
    ),
    total: prepareFirst((db, repositoryId: number) =>
      selectReleases(db, repositoryId, filter).select((eb) => eb.fn.countAll<number>().as('count')),
    ),
  }
}

const FLAGS = [undefined, false, true]

/** One entry for each filter. */
const LISTS = new Map(
  FLAGS.flatMap((draft) =>
    FLAGS.map((prerelease) => [`${draft} ${prerelease}`, prepareList({ draft, prerelease })]),
  ),
)

function queriesOf({ draft, prerelease }: ReleaseFilter): ListQueries {
  const queries = LISTS.get(`${draft} ${prerelease}`)
  if (!queries) throw new Error('a filter of releases has no queries')
  return queries
}

/** Returns the release with an id. */
export function findRelease(
  db: Db,
  repositoryId: number,
  id: number,
): Promise<Release | undefined> {
  return selectReleases(db, repositoryId, EVERY).selectAll().where('id', '=', id).executeTakeFirst()
}

/**
 * Returns the entry with a tag name, regardless of the case of ASCII letters: a release, or the
 * entry that a deleted release left.
 */
export function findEntryByTag(
  db: Db,
  repositoryId: number,
  tagName: string,
): Promise<Release | undefined> {
  return db
    .selectFrom('releases')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where(FOLDED_TAG, '=', lowerCase(tagName))
    .executeTakeFirst()
}

/** Inserts a release. A second entry for a tag violates a UNIQUE constraint. */
export function insertRelease(tx: Tx, release: NewRelease): Promise<Release> {
  return tx.insertInto('releases').values(release).returningAll().executeTakeFirstOrThrow()
}

/** Updates an entry. */
export function updateRelease(tx: Tx, id: number, changes: ReleaseChanges): Promise<Release> {
  return tx
    .updateTable('releases')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes an entry and its dependent rows. */
export async function deleteRelease(tx: Tx, id: number): Promise<void> {
  await tx.deleteFrom('releases').where('id', '=', id).execute()
}

/**
 * Handles deleted Git tags: their releases become drafts, and entries of deleted releases are
 * removed.
 */
export async function withdrawReleasesOfTags(
  tx: Tx,
  repositoryId: number,
  tagNames: readonly string[],
): Promise<void> {
  if (tagNames.length === 0) return
  await tx
    .deleteFrom('releases')
    .where('repository_id', '=', repositoryId)
    .where(FOLDED_TAG, 'in', tagNames.map(lowerCase))
    .where('tag_name', 'in', tagNames)
    .where('tag_only', '=', 1)
    .execute()
  await tx
    .updateTable('releases')
    .set({ draft: 1 })
    .where('repository_id', '=', repositoryId)
    .where(FOLDED_TAG, 'in', tagNames.map(lowerCase))
    .where('tag_name', 'in', tagNames)
    .execute()
}

/** Sets the time of published releases whose tags have moved to that of the tag. */
export async function redateReleasesOfTags(
  tx: Tx,
  repositoryId: number,
  tags: readonly { readonly name: string; readonly time: number }[],
): Promise<void> {
  for (const { name, time } of tags) {
    await tx
      .updateTable('releases')
      .set({ create_time: time })
      .where('repository_id', '=', repositoryId)
      .where(FOLDED_TAG, '=', lowerCase(name))
      .where('tag_name', '=', name)
      .where('draft', '=', 0)
      .execute()
  }
}

const EVERY: ReleaseFilter = { draft: undefined, prerelease: undefined }

/** The same expression as in the index. */
const FOLDED_TAG = sql<string>`lower(tag_name)`

function selectReleases(db: Db, repositoryId: number, { draft, prerelease }: ReleaseFilter) {
  return (
    db
      .selectFrom('releases')
      .where('repository_id', '=', repositoryId)
      // A literal, as in the condition of the index.
      .where(sql<boolean>`tag_only = 0`)
      .$if(draft !== undefined, (query) => query.where('draft', '=', Number(draft)))
      .$if(prerelease !== undefined, (query) => query.where('prerelease', '=', Number(prerelease)))
  )
}
