import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { lowerCase } from '../../../platform/database/dialects/dialects.ts'
import type { Schema } from '../../../platform/database/schema.ts'
import type { RepositoryReader } from '../../repositories/access/repository-readers.rows.ts'
import { type Issues, isLinked, isReadable, waits } from './query-links.rows.ts'
import { hasUser } from './query-people.rows.ts'
import { hasChecks, hasReview } from './query-progress.rows.ts'
import { hasQueryWords } from './query-words.rows.ts'
import type {
  ChecksState,
  Condition,
  Property,
  Quality,
  QueryNames,
  ReviewState,
  Term,
  Value,
} from './schema.ts'

/** A condition with all that its values mean. */
export interface QueryCondition {
  readonly condition: Condition
  readonly names: QueryNames
  readonly reader: RepositoryReader
  /** Unix seconds. */
  readonly now: number
  /** How titles of pull requests in work begin. */
  readonly draftPrefixes: readonly string[]
}

/**
 * Returns the condition of a query for rows of `issues` that the reader may read. No condition looks
 * at a conversation, a repository or a label that the reader may not read.
 *
 * Each condition is true or false, never null, so that it can be negated.
 */
export function queryCondition(eb: Issues, query: QueryCondition): Expression<SqlBool> {
  const { condition } = query
  const within = (inner: Condition) => queryCondition(eb, { ...query, condition: inner })
  switch (condition.kind) {
    case 'and':
      return eb.and(condition.items.map(within))
    case 'or':
      return eb.or(condition.items.map(within))
    case 'not':
      return eb.not(within(condition.item))
    case 'words':
      return hasQueryWords(eb, condition)
    default:
      return eb.or(condition.values.map((value) => hasValue(eb, query, condition, value)))
  }
}

const NEVER = sql<SqlBool>`false`

/** The columns of the qualifiers that take ranges. */
const RANGES = {
  created: 'create_time',
  updated: 'update_time',
  closed: 'close_time',
  due: 'due_time',
  comments: 'comment_count',
  number: 'number',
  reactions: 'reaction_count',
} as const

function hasValue(
  eb: Issues,
  query: QueryCondition,
  { qualifier }: Term,
  value: Value,
): Expression<SqlBool> {
  switch (qualifier) {
    case 'is':
    case 'state':
    case 'type':
      return value.kind === 'word' ? hasQuality(eb, query, value.text as Quality) : NEVER
    case 'has':
      return value.kind === 'word' ? hasProperty(eb, query, value.text as Property) : NEVER
    case 'no':
      return value.kind === 'word' ? eb.not(hasProperty(eb, query, value.text as Property)) : NEVER
    case 'author':
    case 'assignee':
    case 'mentions':
    case 'commenter':
    case 'involves':
    case 'reviewer':
    case 'review-requested':
    case 'subscriber':
      return hasUser(eb, query, qualifier, value)
    case 'review':
      return value.kind === 'word' ? hasReview(value.text as ReviewState) : NEVER
    case 'checks':
      return value.kind === 'word' ? hasChecks(value.text as ChecksState) : NEVER
    case 'label':
      return hasLabel(eb, value)
    case 'milestone':
      return hasMilestone(eb, value)
    case 'repo':
    case 'owner':
    case 'team':
      return isInPlace(eb, query.names, value, qualifier)
    case 'created':
    case 'updated':
    case 'closed':
    case 'due':
    case 'comments':
    case 'number':
    case 'reactions':
      return isWithin(sql.ref(`issues.${RANGES[qualifier]}`), value, query.now)
    case 'blocks':
    case 'blocked-by':
      return waits(eb, query.reader, qualifier === 'blocks' ? 'for it' : 'on its own', {
        named: value,
        repositories: query.names.repositories,
      })
    case 'head':
    case 'base':
      return isOfBranch(eb, qualifier, value)
    case 'parent':
    case 'duplicate-of':
      return isLinked(eb, query.reader, qualifier === 'parent' ? 'parent' : 'duplicate', {
        named: value,
        repositories: query.names.repositories,
      })
    default:
      return value.kind === 'word'
        ? sql<SqlBool>`(issues.state_reason = ${value.text} and (issues.state = 'OPEN') = false)`
        : NEVER
  }
}

function hasQuality(eb: Issues, query: QueryCondition, quality: Quality): Expression<SqlBool> {
  switch (quality) {
    // The expressions of the indexes.
    case 'open':
      return sql<SqlBool>`(issues.state = 'OPEN') = true`
    case 'closed':
      return sql<SqlBool>`(issues.state = 'OPEN') = false`
    case 'merged':
      return eb('issues.state', '=', 'MERGED')
    case 'issue':
      return eb('issues.is_pull', '=', 0)
    case 'pr':
      return eb('issues.is_pull', '=', 1)
    case 'draft':
      return eb.and([
        eb('issues.is_pull', '=', 1),
        eb.or(query.draftPrefixes.map((prefix) => beginsWith('issues.title', prefix))),
      ])
    case 'locked':
      return eb('issues.lock_reason', 'is not', null)
    case 'pinned':
      return eb('issues.pin_order', 'is not', null)
    case 'public':
    case 'private':
      return inRepository(eb, (of) =>
        of('repositories.private', '=', quality === 'private' ? 1 : 0),
      )
    case 'archived':
      return inRepository(eb, (of) => of('repositories.archive_time', 'is not', null))
    case 'unread':
      return isUnread(eb, query.reader.userId)
    case 'blocked':
      return waits(eb, query.reader, 'on its own', { state: 'open' })
    default:
      return eb.and([eb('issues.state', '=', 'OPEN'), waits(eb, query.reader, 'for it', {})])
  }
}

/** Letters of ASCII are the same in upper and lower case. */
function beginsWith(column: string, prefix: string): Expression<SqlBool> {
  const length = Array.from(prefix).length
  const start = sql`substr(lower(${sql.ref(column)}), 1, ${sql.lit(length)})`
  return sql<SqlBool>`${start} = ${lowerCase(prefix)}`
}

function inRepository(
  eb: Issues,
  condition: (of: ExpressionBuilder<Schema, 'repositories'>) => Expression<SqlBool>,
): Expression<SqlBool> {
  return eb.exists(
    eb
      .selectFrom('repositories')
      .select('repositories.id')
      .whereRef('repositories.id', '=', 'issues.repository_id')
      .where(condition),
  )
}

function isUnread(eb: Issues, userId: number | undefined): Expression<SqlBool> {
  if (userId === undefined) return NEVER
  return eb.exists(
    eb
      .selectFrom('issue_participants')
      .select('issue_participants.issue_id')
      .whereRef('issue_participants.issue_id', '=', 'issues.id')
      .where('issue_participants.user_id', '=', userId)
      .whereRef('issue_participants.seen', '<', 'issues.change_count'),
  )
}

function hasProperty(eb: Issues, query: QueryCondition, property: Property): Expression<SqlBool> {
  switch (property) {
    case 'label':
      return hasLabel(eb, { kind: 'any' })
    case 'milestone':
      return eb('issues.milestone_id', 'is not', null)
    case 'assignee':
      return hasUser(eb, query, 'assignee', { kind: 'any' })
    case 'due':
      return eb('issues.due_time', 'is not', null)
    case 'dependency':
      return waits(eb, query.reader, 'on its own', {})
    case 'linked-pr':
      return hasClosingPull(eb, query.reader)
    case 'parent':
    case 'children':
      return isLinked(eb, query.reader, property, {})
    default:
      return eb.exists(
        eb
          .selectFrom('issue_attachments')
          .select('issue_attachments.id')
          .whereRef('issue_attachments.issue_id', '=', 'issues.id'),
      )
  }
}

function hasClosingPull(eb: Issues, reader: RepositoryReader): Expression<SqlBool> {
  return eb.exists(
    eb
      .selectFrom('issue_references')
      .innerJoin('issues as source', 'source.id', 'issue_references.source_id')
      .select('issue_references.id')
      .whereRef('issue_references.target_id', '=', 'issues.id')
      .where('issue_references.action', '=', 'closes')
      .where('source.is_pull', '=', 1)
      .where(() => isReadable(eb, reader, 'source')),
  )
}

/** Labels that the repository has, or that its present owner has for all its repositories. */
function hasLabel(eb: Issues, value: Value): Expression<SqlBool> {
  if (value.kind === 'none') return eb.not(hasLabel(eb, { kind: 'any' }))
  const owner = sql`(select repositories.owner_id from repositories where repositories.id = issues.repository_id)`
  const labels = eb
    .selectFrom('issue_labels')
    .innerJoin('labels', 'labels.id', 'issue_labels.label_id')
    .select('issue_labels.label_id')
    .whereRef('issue_labels.issue_id', '=', 'issues.id')
    .where(
      sql<SqlBool>`(labels.repository_id = issues.repository_id or labels.organization_id = ${owner})`,
    )
  if (value.kind === 'name') return eb.exists(labels.where('labels.name', '=', value.text))
  if (value.kind !== 'scope') return eb.exists(labels)
  const length = sql.lit(Array.from(value.text).length)
  return eb.exists(labels.where(sql<SqlBool>`substr(labels.name, 1, ${length}) = ${value.text}`))
}

function hasMilestone(eb: Issues, value: Value): Expression<SqlBool> {
  if (value.kind === 'none') return eb('issues.milestone_id', 'is', null)
  if (value.kind !== 'name') return eb('issues.milestone_id', 'is not', null)
  return eb.exists(
    eb
      .selectFrom('milestones')
      .select('milestones.id')
      .whereRef('milestones.id', '=', 'issues.milestone_id')
      .where('milestones.title', '=', value.text),
  )
}

function isInPlace(
  eb: Issues,
  { repositories, owners, teams }: QueryNames,
  value: Value,
  qualifier: 'repo' | 'owner' | 'team',
): Expression<SqlBool> {
  if (value.kind === 'name') {
    const ownerId = owners.get(value.text.toLowerCase())
    return ownerId === undefined
      ? NEVER
      : inRepository(eb, (of) => of('repositories.owner_id', '=', ownerId))
  }
  if (value.kind !== 'path') return NEVER
  const path = pathKey(value)
  if (qualifier === 'repo') {
    const id = repositories.get(path)
    return id === undefined ? NEVER : eb('issues.repository_id', '=', id)
  }
  const team = teams.get(path)
  if (!team) return NEVER
  return inRepository(eb, (of) =>
    of.and([
      of('repositories.owner_id', '=', team.organizationId),
      ...(team.hasAll
        ? []
        : [
            of(
              'repositories.id',
              'in',
              of
                .selectFrom('team_repositories')
                .select('team_repositories.repository_id')
                .where('team_repositories.team_id', '=', team.id),
            ),
          ]),
    ]),
  )
}

/** Returns the key of a repository or team in `QueryNames`. */
export function pathKey({
  owner,
  name,
}: {
  readonly owner: string
  readonly name: string
}): string {
  return `${owner}/${name}`.toLowerCase()
}

function isOfBranch(eb: Issues, side: 'head' | 'base', value: Value): Expression<SqlBool> {
  if (value.kind !== 'name') return NEVER
  return eb.and([
    eb('issues.is_pull', '=', 1),
    eb(side === 'head' ? 'issues.head_branch' : 'issues.base_branch', '=', value.text),
  ])
}

/** A column without a value is within nothing. */
function isWithin(column: Expression<unknown>, value: Value, now: number): Expression<SqlBool> {
  const [from, to] = endsOf(value, now)
  const ends = [
    ...(from === undefined ? [] : [sql<SqlBool>`${column} >= ${from}`]),
    ...(to === undefined ? [] : [sql<SqlBool>`${column} <= ${to}`]),
  ]
  return sql<SqlBool>`(${column} is not null and ${sql.join(ends, sql` and `)})`
}

/** Returns the first and the last number or time of a value; undefined for an open end. */
export function endsOf(
  value: Value,
  now: number,
): [from: number | undefined, to: number | undefined] {
  if (value.kind === 'numbers' || value.kind === 'times') return [value.from, value.to]
  if (value.kind !== 'age') return [1, 0]
  const limit = now - value.seconds
  return value.is === 'less' ? [limit, now] : [undefined, limit - 1]
}
