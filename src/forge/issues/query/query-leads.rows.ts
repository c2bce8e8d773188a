import { type RawBuilder, sql } from 'kysely'
import { endsOf, pathKey, type QueryCondition } from './query-conditions.rows.ts'
import { idsOfChecks, idsOfReview } from './query-progress.rows.ts'
import type {
  ChecksState,
  Condition,
  Property,
  Quality,
  ReviewState,
  Term,
  Value,
} from './schema.ts'

/**
 * What leads to the conversations of a query: indexes of the few rows that a term can mean. A lead
 * selects the ids of all conversations that have the property, and may select more: the condition of
 * the term decides.
 */
type Ids = RawBuilder<unknown>

/** A query, and the repository of its list; undefined for a search. */
interface Place {
  readonly query: QueryCondition
  readonly repositoryId: number | undefined
}

/** Returns what leads to the conversations of a condition; undefined if no index does. */
export function idsOfCondition(place: Place, condition: Condition): Ids | undefined {
  if (condition.kind === 'or')
    return unionOf(condition.items.map((item) => idsOfCondition(place, item)))
  if (condition.kind !== 'term') return undefined
  return unionOf(condition.values.map((value) => idsOfValue(place, condition, value)))
}

function unionOf(all: readonly (Ids | undefined)[]): Ids | undefined {
  const known = all.flatMap((ids) => ids ?? [])
  return known.length === all.length ? sql`${sql.join(known, sql` union all `)}` : undefined
}

function idsOfValue(place: Place, { qualifier }: Term, value: Value): Ids | undefined {
  switch (qualifier) {
    case 'has':
      return value.kind === 'word' ? withProperty(place, value.text as Property) : undefined
    case 'is':
      return value.kind === 'word' ? withQuality(place, value.text as Quality) : undefined
    case 'reason':
      return value.kind === 'word'
        ? issuesWhere(place, sql`state_reason = ${value.text} and state_reason <> ''`)
        : undefined
    case 'author':
    case 'assignee':
    case 'mentions':
    case 'commenter':
    case 'involves':
    case 'reviewer':
    case 'review-requested':
    case 'subscriber':
      return ofPerson(place, qualifier, value)
    case 'review':
      return value.kind === 'word' ? idsOfReview(value.text as ReviewState) : undefined
    case 'checks':
      return value.kind === 'word'
        ? idsOfChecks(value.text as ChecksState, place.repositoryId)
        : undefined
    case 'label':
    case 'milestone':
    case 'repo':
    case 'owner':
    case 'team':
      return ofName(place, qualifier, value)
    case 'created':
    case 'updated':
    case 'number':
    case 'closed':
    case 'due':
    case 'comments':
    case 'reactions':
      return withinRange(place, qualifier, value)
    case 'head':
    case 'base':
      return ofBranch(place, qualifier, value)
    case 'blocked-by':
      return sql`select issue_id from issue_dependencies`
    case 'blocks':
      return sql`select depends_on_id from issue_dependencies`
    case 'parent':
      return sql`select issue_id from sub_issues`
    case 'duplicate-of':
      return issuesWhere(place, sql`duplicate_of_id is not null`)
    default:
      return undefined
  }
}

function issuesWhere({ repositoryId }: Place, condition: RawBuilder<unknown>): Ids {
  const here = repositoryId === undefined ? sql`` : sql`and repository_id = ${repositoryId}`
  return sql`select id from issues where ${condition} ${here}`
}

function withProperty(place: Place, property: Property): Ids | undefined {
  switch (property) {
    case 'assignee':
      return sql`select issue_id from issue_assignees`
    case 'attachment':
      return sql`select issue_id from issue_attachments where issue_id is not null`
    case 'parent':
      return sql`select issue_id from sub_issues`
    case 'children':
      return sql`select parent_id from sub_issues`
    case 'dependency':
      return sql`select issue_id from issue_dependencies`
    case 'linked-pr':
      return sql`select target_id from issue_references where action = 'closes'`
    case 'milestone':
      return issuesWhere(place, sql`milestone_id is not null`)
    case 'due':
      return issuesWhere(place, sql`due_time is not null`)
    default:
      return undefined
  }
}

function withQuality(place: Place, quality: Quality): Ids | undefined {
  switch (quality) {
    case 'locked':
      return issuesWhere(place, sql`lock_reason is not null`)
    case 'pinned':
      return issuesWhere(place, sql`pin_order is not null`)
    case 'merged':
      return issuesWhere(place, sql`state = 'MERGED'`)
    case 'blocked':
      return sql`select issue_id from issue_dependencies`
    case 'blocking':
      return sql`select depends_on_id from issue_dependencies`
    case 'unread': {
      const { userId } = place.query.reader
      return sql`select issue_id from issue_participants where user_id = ${userId ?? 0}`
    }
    default:
      return undefined
  }
}

function ofPerson(place: Place, part: Term['qualifier'], value: Value): Ids | undefined {
  const { names, reader } = place.query
  const id =
    value.kind === 'me'
      ? reader.userId
      : value.kind === 'name'
        ? names.users.get(value.text.toLowerCase())
        : undefined
  // Nobody, or anybody.
  if (id === undefined) return undefined
  const inTable = (table: string, issueId: string, column: string) =>
    sql`select ${sql.ref(issueId)} from ${sql.table(table)} where ${sql.ref(column)} = ${id}`
  switch (part) {
    case 'author':
      // The index begins with the repository and the kind.
      return issuesWhere(place, sql`poster_id = ${id} and is_pull in (0, 1)`)
    case 'assignee':
      return inTable('issue_assignees', 'issue_id', 'user_id')
    case 'mentions':
      return inTable('issue_mentions', 'issue_id', 'user_id')
    case 'commenter':
      return inTable('issue_comments', 'issue_id', 'poster_id')
    case 'subscriber':
      return inTable('issue_subscriptions', 'issue_id', 'user_id')
    case 'involves':
      return unionOf(
        (['author', 'assignee', 'mentions', 'commenter'] as const).map((one) =>
          ofPerson(place, one, value),
        ),
      )
    default:
      return inTable('reviews', 'pull_request_id', 'reviewer_id')
  }
}

function ofName(place: Place, qualifier: Term['qualifier'], value: Value): Ids | undefined {
  const { repositoryId } = place
  if (qualifier === 'label' || qualifier === 'milestone') {
    if (value.kind === 'scope') return ofScope(place, value.text)
    if (value.kind !== 'name') return undefined
    if (qualifier === 'milestone')
      return issuesWhere(
        place,
        sql`milestone_id in (select id from milestones where title = ${value.text})`,
      )
    // The expression of the index `labels_named`.
    const labels = sql`select id from labels where (name || '') = ${value.text}`
    return sql`select issue_id from issue_labels where label_id in (${labels})`
  }
  const repositories = repositoryId === undefined && repositoriesOf(place.query, qualifier, value)
  return repositories
    ? sql`select id from issues where repository_id in (${repositories})`
    : undefined
}

/** Selects the ids of the repositories that a value names; undefined for a value that names none. */
export function repositoriesOf(
  { names: { repositories, owners, teams } }: QueryCondition,
  qualifier: Term['qualifier'],
  value: Value,
): Ids | undefined {
  const ofOwner = (id: number) => sql`select id from repositories where owner_id = ${id}`
  if (qualifier === 'owner' && value.kind === 'name') {
    const id = owners.get(value.text.toLowerCase())
    return id === undefined ? undefined : ofOwner(id)
  }
  if (value.kind !== 'path') return undefined
  if (qualifier === 'repo') {
    const id = repositories.get(pathKey(value))
    return id === undefined ? undefined : sql`select id from repositories where id = ${id}`
  }
  const team = qualifier === 'team' ? teams.get(pathKey(value)) : undefined
  if (!team) return undefined
  return team.hasAll
    ? ofOwner(team.organizationId)
    : sql`select repository_id from team_repositories where team_id = ${team.id}`
}

/** Leads to what a number or a time of the conversation is within. */
function withinRange(place: Place, qualifier: Ranged, value: Value): Ids | undefined {
  const [from = 0, to = Number.MAX_SAFE_INTEGER] = endsOf(value, place.query.now)
  const ranged = rangeIn(place.repositoryId !== undefined, qualifier, from)
  return (
    ranged &&
    issuesWhere(place, sql`${ranged.isIndexed} and ${ranged.value} between ${from} and ${to}`)
  )
}

type Ranged = 'created' | 'updated' | 'number' | 'closed' | 'due' | 'comments' | 'reactions'

/** A value that an index has in its order, and the condition that leads to the index. */
interface IndexedRange {
  readonly value: Ids
  readonly isIndexed: Ids
}

/** Issues with fewer comments are not in the index of all repositories. */
const MANY_COMMENTS = 10

/** Returns undefined if no index has the values from a first one. */
function rangeIn(
  isOneRepository: boolean,
  qualifier: Ranged,
  from: number,
): IndexedRange | undefined {
  const indexed = (value: string, isIndexed = 'true') => ({
    value: sql.raw(value),
    isIndexed: sql.raw(isIndexed),
  })
  // The indexes of one repository begin with the repository and the kind.
  const ofKinds = 'is_pull in (0, 1)'
  switch (qualifier) {
    case 'number':
      return indexed('number')
    case 'due':
      return indexed('due_time', 'due_time is not null')
    case 'closed':
      return isOneRepository
        ? indexed('coalesce(close_time, 0)', `${ofKinds} and coalesce(close_time, 0) > 0`)
        : indexed('close_time', 'close_time is not null')
    case 'comments':
      if (isOneRepository) return indexed('comment_count', ofKinds)
      return from < MANY_COMMENTS
        ? undefined
        : indexed('comment_count', `comment_count >= ${MANY_COMMENTS}`)
    case 'reactions':
      if (from === 0) return undefined
      return indexed(
        'reaction_count',
        `${isOneRepository ? ofKinds : 'true'} and reaction_count > 0`,
      )
    default:
      // Lists of one repository have indexes of their own.
      return isOneRepository
        ? undefined
        : indexed(qualifier === 'created' ? 'create_time' : 'update_time')
  }
}

function ofBranch(place: Place, side: 'head' | 'base', value: Value): Ids | undefined {
  if (value.kind !== 'name') return undefined
  const branch = sql.ref(side === 'head' ? 'head_branch' : 'base_branch')
  return issuesWhere(place, sql`is_pull = 1 and ${branch} = ${value.text}`)
}

/** Leads to the labels of a scope. The text ends in `/`, and `0` follows that character. */
function ofScope({ repositoryId }: Place, scope: string): Ids {
  const isWithin = (name: RawBuilder<unknown>) =>
    sql`${name} >= ${scope} and ${name} < ${`${scope.slice(0, -1)}0`}`
  if (repositoryId === undefined) {
    const labels = sql`select id from labels where ${isWithin(sql`(name || '')`)}`
    return sql`select issue_id from issue_labels where label_id in (${labels})`
  }
  const labels = sql`select id from labels where repository_id = ${repositoryId} and ${isWithin(sql`name`)}
    union all select id from labels
      where organization_id = (select owner_id from repositories where id = ${repositoryId}) and ${isWithin(sql`name`)}`
  return sql`select issue_id from issue_labels
    where label_id in (${labels}) and repository_id = ${repositoryId} and is_pull in (0, 1) and is_open in (0, 1)`
}
