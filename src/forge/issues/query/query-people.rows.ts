import { type Expression, type ReferenceExpression, type SqlBool, sql } from 'kysely'
import type { Schema } from '../../../platform/database/schema.ts'
import type { RepositoryReader } from '../../repositories/access/repository-readers.rows.ts'
import type { Issues } from './query-links.rows.ts'
import type { QueryNames, Value } from './schema.ts'

/** What a person may be to a conversation. */
type Part =
  | 'author'
  | 'assignee'
  | 'mentions'
  | 'commenter'
  | 'involves'
  | 'reviewer'
  | 'review-requested'
  | 'subscriber'

/** The caller, and the users that a query names. */
interface People {
  readonly names: Pick<QueryNames, 'users'>
  readonly reader: Pick<RepositoryReader, 'userId'>
}

/** The condition that a user, anybody or nobody has a part in a conversation. */
export function hasUser(
  eb: Issues,
  { names, reader }: People,
  part: Part,
  value: Value,
): Expression<SqlBool> {
  switch (value.kind) {
    case 'none':
      return eb.not(takesPart(eb, part, 'any'))
    case 'any':
      return takesPart(eb, part, 'any')
    case 'me':
      return takesPart(eb, part, reader.userId)
    case 'name':
      return takesPart(eb, part, names.users.get(value.text.toLowerCase()))
    default:
      return sql<SqlBool>`false`
  }
}

/** @param user an id; undefined for a user who is not known. */
function takesPart(eb: Issues, part: Part, user: number | 'any' | undefined): Expression<SqlBool> {
  if (user === undefined) return sql<SqlBool>`false`
  const is = (column: ReferenceExpression<Schema, never>) =>
    user === 'any'
      ? sql<SqlBool>`${sql.ref(String(column))} is not null`
      : sql<SqlBool>`(${sql.ref(String(column))} is not null and ${sql.ref(String(column))} = ${user})`
  const inTable = (table: string, issueId: string, column: string, more = sql`true`) =>
    sql<SqlBool>`exists (select 1 from ${sql.table(table)}
      where ${sql.ref(`${table}.${issueId}`)} = issues.id
      and ${is(`${table}.${column}` as never)} and ${more})`
  const reviewed = sql`reviews.state in ('APPROVED', 'REQUEST_CHANGES', 'COMMENT')`
  const requested = sql`reviews.state = 'REQUEST_REVIEW'`
  switch (part) {
    case 'author':
      return is('issues.poster_id' as never)
    case 'assignee':
      return inTable('issue_assignees', 'issue_id', 'user_id')
    case 'mentions':
      return inTable('issue_mentions', 'issue_id', 'user_id')
    case 'commenter':
      return inTable('issue_comments', 'issue_id', 'poster_id')
    case 'reviewer':
      return inTable('reviews', 'pull_request_id', 'reviewer_id', reviewed)
    case 'review-requested':
      return inTable('reviews', 'pull_request_id', 'reviewer_id', requested)
    case 'subscriber':
      return inTable('issue_subscriptions', 'issue_id', 'user_id', sql`subscribed = 1`)
    default:
      return eb.or(
        (['author', 'assignee', 'mentions', 'commenter'] as const).map((one) =>
          takesPart(eb, one, user),
        ),
      )
  }
}
