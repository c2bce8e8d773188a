import { type RawBuilder, sql } from 'kysely'
import { pathKey, type QueryCondition } from './query-conditions.rows.ts'
import type { Condition, Property, Quality, Term, Value } from './schema.ts'

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
    case 'label':
    case 'milestone':
    case 'repo':
    case 'owner':
    case 'team':
      return ofName(place, qualifier, value)
    case 'created':
    case 'updated':
      // Lists of one repository have indexes of their own.
      return place.repositoryId === undefined ? withinTimes(place, qualifier, value) : undefined
    case 'number':
      return withinTimes(place, qualifier, value)
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

const COLUMNS = { created: 'create_time', updated: 'update_time', number: 'number' } as const

function withinTimes(place: Place, qualifier: keyof typeof COLUMNS, value: Value): Ids | undefined {
  const { now } = place.query
  const [from, to] =
    value.kind === 'numbers' || value.kind === 'times'
      ? [value.from, value.to]
      : value.kind === 'age' && value.is === 'less'
        ? [now - value.seconds, now]
        : value.kind === 'age'
          ? [undefined, now - value.seconds - 1]
          : [1, 0]
  const column = sql.ref(COLUMNS[qualifier])
  return issuesWhere(
    place,
    sql`${column} between ${from ?? 0} and ${to ?? Number.MAX_SAFE_INTEGER}`,
  )
}
