import {
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type RawBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { either } from '../../platform/database/dialects/dialects.ts'
import type { Db, Schema } from '../../platform/database/schema.ts'
import type { ConversationKinds } from '../conversations/schema.ts'
import { areCommon, hasWords, type SearchedWords } from '../conversations/search-texts.rows.ts'
import type { PullRequest } from '../pulls/schema.ts'
import {
  type RepositoryReader,
  readableBy,
} from '../repositories/access/repository-readers.rows.ts'
import {
  type QueryCondition,
  queryCondition,
  reactionCount,
} from './query/query-conditions.rows.ts'
import type { QuerySort } from './query/schema.ts'

/**
 * The number of conversations, newest first, that a search sorts in another order than the latest
 * first, and the number that it sorts by relevance.
 */
const MAX_SORTED = 10_000
const MAX_RANKED = 1_000
/**
 * The number of conversations whose rights a search tests. It bounds the time that a search blocks the
 * process.
 */
const MAX_EXAMINED = 50_000
/** The number up to which a list is counted. */
export const MAX_COUNTED = 10_000

/** Selects conversations. Undefined fields do not restrict. */
export interface IssueFilter {
  readonly isOpen: boolean | undefined
  /** Names of labels, at least one of which a pull request has. */
  readonly labels?: readonly string[] | undefined
  readonly milestones?: MilestoneNames | undefined
  readonly posterId?: number | undefined
  readonly assigneeId?: number | undefined
  /** A user whom a text has mentioned. */
  readonly mentionedId?: number | undefined
  /** A user or team member who was asked for a review. */
  readonly requestedId?: number | undefined
  /** A user who has submitted a review. */
  readonly reviewerId?: number | undefined
  /** Words in one text of the conversation. No terms: nothing is found. */
  readonly terms?: SearchedWords['terms'] | undefined
  /** The number that the words are, if they are one: what has this number is found, too. */
  readonly number?: number | undefined
  /** The period of the last change with its ends, in Unix seconds. */
  readonly since?: number | undefined
  readonly before?: number | undefined
  /** A condition in the query language. */
  readonly query?: QueryCondition | undefined
}

/** Milestones, one of which a pull request has, by title or number. */
interface MilestoneNames {
  readonly titles: readonly string[]
  readonly ids: readonly number[]
}

/** The repositories of a list: one of them, or those that a reader may read. */
export type IssuePlace = { readonly repositoryId: number } | ReadablePlace

interface ReadablePlace {
  readonly reader: RepositoryReader
  readonly ownerId: number | undefined
  /** The team to which the repositories are assigned. */
  readonly teamId?: number | undefined
}

/** The conversations of a list. */
export interface IssueSelection {
  readonly place: IssuePlace
  readonly kinds: ConversationKinds
  readonly filter: IssueFilter
}

/** A selection of the rows of a page. */
interface Reading extends IssueSelection {
  /** Whether so many conversations have the words that a query reads by time. */
  readonly isCommon?: boolean
  /** Whether a filter leads to few conversations, which are read and sorted then. */
  readonly isNarrow?: boolean
}

/** A place in a list: the values of the order of one conversation. */
export type IssuePosition = readonly number[]

/** A part of a list. */
interface IssuePage {
  /** Number of conversations before the page, or between the position and the page. */
  readonly offset: number
  /** The last conversation before the page. Undefined for the beginning of the list. */
  readonly after?: IssuePosition | undefined
  readonly limit: number
  readonly sort: IssueSort
  /** The repository whose conversations come first. */
  readonly firstRepositoryId?: number | undefined
}

const CREATED = sql.ref<number>('issues.create_time')
const ID = sql.ref<number>('issues.id')
/** The earlier, or the later, of the due dates of a conversation and of its milestone. */
const dueTime = (first: 'min' | 'max') => {
  const milestone = sql`(select milestones.due_time from milestones where milestones.id = issues.milestone_id)`
  const sides = sql`coalesce(issues.due_time, ${milestone}), coalesce(${milestone}, issues.due_time)`
  return either({
    sqlite: sql<number>`${sql.raw(first)}(${sides})`,
    postgres: sql<number>`${sql.raw(first === 'min' ? 'least' : 'greatest')}(${sides})`,
  })
}

/** Where conversations without due dates stand: behind the others. */
const NO_DUE_TIME = { nearduedate: Number.MAX_SAFE_INTEGER, farduedate: -1 } as const

/** What a list is ordered by. No value is null. */
type Order = readonly (readonly [Expression<number>, 'asc' | 'desc'])[]

/** The orders of lists. Those by creation, change and comments have an index for each kind. */
const SORTS = {
  latest: [
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  oldest: [
    [CREATED, 'asc'],
    [ID, 'asc'],
  ],
  recentupdate: [
    [sql.ref<number>('issues.update_time'), 'desc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  leastupdate: [
    [sql.ref<number>('issues.update_time'), 'asc'],
    [CREATED, 'asc'],
    [ID, 'asc'],
  ],
  mostcomment: [
    [sql.ref<number>('issues.comment_count'), 'desc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  leastcomment: [
    [sql.ref<number>('issues.comment_count'), 'asc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  nearduedate: [
    [sql<number>`coalesce(${dueTime('min')}, ${NO_DUE_TIME.nearduedate})`, 'asc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  farduedate: [
    [sql<number>`coalesce(${dueTime('max')}, ${NO_DUE_TIME.farduedate})`, 'desc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  recentclose: [
    [sql<number>`coalesce(issues.close_time, -1)`, 'desc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  leastclose: [
    [sql<number>`coalesce(issues.close_time, ${Number.MAX_SAFE_INTEGER})`, 'asc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  mostreaction: [
    [reactionCount(), 'desc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  leastreaction: [
    [reactionCount(), 'asc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
} as const satisfies Record<string, Order>

/** An order of a list. Only a search for words has relevance. */
export type IssueSort = keyof typeof SORTS | 'relevance'

/** Returns the order that a client names. Any other name means the latest first. */
export function issueSortOf(name: string): IssueSort {
  return Object.hasOwn(SORTS, name) || name === 'relevance' ? (name as IssueSort) : 'latest'
}

/** The names of the orders of the query language. */
const QUERY_SORTS: Readonly<Record<QuerySort['key'], readonly [desc: string, asc: string]>> = {
  created: ['latest', 'oldest'],
  updated: ['recentupdate', 'leastupdate'],
  closed: ['recentclose', 'leastclose'],
  comments: ['mostcomment', 'leastcomment'],
  reactions: ['mostreaction', 'leastreaction'],
  due: ['farduedate', 'nearduedate'],
  relevance: ['relevance', 'relevance'],
}

/** Returns the order that a query asks for. */
export function sortOfQuery({ key, direction }: QuerySort): IssueSort {
  const [desc, asc] = QUERY_SORTS[key]
  return issueSortOf(direction === 'asc' ? asc : desc)
}

/**
 * Lists conversations of both kinds.
 *
 * A list of one repository merges the first conversations of each kind, read by an index. A search
 * sorts only the newest conversations, unless the latest come first.
 *
 * @returns the page, and the position of its last conversation if others follow.
 */
export async function listIssues(
  db: Db,
  asked: IssueSelection,
  page: IssuePage,
): Promise<{ readonly found: PullRequest[]; readonly next: IssuePosition | undefined }> {
  const { offset, after, limit, sort, firstRepositoryId } = page
  const selection = await readingOf(db, asked)
  const order = orderOf(selection, page)
  // One more tells whether others follow.
  const longer = { ...page, limit: limit + 1 }
  const isBounded = boundOf(selection, sort) !== undefined || firstRepositoryId !== undefined
  const isOfParts = !isBounded && 'repositoryId' in selection.place
  let query = db.selectFrom('issues').selectAll('issues').select(valuesOf(order))
  if (isOfParts) query = query.where('issues.id', 'in', pageOfParts(db, selection, longer))
  else if (isBounded) query = query.where('issues.id', 'in', newestIds(db, selection, page))
  else query = query.where((eb) => selected(eb, selection, kindsOf(selection.kinds)))
  if (after && !isOfParts) query = query.where((eb) => eb.or(rangesAfter(order, after)))
  const found = await ordered(query, order)
    .limit(limit + 1)
    .offset(isOfParts ? 0 : offset)
    .execute()
  const last = found.length > limit ? found[limit - 1] : undefined
  return {
    found: found.slice(0, limit),
    next: last && order.map((_, i) => Number(last[`order_${i}`])),
  }
}

/** Returns what a list is ordered by. Only a search for words has relevance. */
function orderOf(selection: Reading, { sort, firstRepositoryId }: IssuePage): Order {
  const words = sort === 'relevance' ? wordsOf(selection) : undefined
  const isFirst = sql<number>`case when issues.repository_id = ${firstRepositoryId} then 1 else 0 end`
  return [
    ...(firstRepositoryId === undefined ? [] : [[isFirst, 'desc'] as const]),
    ...(words ? [[relevance(words), 'desc'] as const] : []),
    ...SORTS[sort === 'relevance' ? 'latest' : sort],
  ]
}

/** Selects the values of an order. */
function valuesOf(order: Order) {
  return order.map(([value], i) => sql<number>`${value}`.as(`order_${i}`))
}

/**
 * Returns the conditions of what follows a position. A conversation meets one of them at most. An index
 * that has the order leads to the first conversation of each.
 */
function rangesAfter(order: Order, after: IssuePosition): RawBuilder<SqlBool>[] {
  const [[value, direction] = [], ...others] = order
  const [first, ...rest] = after
  if (value === undefined) throw new Error('an order has a value')
  const follows = sql.raw(direction === 'asc' ? '>' : '<')
  if (order.every(([, other]) => other === direction)) {
    const values = sql.join(order.map(([one]) => one))
    return [sql<SqlBool>`(${values}) ${follows} (${sql.join(after)})`]
  }
  return [
    sql<SqlBool>`${value} ${follows} ${first}`,
    ...rangesAfter(others, rest).map((range) => sql<SqlBool>`(${value} = ${first} and ${range})`),
  ]
}

async function readingOf(db: Db, selection: IssueSelection): Promise<Reading> {
  const words = wordsOf(selection)
  const isCommon = words !== undefined && (await areCommon(db, words))
  const hasRareWords = words !== undefined && !isCommon && selection.filter.number === undefined
  const isNarrow = hasRareWords || (await leadsToFew(db, selection))
  return { ...selection, isCommon, isNarrow }
}

/** Reading and sorting so many conversations costs less than a walk over a list in its order. */
const MAX_NARROW = 1_000

/** Returns whether few conversations of the instance have the labels or the people of a filter. */
async function leadsToFew(db: Db, selection: IssueSelection): Promise<boolean> {
  // A search begins with what leads to few conversations by itself.
  if (!('repositoryId' in selection.place)) return false
  for (const lead of leadsOf(selection)) {
    const { rows } = await sql`${lead} limit ${MAX_NARROW + 1}`.execute(db)
    if (rows.length <= MAX_NARROW) return true
  }
  return false
}

/** Returns the number of conversations that an order sorts; undefined for all. */
export function boundOf({ place, filter }: IssueSelection, sort: IssueSort): number | undefined {
  if (sort === 'latest' || !(filter.terms || 'reader' in place)) return undefined
  return sort === 'relevance' && filter.terms ? MAX_RANKED : MAX_SORTED
}

/** Selects the newest conversations, and the newest of the repository that comes first. */
function newestIds(db: Db, selection: Reading, { sort, firstRepositoryId }: IssuePage) {
  const limit = boundOf(selection, sort) ?? MAX_SORTED
  const newest = (repositoryId?: number) =>
    db
      .selectFrom(
        ordered(
          db
            .selectFrom('issues')
            .select('issues.id')
            .where((eb) => selected(eb, selection, kindsOf(selection.kinds)))
            .$if(repositoryId !== undefined, (query) =>
              query.where('issues.repository_id', '=', repositoryId ?? 0),
            ),
          SORTS.latest,
        )
          .limit(limit)
          .as('newest_ones'),
      )
      .select('newest_ones.id')
  return firstRepositoryId === undefined ? newest() : newest().unionAll(newest(firstRepositoryId))
}

/**
 * Returns where the words are: 2 for the title, 1 for title and description, 0 for comments. Counts of
 * words in other texts have no influence, because they would tell about texts that the reader may
 * not read.
 */
function relevance(words: SearchedWords): Expression<number> {
  const eb = expressionBuilder<Schema, 'issues'>()
  const inTitle = hasWords(eb, { ...words, parts: ['title'] })
  const inConversation = hasWords(eb, { ...words, parts: ['title', 'body'] })
  return sql<number>`case when ${inTitle} then 2 when ${inConversation} then 1 else 0 end`
}

/**
 * Selects the ids of a page of one repository. An index has the conversations of a part in their order,
 * so that the first ones of each part are read and merged. Of those before the page, only the ids and
 * the values of the order are read, and none of those up to a position.
 */
function pageOfParts(db: Db, selection: Reading, page: IssuePage) {
  const { offset, limit } = page
  const order = orderOf(selection, page)
  const firstOf = ({ kind, mayBeDue, range }: Part & { readonly range?: RawBuilder<SqlBool> }) =>
    db
      .selectFrom(
        ordered(
          db
            .selectFrom('issues')
            .select('issues.id')
            .select(valuesOf(order))
            .where((eb) => selected(eb, selection, [kind]))
            .$if(mayBeDue !== undefined, (query) =>
              query.where(mayBeDue ? MAY_BE_DUE : sql<SqlBool>`not (${MAY_BE_DUE})`),
            )
            .$if(range !== undefined, (query) => query.where(range ?? sql<SqlBool>`true`)),
          mayBeDue === false ? SORTS.latest : order,
        )
          .limit(offset + limit)
          .as('first_ones'),
      )
      .selectAll()
  const [first, ...others] = partsOf(selection.kinds, page.sort)
    .flatMap((part) => rangesOfPart(part, order, page).map((range) => ({ ...part, ...range })))
    .map(firstOf)
  if (!first) throw new Error('a list has a kind')
  const all = others.reduce((union, part) => union.unionAll(part), first)
  let merged = db.selectFrom(all.as('merged_ones')).select('merged_ones.id')
  for (const [i, [, direction]] of order.entries())
    merged = merged.orderBy(sql.ref(`merged_ones.order_${i}`), direction)
  return merged.limit(limit).offset(offset)
}

/** Returns the ranges of a part that follow the position of a page. */
function rangesOfPart(
  { mayBeDue }: Part,
  order: Order,
  { sort, after }: IssuePage,
): { readonly range?: RawBuilder<SqlBool> }[] {
  if (!after) return [{}]
  if (mayBeDue !== false) return rangesAfter(order, after).map((range) => ({ range }))
  const [due, ...rest] = after
  const isWithoutDueDate = due === NO_DUE_TIME[sort === 'nearduedate' ? sort : 'farduedate']
  return isWithoutDueDate ? rangesAfter(SORTS.latest, rest).map((range) => ({ range })) : [{}]
}

/** Conversations of a repository that an index has in the order of a list. */
interface Part {
  readonly kind: 0 | 1
  /** Undefined for both. */
  readonly mayBeDue?: boolean
}

/** The condition of the index of what can have a due date. */
const MAY_BE_DUE = sql<SqlBool>`(due_time is not null or milestone_id is not null)`

/** Returns the parts of a list. In an order by due date, all others follow in the same order as ever. */
function partsOf(kinds: ConversationKinds, sort: IssueSort): Part[] {
  const isByDueDate = sort === 'nearduedate' || sort === 'farduedate'
  return kindsOf(kinds).flatMap((kind): Part[] =>
    isByDueDate ? [true, false].map((mayBeDue) => ({ kind, mayBeDue })) : [{ kind }],
  )
}

function ordered<O>(query: SelectQueryBuilder<Schema, 'issues', O>, order: Order) {
  let sorted = query
  for (const [column, direction] of order) sorted = sorted.orderBy(column, direction)
  return sorted
}

/** Returns the values of the column of the kind. */
function kindsOf({ issues, pulls }: ConversationKinds): (0 | 1)[] {
  return [...(issues ? [0 as const] : []), ...(pulls ? [1 as const] : [])]
}

/** Selects the ids of the latest conversations of a list. */
export function selectIds(db: Db, selection: IssueSelection, limit: number) {
  return db
    .selectFrom('issues')
    .select('issues.id')
    .where((eb) => selected(eb, selection, kindsOf(selection.kinds)))
    .orderBy('issues.id', 'desc')
    .limit(limit)
}

/** Returns the numbers of the oldest conversations of a list of one repository. */
export async function listNumbers(
  db: Db,
  selection: IssueSelection,
  limit: number,
): Promise<number[]> {
  const found = await db
    .selectFrom('issues')
    .select('issues.number')
    .where((eb) => selected(eb, selection, kindsOf(selection.kinds)))
    .orderBy('issues.number')
    .limit(limit)
    .execute()
  return found.map(({ number }) => number)
}

/** Returns the number of conversations in that list, or one more than `MAX_COUNTED` if there are more. */
export async function countIssues(db: Db, asked: IssueSelection): Promise<number> {
  const selection = await readingOf(db, asked)
  const { count } = await db
    .selectFrom(
      db
        .selectFrom('issues')
        .select('issues.id')
        .where((eb) => selected(eb, selection, kindsOf(selection.kinds)))
        .limit(MAX_COUNTED + 1)
        .as('counted_ones'),
    )
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Returns whether a user has opened a conversation of a repository. */
export async function hasPosted(db: Db, repositoryId: number, userId: number): Promise<boolean> {
  const found = await db
    .selectFrom('issues')
    .select('id')
    .where('repository_id', '=', repositoryId)
    .where('is_pull', 'in', [0, 1])
    .where('poster_id', '=', userId)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

type Issues = ExpressionBuilder<Schema, 'issues'>

function selected(eb: Issues, selection: Reading, kinds: readonly (0 | 1)[]) {
  const { place, filter } = selection
  const [kind] = kinds
  return eb.and([
    'repositoryId' in place
      ? inRepository(eb, place.repositoryId, selection.isNarrow)
      : isReadable(eb, place, kinds),
    kinds.length === 1 && kind !== undefined
      ? eb('issues.is_pull', '=', kind)
      : eb('issues.is_pull', 'in', kinds),
    ...conditions(eb, selection),
    ...(filter.terms ? [isMeant(eb, selection)] : []),
    ...(isWindowed(selection) ? [isRecent()] : []),
  ])
}

/** Without statistics, SQLite would walk over the list for a filter that leads to few conversations. */
function inRepository(eb: Issues, id: number, isNarrow = false): Expression<SqlBool> {
  const isThere = eb('issues.repository_id', '=', id)
  // With an operator, the indexes of lists do not apply.
  return isNarrow
    ? either({ sqlite: sql<SqlBool>`+issues.repository_id = ${id}`, postgres: sql`${isThere}` })
    : isThere
}

/**
 * Returns whether a query tests the rights of each conversation of the instance, because nothing else
 * leads to few of them.
 */
function isWindowed({ place, filter, isCommon }: Reading): boolean {
  const { posterId, assigneeId, mentionedId, requestedId, reviewerId } = filter
  const people = [posterId, assigneeId, mentionedId, requestedId, reviewerId]
  const hasRareWords = filter.terms !== undefined && isCommon !== true
  return 'reader' in place && !hasRareWords && people.every((id) => id === undefined)
}

/** The condition that a conversation is one of the newest of the instance. */
function isRecent(): Expression<SqlBool> {
  return sql<SqlBool>`issues.id > coalesce((select newest.id from issues as newest
    order by newest.id desc limit 1 offset ${sql.lit(MAX_EXAMINED)}), 0)`
}

function isReadable(
  eb: Issues,
  { reader, ownerId, teamId }: ReadablePlace,
  kinds: readonly (0 | 1)[],
): Expression<SqlBool> {
  const inRepository = (kind: 0 | 1) =>
    eb.and([
      eb('issues.is_pull', '=', kind),
      eb.exists(
        eb
          .selectFrom('repositories')
          .select('repositories.id')
          .whereRef('repositories.id', '=', 'issues.repository_id')
          .where(kind === 1 ? 'repositories.has_pull_requests' : 'repositories.has_issues', '=', 1)
          .$if(ownerId !== undefined, (query) =>
            query.where('repositories.owner_id', '=', ownerId ?? 0),
          )
          .$if(teamId !== undefined, (query) =>
            query.where('repositories.id', 'in', ({ selectFrom }) =>
              selectFrom('team_repositories')
                .select('team_repositories.repository_id')
                .where('team_repositories.team_id', '=', teamId ?? 0),
            ),
          )
          // Pull requests consist of code, so a reader needs both features.
          .$if(kind === 1, (query) => query.where(readableBy(reader, 'code')))
          .where(readableBy(reader, kind === 1 ? 'pulls' : 'issues')),
      ),
    ])
  return eb.or(kinds.map(inRepository))
}

function conditions(eb: Issues, selection: IssueSelection): Expression<SqlBool>[] {
  const { filter } = selection
  const { isOpen, posterId, since, before } = filter
  const found: Expression<SqlBool>[] = leadsOf(selection).map(
    (lead) => sql<SqlBool>`issues.id in (${lead})`,
  )
  if (isOpen !== undefined)
    // The expression of the indexes.
    found.push(
      isOpen ? sql<SqlBool>`(state = 'OPEN') = true` : sql<SqlBool>`(state = 'OPEN') = false`,
    )
  if (posterId !== undefined) found.push(eb('issues.poster_id', '=', posterId))
  if (since !== undefined) found.push(eb('issues.update_time', '>=', since))
  if (before !== undefined) found.push(eb('issues.update_time', '<=', before))
  if (filter.query) found.push(queryCondition(eb, filter.query))
  if (filter.milestones) found.push(hasMilestone(eb, filter.milestones))
  return found
}

/** Returns queries for the conversations that have the labels and the people of a filter, one for each. */
function leadsOf({ place, filter }: IssueSelection): RawBuilder<unknown>[] {
  const { labels, assigneeId, mentionedId, requestedId, reviewerId } = filter
  const leads: RawBuilder<unknown>[] = []
  if (assigneeId !== undefined)
    leads.push(sql`select issue_id from issue_assignees where user_id = ${assigneeId}`)
  if (mentionedId !== undefined)
    leads.push(sql`select issue_id from issue_mentions where user_id = ${mentionedId}`)
  if (requestedId !== undefined)
    leads.push(sql`select pull_request_id from reviews
      where state = 'REQUEST_REVIEW' and reviewer_id = ${requestedId}`)
  if (reviewerId !== undefined)
    leads.push(sql`select pull_request_id from reviews
      where state in ('APPROVED', 'REQUEST_CHANGES', 'COMMENT') and reviewer_id = ${reviewerId}`)
  if (labels) leads.push(labelled(place, labels))
  return leads
}

/** Labels of a former owner stay on conversations, and nobody sees them. */
function labelled(place: IssuePlace, names: readonly string[]): RawBuilder<unknown> {
  const found = sql`select issue_labels.issue_id from issue_labels
    inner join labels on labels.id = issue_labels.label_id`
  const isNamed = sql`labels.name in (${sql.join(names)})`
  if ('repositoryId' in place)
    return sql`${found} where ${isNamed} and (labels.repository_id = ${place.repositoryId}
      or labels.organization_id = (select owner_id from repositories where id = ${place.repositoryId}))`
  return sql`${found} inner join issues as labelled on labelled.id = issue_labels.issue_id
    inner join repositories on repositories.id = labelled.repository_id
    where ${isNamed}
      and (labels.repository_id = repositories.id or labels.organization_id = repositories.owner_id)`
}

function hasMilestone(eb: Issues, { titles, ids }: MilestoneNames): Expression<SqlBool> {
  const ofPlace = eb
    .selectFrom('milestones')
    .select('milestones.id')
    .whereRef('milestones.repository_id', '=', 'issues.repository_id')
    .where((milestone) =>
      milestone.or([milestone('title', 'in', titles), milestone('milestones.id', 'in', ids)]),
    )
  return eb('issues.milestone_id', 'in', ofPlace)
}

/** The condition that a conversation has the words or the number of a search. */
function isMeant(eb: Issues, selection: Reading): Expression<SqlBool> {
  const { number } = selection.filter
  const words = wordsOf(selection)
  return eb.or([
    ...(number === undefined ? [] : [eb('issues.number', '=', number)]),
    ...(words ? [hasWords(eb, words, selection.isCommon)] : []),
  ])
}

function wordsOf({ place, filter: { terms } }: IssueSelection): SearchedWords | undefined {
  if (!terms || terms.length === 0) return undefined
  const repositoryId = 'repositoryId' in place ? place.repositoryId : undefined
  return { terms, parts: ['title', 'body', 'comments'], repositoryId }
}
