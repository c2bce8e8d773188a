import type { Insertable } from 'kysely'
import { numbersOf } from '../../../platform/database/prepared.ts'
import type { Db, Tx } from '../../../platform/database/schema.ts'
import type { PullComment, PullCommentsTable } from '../schema.ts'

/**
 * A period in which comments were last changed, with its ends. Unix seconds; undefined for no
 * limit.
 */
export interface CommentPeriod {
  readonly since: number | undefined
  readonly before: number | undefined
}

/** Lists the comments on a pull request, oldest first. */
export function listPullComments(
  db: Db,
  pullId: number,
  period: CommentPeriod,
  offset: number,
  limit: number,
): Promise<PullComment[]> {
  return selectComments(db, pullId, period)
    .selectAll()
    .orderBy('create_time')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of comments in that list. */
export async function countPullComments(
  db: Db,
  pullId: number,
  period: CommentPeriod,
): Promise<number> {
  const { count } = await selectComments(db, pullId, period)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectComments(db: Db, pullId: number, { since, before }: CommentPeriod) {
  return db
    .selectFrom('pull_comments')
    .where('pull_request_id', '=', pullId)
    .$if(since !== undefined, (query) => query.where('update_time', '>=', since ?? 0))
    .$if(before !== undefined, (query) => query.where('update_time', '<=', before ?? 0))
}

/** A comment with the number of its pull request. */
export type NumberedComment = PullComment & { readonly number: number }

/**
 * Returns a page of the comments on all pull requests of a repository, oldest first.
 *
 * The query reads the index from the nearer end of the list, so that the last page costs as much as
 * the first one.
 *
 * @param total length of the whole list.
 */
export async function pageOfRepositoryComments(
  db: Db,
  repositoryId: number,
  period: CommentPeriod,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  total: number,
): Promise<NumberedComment[]> {
  const size = Math.min(limit, total - offset)
  if (size <= 0) return []
  const behind = total - offset - size
  const isFromEnd = behind < offset
  const direction = isFromEnd ? 'desc' : 'asc'
  const ids = selectRepositoryComments(db, repositoryId, period)
    .select('id')
    .orderBy('create_time', direction)
    .orderBy('id', direction)
    .limit(size)
    .offset(isFromEnd ? behind : offset)
  return db
    .selectFrom('pull_comments')
    .innerJoin('pull_requests', 'pull_requests.id', 'pull_comments.pull_request_id')
    .selectAll('pull_comments')
    .select('pull_requests.number')
    .where('pull_comments.id', 'in', ids)
    .orderBy('pull_comments.create_time')
    .orderBy('pull_comments.id')
    .execute()
}

/** Returns the number of comments in that list. A period costs the more, the more it contains. */
export async function countRepositoryComments(
  db: Db,
  repositoryId: number,
  period: CommentPeriod,
): Promise<number> {
  const { count } = await selectRepositoryComments(db, repositoryId, period)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectRepositoryComments(db: Db, repositoryId: number, { since, before }: CommentPeriod) {
  return db
    .selectFrom('pull_comments')
    .where('repository_id', '=', repositoryId)
    .$if(since !== undefined, (query) => query.where('update_time', '>=', since ?? 0))
    .$if(before !== undefined, (query) => query.where('update_time', '<=', before ?? 0))
}

/** Returns a comment of a repository by its id, with the number of its pull request. */
export function findPullComment(
  db: Db,
  repositoryId: number,
  id: number,
): Promise<NumberedComment | undefined> {
  return db
    .selectFrom('pull_comments')
    .innerJoin('pull_requests', 'pull_requests.id', 'pull_comments.pull_request_id')
    .selectAll('pull_comments')
    .select('pull_requests.number')
    .where('pull_comments.id', '=', id)
    .where('pull_requests.repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/** @throws a foreign key violation if the pull request or the poster was deleted. */
export function insertPullComment(
  tx: Tx,
  comment: Insertable<PullCommentsTable>,
): Promise<PullComment> {
  return tx.insertInto('pull_comments').values(comment).returningAll().executeTakeFirstOrThrow()
}

/** @returns undefined if the comment was deleted. */
export function updatePullComment(
  tx: Tx,
  id: number,
  changes: Pick<PullComment, 'body' | 'update_time'>,
): Promise<PullComment | undefined> {
  return tx
    .updateTable('pull_comments')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** @returns whether the comment existed. */
export async function deletePullComment(tx: Tx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('pull_comments')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** Returns those of some comments that exist. */
export async function presentCommentIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set()
  const found = await db
    .selectFrom('pull_comments')
    .select('id')
    .where('id', 'in', numbersOf(JSON.stringify(ids)))
    .execute()
  return new Set(found.map(({ id }) => id))
}

export function findPullCommentById(db: Db, id: number): Promise<PullComment | undefined> {
  return db.selectFrom('pull_comments').selectAll().where('id', '=', id).executeTakeFirst()
}
