import type { Insertable } from 'kysely'
import { numbersOf, prepareShapes } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Conversation, ConversationKinds, IssueComment, IssueCommentsTable } from './schema.ts'

/**
 * A period in which comments were last changed, with its ends. Unix seconds; undefined for no
 * limit.
 */
export interface CommentPeriod {
  readonly since: number | undefined
  readonly before: number | undefined
}

/** A page of a list. */
interface CommentRange {
  readonly offset: number
  readonly limit: number
}

/** Lists the comments on a conversation, oldest first. */
export function listIssueComments(
  db: Db,
  conversationId: number,
  period: CommentPeriod,
  { offset, limit }: CommentRange,
): Promise<IssueComment[]> {
  const values = [...periodValues(conversationId, period), limit, offset]
  return commentPages(db, shapeOf(period), period, values)
}

const commentPages = prepareShapes((db, period: CommentPeriod, placeholder) =>
  selectComments(db, period, placeholder)
    .selectAll()
    .orderBy('create_time')
    .orderBy('id')
    .limit(placeholder())
    .offset(placeholder()),
)

/** Returns the number of comments in that list. */
export async function countIssueComments(
  db: Db,
  conversationId: number,
  period: CommentPeriod,
): Promise<number> {
  const values = periodValues(conversationId, period)
  const [counted] = await commentCounts(db, shapeOf(period), period, values)
  return counted?.count ?? 0
}

const commentCounts = prepareShapes((db, period: CommentPeriod, placeholder) =>
  selectComments(db, period, placeholder).select((eb) => eb.fn.countAll<number>().as('count')),
)

/** Returns the key of the shape of a query for a period. */
function shapeOf({ since, before }: CommentPeriod): string {
  return `${since === undefined ? '' : 'since'} ${before === undefined ? '' : 'before'}`
}

/** Returns the values in the order of `selectComments`. */
function periodValues(conversationId: number, { since, before }: CommentPeriod): number[] {
  return [conversationId, since, before].filter((value) => value !== undefined)
}

function selectComments(db: Db, { since, before }: CommentPeriod, placeholder: () => never) {
  return db
    .selectFrom('issue_comments')
    .where('issue_id', '=', placeholder())
    .$if(since !== undefined, (query) => query.where('update_time', '>=', placeholder()))
    .$if(before !== undefined, (query) => query.where('update_time', '<=', placeholder()))
}

/** Comments of the conversations of a repository. */
interface CommentSelection extends CommentPeriod {
  readonly repositoryId: number
  readonly kinds: ConversationKinds
}

/** A comment with the number of its conversation. */
export type NumberedComment = IssueComment & Pick<Conversation, 'number' | 'is_pull'>

/**
 * Returns a page of the comments on conversations of a repository, oldest first.
 *
 * The query reads the index from the nearer end of the list, so that the last page costs as much as
 * the first one.
 *
 * @param total length of the whole list.
 */
export async function pageOfRepositoryComments(
  db: Db,
  selection: CommentSelection,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  total: number,
): Promise<NumberedComment[]> {
  const size = Math.min(limit, total - offset)
  if (size <= 0) return []
  const behind = total - offset - size
  const isFromEnd = behind < offset
  const direction = isFromEnd ? 'desc' : 'asc'
  const ids = selectRepositoryComments(db, selection)
    .select('issue_comments.id')
    .orderBy('issue_comments.create_time', direction)
    .orderBy('issue_comments.id', direction)
    .limit(size)
    .offset(isFromEnd ? behind : offset)
  return db
    .selectFrom('issue_comments')
    .innerJoin('issues', 'issues.id', 'issue_comments.issue_id')
    .selectAll('issue_comments')
    .select(['issues.number', 'issues.is_pull'])
    .where('issue_comments.id', 'in', ids)
    .orderBy('issue_comments.create_time')
    .orderBy('issue_comments.id')
    .execute()
}

/**
 * Returns the number of comments in that list. A period, or one kind of conversations, costs the
 * more, the more it contains.
 */
export async function countRepositoryComments(
  db: Db,
  selection: CommentSelection,
): Promise<number> {
  const { count } = await selectRepositoryComments(db, selection)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectRepositoryComments(
  db: Db,
  { repositoryId, kinds, since, before }: CommentSelection,
) {
  return db
    .selectFrom('issue_comments')
    .where('issue_comments.repository_id', '=', repositoryId)
    .$if(since !== undefined, (query) =>
      query.where('issue_comments.update_time', '>=', since ?? 0),
    )
    .$if(before !== undefined, (query) =>
      query.where('issue_comments.update_time', '<=', before ?? 0),
    )
    .$if(kinds.issues !== kinds.pulls, (query) =>
      query.where((eb) =>
        eb.exists(
          eb
            .selectFrom('issues')
            .select('issues.id')
            .whereRef('issues.id', '=', 'issue_comments.issue_id')
            .where('issues.is_pull', '=', kinds.pulls ? 1 : 0),
        ),
      ),
    )
}

/** Returns a comment of a repository by its id, with the number of its conversation. */
export function findIssueComment(
  db: Db,
  repositoryId: number,
  id: number,
): Promise<NumberedComment | undefined> {
  return db
    .selectFrom('issue_comments')
    .innerJoin('issues', 'issues.id', 'issue_comments.issue_id')
    .selectAll('issue_comments')
    .select(['issues.number', 'issues.is_pull'])
    .where('issue_comments.id', '=', id)
    .where('issues.repository_id', '=', repositoryId)
    .executeTakeFirst()
}

/** @throws a foreign key violation if the conversation or the poster was deleted. */
export function insertIssueComment(
  tx: Tx,
  comment: Insertable<IssueCommentsTable>,
): Promise<IssueComment> {
  return tx.insertInto('issue_comments').values(comment).returningAll().executeTakeFirstOrThrow()
}

/** @returns undefined if the comment was deleted. */
export function updateIssueComment(
  tx: Tx,
  id: number,
  changes: Partial<Pick<IssueComment, 'body'>> & Pick<IssueComment, 'update_time'>,
): Promise<IssueComment | undefined> {
  return tx
    .updateTable('issue_comments')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** @returns whether the comment existed. */
export async function deleteIssueComment(tx: Tx, id: number): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('issue_comments')
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
    .selectFrom('issue_comments')
    .select('id')
    .where('id', 'in', numbersOf(JSON.stringify(ids)))
    .execute()
  return new Set(found.map(({ id }) => id))
}

export function findIssueCommentById(db: Db, id: number): Promise<IssueComment | undefined> {
  return db.selectFrom('issue_comments').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns comments by their ids. */
export async function findIssueComments(db: Db, ids: readonly number[]): Promise<IssueComment[]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('issue_comments')
    .selectAll()
    .where('id', 'in', numbersOf(JSON.stringify(ids)))
    .execute()
}

/** Returns comments that a user has written since a time in Unix seconds. */
export function commentsOf(
  tx: Tx,
  userId: number,
  since: number,
  limit: number,
): Promise<IssueComment[]> {
  return tx
    .selectFrom('issue_comments')
    .selectAll()
    .where('poster_id', '=', userId)
    .where('create_time', '>=', since)
    .limit(limit)
    .execute()
}

/** Returns the texts of all comments of a conversation. */
export function commentTexts(
  tx: Tx,
  conversationId: number,
): Promise<Pick<IssueComment, 'id' | 'body'>[]> {
  return tx
    .selectFrom('issue_comments')
    .select(['id', 'body'])
    .where('issue_id', '=', conversationId)
    .execute()
}
