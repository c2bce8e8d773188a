import { sql } from 'kysely'
import { numbersOf, prepareQuery, textsOf } from '../../../platform/database/prepared.ts'
import type { Db } from '../../../platform/database/schema.ts'
import type { PullRequest } from '../schema.ts'

/** Commits in one query. */
const BATCH = 1_000

/** What notes of a release say of a merged pull request. */
export type NotedPull = Pick<
  PullRequest,
  'id' | 'number' | 'title' | 'poster_id' | 'original_author' | 'merge_time'
>

const pullsByMergeCommits = prepareQuery((db, repositoryId: number, commitIds: string) =>
  db
    .selectFrom('issues')
    .select(['id', 'number', 'title', 'poster_id', 'original_author', 'merge_time'])
    .where('repository_id', '=', repositoryId)
    .where('merge_commit', 'in', textsOf(commitIds))
    // A literal, because it is the condition of the partial index.
    .where(sql<boolean>`merge_commit is not null`),
)

/** Returns the pull requests of a repository whose merges created these commits, the latest first. */
export async function findPullsByMergeCommits(
  db: Db,
  repositoryId: number,
  commitIds: readonly string[],
): Promise<NotedPull[]> {
  const found: NotedPull[] = []
  for (let start = 0; start < commitIds.length; start += BATCH) {
    const batch = JSON.stringify(commitIds.slice(start, start + BATCH))
    found.push(...(await pullsByMergeCommits(db, repositoryId, batch)))
  }
  return found.sort((a, b) => (b.merge_time ?? 0) - (a.merge_time ?? 0) || b.number - a.number)
}

const firstMerges = prepareQuery((db, repositoryId: number, authorIds: string) =>
  db
    .selectFrom('issues')
    .select((eb) => ['poster_id', eb.fn.min('merge_time').as('first')])
    .where('repository_id', '=', repositoryId)
    .where('is_pull', '=', 1)
    .where('merge_time', 'is not', null)
    .where('poster_id', 'in', numbersOf(authorIds))
    .groupBy('poster_id'),
)

/**
 * Returns when the first pull request of each author was merged into a repository, in Unix seconds, by
 * the id of the author.
 */
export async function findFirstMerges(
  db: Db,
  repositoryId: number,
  authorIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await firstMerges(db, repositoryId, JSON.stringify(authorIds))
  return new Map(
    rows.flatMap(({ poster_id, first }) =>
      poster_id === null || first === null ? [] : [[poster_id, Number(first)]],
    ),
  )
}
