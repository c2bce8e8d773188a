import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import { either } from '../../platform/database/dialects/dialects.ts'
import type { Db } from '../../platform/database/schema.ts'
import { kindsOf } from './issue-orders.rows.ts'
import type { IssueFilter, IssueSelection, ReadablePlace } from './issue-selections.rows.ts'
import { idsOfCondition, repositoriesOf } from './query/query-leads.rows.ts'

/** Reading and sorting so many conversations costs less than a walk over a list in its order. */
const MAX_NARROW = 2_000

/** A property of a filter that leads to the conversations that have it. */
interface LeadTo {
  readonly property: keyof IssueFilter
  /** Selects the ids of the conversations. */
  readonly ids: RawBuilder<unknown>
  /** The condition for a conversation of the list. */
  readonly holds: Expression<SqlBool>
  /** The rows of a table that has the conversations in the order of their creation. */
  readonly listed?: Listed
}

export interface Lead extends LeadTo {
  /** Whether few conversations have the property. */
  readonly isNarrow: boolean
}

/** The conversations of one repository with one of some labels, or with an assignee. */
export interface Listed {
  readonly table: 'issue_labels' | 'issue_assignees'
  readonly column: 'label_id' | 'user_id'
  readonly values: readonly number[]
  readonly repositoryId: number
}

/** Finds what the filter of a list leads to. */
export async function leadsOf(db: Db, selection: IssueSelection): Promise<Lead[]> {
  const { place } = selection
  const found = [...leadsToPulls(selection), ...mentions(selection)]
  const asked = [...queried(selection), ...milestones(selection)]
  if ('reader' in place) {
    // A search has no better way to people.
    const ofPeople = [...found, ...assignments(selection)].map((lead) => ({
      ...lead,
      isNarrow: true,
    }))
    const others = [
      ...labelsAnywhere(selection),
      ...asked,
      ...changesAnywhere(selection),
      ...places(selection, place),
    ]
    return [...ofPeople, ...(await Promise.all(others.map((lead) => counted(db, lead))))]
  }
  const { repositoryId } = place
  const all = [
    ...found,
    ...assignees(selection, repositoryId),
    ...(await labelsOf(db, selection, repositoryId)),
    ...posters(selection, repositoryId),
    ...changes(selection, repositoryId),
    ...asked,
  ]
  return Promise.all(all.map((lead) => counted(db, lead)))
}

async function counted(db: Db, lead: LeadTo): Promise<Lead> {
  const { rows } = await sql<{ count: number }>`select count(*) as count
    from (${lead.ids} limit ${MAX_NARROW + 1}) as first_ones`.execute(db)
  return { ...lead, isNarrow: Number(rows[0]?.count) <= MAX_NARROW }
}

const ALWAYS = sql<SqlBool>`true`

/** Leads to what the terms of a query can mean. The query has the condition of each. */
function queried({ place, filter: { query } }: IssueSelection): LeadTo[] {
  if (!query) return []
  const { condition } = query
  const repositoryId = 'repositoryId' in place ? place.repositoryId : undefined
  return (condition.kind === 'and' ? condition.items : [condition]).flatMap((item) => {
    const ids = idsOfCondition({ query, repositoryId }, item)
    return ids ? [{ property: 'query' as const, ids, holds: ALWAYS }] : []
  })
}

function milestones({ place, filter }: IssueSelection): LeadTo[] {
  if (!filter.milestones) return []
  const { titles, ids } = filter.milestones
  const inRepository =
    'repositoryId' in place ? sql`and repository_id = ${place.repositoryId}` : sql``
  const known = sql`select id from milestones where title in (${sql.join(titles)}) ${inRepository}
    ${ids.length > 0 ? sql`union select id from milestones where id in (${sql.join(ids)}) ${inRepository}` : sql``}`
  const found = sql`select id from issues where milestone_id in (${known})`
  return [{ property: 'milestones', ids: found, holds: ALWAYS }]
}

/** The filters of a search for changes have their condition in any case. */
function changesAnywhere({ filter: { since, before } }: IssueSelection): LeadTo[] {
  if (since === undefined && before === undefined) return []
  const ids = sql`select id from issues
    where update_time between ${since ?? 0} and ${before ?? Number.MAX_SAFE_INTEGER}`
  return [{ property: since === undefined ? 'before' : 'since', ids, holds: ALWAYS }]
}

function places(selection: IssueSelection, place: ReadablePlace): LeadTo[] {
  const repositories = repositoriesAsked(selection, place)
  if (!repositories) return []
  const ids = sql`select id from issues where repository_id in (${repositories})`
  return [{ property: 'query', ids, holds: ALWAYS }]
}

/** Selects the repositories of a search that names an owner, a team or repositories; undefined for all. */
function repositoriesAsked(
  { filter: { query } }: IssueSelection,
  { ownerId, teamId }: ReadablePlace,
): RawBuilder<unknown> | undefined {
  if (teamId !== undefined)
    return sql`select repository_id from team_repositories where team_id = ${teamId}`
  if (ownerId !== undefined) return sql`select id from repositories where owner_id = ${ownerId}`
  if (!query) return undefined
  const { condition } = query
  for (const item of condition.kind === 'and' ? condition.items : [condition]) {
    if (item.kind !== 'term') continue
    const { qualifier } = item
    const found = item.values.flatMap((value) => repositoriesOf(query, qualifier, value) ?? [])
    if (found.length > 0 && found.length === item.values.length)
      return sql`${sql.join(found, sql` union `)}`
  }
  return undefined
}

/** A search of no more repositories reads the list of each by its index. */
const MAX_REPOSITORIES = 8

/** Returns the repositories of a search, if the search names few; undefined for many. */
export async function fewRepositories(
  db: Db,
  selection: IssueSelection,
): Promise<readonly number[] | undefined> {
  const { place } = selection
  const asked = 'reader' in place ? repositoriesAsked(selection, place) : undefined
  if (!asked) return undefined
  const { rows } = await sql<{ id: number }>`select id from repositories
    where id in (${asked}) limit ${MAX_REPOSITORIES + 1}`.execute(db)
  return rows.length > MAX_REPOSITORIES ? undefined : rows.map(({ id }) => Number(id))
}

/** A lead by rows of a table that name a conversation and meet a condition. */
function byRows(
  property: keyof IssueFilter,
  table: string,
  key: string,
  condition: RawBuilder<unknown>,
): LeadTo {
  const [rows, id] = [sql.table(table), sql.ref(`${table}.${key}`)]
  return {
    property,
    ids: sql`select ${id} from ${rows} where ${condition}`,
    holds: sql<SqlBool>`exists (select 1 from ${rows} where ${id} = issues.id and ${condition})`,
  }
}

function leadsToPulls({ filter: { requestedId, reviewerId } }: IssueSelection): LeadTo[] {
  const reviews = (property: keyof IssueFilter, userId: number, states: RawBuilder<unknown>) =>
    byRows(
      property,
      'reviews',
      'pull_request_id',
      sql`reviews.state in (${states}) and reviews.reviewer_id = ${userId}`,
    )
  const submitted = sql`'APPROVED', 'REQUEST_CHANGES', 'COMMENT'`
  return [
    ...(requestedId === undefined
      ? []
      : [reviews('requestedId', requestedId, sql`'REQUEST_REVIEW'`)]),
    ...(reviewerId === undefined ? [] : [reviews('reviewerId', reviewerId, submitted)]),
  ]
}

function mentions({ filter: { mentionedId } }: IssueSelection): LeadTo[] {
  if (mentionedId === undefined) return []
  const isMentioned = sql`issue_mentions.user_id = ${mentionedId}`
  return [byRows('mentionedId', 'issue_mentions', 'issue_id', isMentioned)]
}

function assignments({ filter: { assigneeId } }: IssueSelection): LeadTo[] {
  if (assigneeId === undefined) return []
  const isAssigned = sql`issue_assignees.user_id = ${assigneeId}`
  return [byRows('assigneeId', 'issue_assignees', 'issue_id', isAssigned)]
}

function assignees(selection: IssueSelection, repositoryId: number): LeadTo[] {
  const { assigneeId } = selection.filter
  if (assigneeId === undefined) return []
  const listed = { table: 'issue_assignees', column: 'user_id' } as const
  return [byList('assigneeId', selection, { ...listed, values: [assigneeId], repositoryId })]
}

/** Labels of a former owner stay on conversations, and nobody sees them. */
async function labelsOf(
  db: Db,
  selection: IssueSelection,
  repositoryId: number,
): Promise<LeadTo[]> {
  const { labels } = selection.filter
  if (!labels) return []
  const { rows } = await sql<{
    id: number
  }>`select id from labels where name in (${sql.join(labels)})
    and (repository_id = ${repositoryId}
      or organization_id = (select owner_id from repositories where id = ${repositoryId}))`.execute(
    db,
  )
  const values = rows.map(({ id }) => id)
  return [
    byList('labels', selection, {
      table: 'issue_labels',
      column: 'label_id',
      values,
      repositoryId,
    }),
  ]
}

function byList(property: keyof IssueFilter, selection: IssueSelection, listed: Listed): LeadTo {
  const { table, column, values, repositoryId } = listed
  // No value is no row.
  const isNamed = sql`${sql.ref(`${table}.${column}`)} in (${values.length > 0 ? sql.join(values) : sql`null`})`
  const rows = byRows(property, table, 'issue_id', isNamed)
  const ids = sql`${rows.ids} and repository_id = ${repositoryId}
    and is_pull in (${sql.join(kindsOf(selection.kinds))})
    and is_open in (${sql.join(statesOf(selection))})`
  return { ...rows, ids, ...(values.length > 0 ? { listed } : {}) }
}

/** Returns the values of the column `is_open` of a table of lists. */
export function statesOf({ filter: { isOpen } }: IssueSelection): (0 | 1)[] {
  return isOpen === undefined ? [1, 0] : [isOpen ? 1 : 0]
}

function labelsAnywhere({ filter: { labels } }: IssueSelection): LeadTo[] {
  if (!labels) return []
  const isSeen = (issues: RawBuilder<unknown>) => sql`labels.name in (${sql.join(labels)})
    and (labels.repository_id = ${issues}.repository_id
      or labels.organization_id = (select repositories.owner_id from repositories
        where repositories.id = ${issues}.repository_id))`
  const rows = sql`issue_labels inner join labels on labels.id = issue_labels.label_id`
  return [
    {
      property: 'labels',
      ids: sql`select issue_labels.issue_id from ${rows} where ${isSeen(sql`issue_labels`)}`,
      holds: sql<SqlBool>`exists (select 1 from ${rows}
        where issue_labels.issue_id = issues.id and ${isSeen(sql`issues`)})`,
    },
  ]
}

function posters(selection: IssueSelection, repositoryId: number): LeadTo[] {
  const { posterId } = selection.filter
  if (posterId === undefined) return []
  const isPosted = sql<SqlBool>`issues.poster_id = ${posterId}`
  return [
    {
      property: 'posterId',
      ids: sql`${issuesOf(selection, repositoryId)} and poster_id = ${posterId}`,
      holds: isPosted,
    },
  ]
}

/** The index of changes has the state, too. */
function changes(selection: IssueSelection, repositoryId: number): LeadTo[] {
  const { since, before, isOpen } = selection.filter
  if (since === undefined && before === undefined) return []
  const within = (time: RawBuilder<unknown>) =>
    sql<SqlBool>`${time} between ${since ?? 0} and ${before ?? Number.MAX_SAFE_INTEGER}`
  const time = sql.ref('issues.update_time')
  const inState = isOpen === undefined ? sql`` : sql`and (state = 'OPEN') = ${sql.lit(isOpen)}`
  return [
    {
      property: since === undefined ? 'before' : 'since',
      ids: sql`${issuesOf(selection, repositoryId)} ${inState} and ${within(sql.ref('update_time'))}`,
      // With an operator, SQLite reads the index of the order.
      holds: either({ sqlite: within(sql`+${time}`), postgres: within(time) }),
    },
  ]
}

function issuesOf({ kinds }: IssueSelection, repositoryId: number): RawBuilder<unknown> {
  return sql`select id from issues where repository_id = ${repositoryId}
    and is_pull in (${sql.join(kindsOf(kinds))})`
}
