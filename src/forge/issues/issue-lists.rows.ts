import {
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type RawBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { either } from '../../platform/database/dialects/dialects.ts'
import { withWords } from '../../platform/database/dialects/text-index.ts'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db, Schema } from '../../platform/database/schema.ts'
import { hasWords, listRare, type SearchedWords } from '../conversations/search-texts.rows.ts'
import type { PullRequest } from '../pulls/schema.ts'
import { isNearTo, readableBy } from '../repositories/access/repository-readers.rows.ts'
import { fewRepositories, type Lead, type Listed, leadsOf, statesOf } from './issue-leads.rows.ts'
import {
  type IssuePosition,
  type IssueSort,
  kindsOf,
  type Order,
  ordered,
  orderNamed,
  type Part,
  partsOf,
  rangesAfter,
  valuesOf,
} from './issue-orders.rows.ts'
import type { IssueSelection, MilestoneNames, ReadablePlace } from './issue-selections.rows.ts'
import { queryCondition } from './query/query-conditions.rows.ts'

/**
 * The number of conversations, newest first, that a search sorts in another order than the latest
 * first, and the number that it sorts by relevance.
 */
const MAX_SORTED = 10_000
const MAX_RANKED = 1_000
/**
 * The number of public conversations of a kind and state whose other properties a search tests, where no
 * index leads to few that have the properties. It bounds the time that a search blocks the process.
 */
const MAX_EXAMINED = 50_000

function maxExaminedIn({ maxExamined = MAX_EXAMINED }: ReadablePlace): number {
  return maxExamined
}

/** The number up to which a list is counted. */
export const MAX_COUNTED = 10_000
/** The maximum number of labels whose lists are merged. */
const MAX_MERGED = 8

/** How a list is read. */
export interface Reading extends IssueSelection {
  readonly leads: readonly Lead[]
  /** Whether so many conversations have the words that a query reads by time. */
  readonly isCommon: boolean
  /** The conversations that have the words, if these are few. */
  readonly rareIds: readonly number[] | undefined
  /** Whether the conversations may have any words. */
  readonly hasAnyWords?: boolean
  /** Whether the conversations may be in any place. */
  readonly isAnywhere?: boolean
  /** Whether a filter leads to few conversations, which are read and sorted then. */
  readonly isNarrow: boolean
  /** The repositories of a search that names few; undefined for other lists. */
  readonly repositoryIds: readonly number[] | undefined
}

/** A part of a list. */
export interface IssuePage {
  /** Number of conversations before the page, or between the position and the page. */
  readonly offset: number
  /** The last conversation before the page. Undefined for the beginning of the list. */
  readonly after?: IssuePosition | undefined
  readonly limit: number
  readonly sort: IssueSort
  /** The repository whose conversations come first. */
  readonly firstRepositoryId?: number | undefined
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
): Promise<ListedPage> {
  const { offset, after, limit, sort, firstRepositoryId } = page
  const selection = await readingOf(db, asked)
  const order = orderOf(selection, page)
  // One more tells whether others follow.
  const longer = { ...page, limit: limit + 1 }
  const isBounded = boundOf(selection, sort) !== undefined || firstRepositoryId !== undefined
  const isOfParts = !isBounded && 'repositoryId' in selection.place
  const among = (eb: Issues) =>
    isBounded
      ? eb('issues.id', 'in', newestIds(db, selection, page))
      : isMerged(selection)
        ? eb('issues.id', 'in', newestOfRanges(db, selection, offset + limit + 1, after))
        : selected(eb, selection, kindsOf(selection.kinds))
  // Texts are read only for the conversations of the page.
  const listed = isOfParts ? pageOfParts(db, selection, longer) : firstOf(db, among, order, longer)
  const again: Order = order.map(([, direction], i) => [sql.ref(`listed.order_${i}`), direction])
  const rows = db
    .selectFrom('issues')
    .innerJoin(sql<{ id: number }>`(${listed})`.as('listed'), 'listed.id', 'issues.id')
    .selectAll('issues')
    .select(valuesOf(again))
  const found = await ordered(rows, again).execute()
  return pageOf(found, limit, order)
}

/** Selects the ids of a page of conversations, and the values of their order. */
function firstOf(
  db: Db,
  among: (eb: Issues) => Expression<SqlBool>,
  order: Order,
  { offset, after, limit }: IssuePage,
) {
  const range = after ? rangesAfter(order, after) : []
  const query = db
    .selectFrom('issues')
    .select('issues.id')
    .select(valuesOf(order))
    .where(among)
    .$if(after !== undefined, (all) => all.where((eb) => eb.or(range)))
  return ordered(query, order).limit(limit).offset(offset)
}

/** The conversations of a page. */
export interface ListedPage {
  readonly found: PullRequest[]
  /** The position of the last one, if others follow. */
  readonly next: IssuePosition | undefined
}

/** Returns a page. @param found may have one more, with the values of the order. */
export function pageOf(
  found: readonly (PullRequest & Record<`order_${number}`, number>)[],
  limit: number,
  order: Order,
): ListedPage {
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
    ...orderNamed(sort),
  ]
}

/** Finds how a list is read. */
export async function readingOf(db: Db, asked: IssueSelection | Reading): Promise<Reading> {
  if ('leads' in asked) return asked
  const terms = asked.filter.terms && (await withWords(db, asked.filter.terms))
  const selection = { ...asked, filter: { ...asked.filter, terms } }
  const words = wordsOf(selection)
  const rareIds = words && (await listRare(db, words))
  const isCommon = words !== undefined && rareIds === undefined
  const hasRareWords = rareIds !== undefined && selection.filter.number === undefined
  const leads = await leadsOf(db, selection)
  const isNarrow = hasRareWords || leads.some((lead) => lead.isNarrow)
  const repositoryIds = isNarrow ? undefined : await fewRepositories(db, selection)
  return { ...selection, leads, isCommon, rareIds, isNarrow, repositoryIds }
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
    ordered(
      db
        .selectFrom('issues')
        .select('issues.id')
        .where((eb) => selected(eb, selection, kindsOf(selection.kinds)))
        .$if(repositoryId !== undefined, (query) =>
          query.where('issues.repository_id', '=', repositoryId ?? 0),
        ),
      orderNamed('latest'),
    ).limit(limit)
  const all = isMerged(selection) ? newestOfRanges(db, selection, limit) : newest()
  const lists = firstRepositoryId === undefined ? [all] : [all, newest(firstRepositoryId)]
  const ids = lists.map((list) => sql`select newest_ids.id from ${list} as newest_ids`)
  return sql<number>`(${sql.join(ids, sql` union all `)})`
}

/**
 * Selects the ids of the newest conversations of a search. Public ones are read by an index for each kind
 * and state, and private ones by the repositories of the reader, so that those that the reader may not
 * read cost nothing.
 */
export function newestOfRanges(db: Db, selection: Reading, limit: number, after?: IssuePosition) {
  const order = orderNamed('latest')
  const newest = (range: SearchRange) =>
    db
      .selectFrom(
        ordered(
          db
            .selectFrom('issues')
            .select(['issues.id', 'issues.create_time'])
            .where((eb) => selected(eb, range.selection, range.kinds))
            .where(range.condition)
            .$if(after !== undefined, (query) =>
              query.where((eb) => eb.or(rangesAfter(order, after ?? []))),
            ),
          order,
        )
          .limit(limit)
          .as('newest_ones'),
      )
      .selectAll()
  const [first, ...others] = rangesOf(selection).map(newest)
  if (!first) throw new Error('a search has a range')
  const merged = others.reduce((all, one) => all.unionAll(one), first)
  return db
    .selectFrom(merged.as('merged_ones'))
    .select('merged_ones.id')
    .orderBy('merged_ones.create_time', 'desc')
    .orderBy('merged_ones.id', 'desc')
    .limit(limit)
}

/** Conversations that a search reads in the order of their creation. */
interface SearchRange {
  /** With the state of the range. */
  readonly selection: Reading
  readonly kinds: readonly (0 | 1)[]
  readonly condition: Expression<SqlBool>
}

/** Returns the ranges of a search, which have all that the reader may read. */
function rangesOf(selection: Reading): SearchRange[] {
  const { place } = selection
  if (!('reader' in place)) throw new Error('a list of one repository has no ranges')
  const { userId, administrator, publicOnly, restricted } = place.reader
  const kinds = kindsOf(selection.kinds)
  if (selection.repositoryIds) return rangesOfRepositories(selection, selection.repositoryIds)
  const isBounded = isExamined(selection)
  const open = kinds.flatMap((kind) =>
    statesOf(selection).map((isOpen) => ({
      kinds: [kind],
      selection: { ...selection, filter: { ...selection.filter, isOpen: isOpen === 1 } },
      condition: isBounded
        ? sql<SqlBool>`${IS_PUBLIC} and ${isRecent(place, kind, isOpen)}`
        : IS_PUBLIC,
    })),
  )
  if (publicOnly || (userId === undefined && administrator === 'none')) return open
  const own = (isPrivate: Expression<SqlBool>) => ({ selection, kinds, condition: isPrivate })
  const isPrivate = sql<SqlBool>`issues.is_public = 0`
  const isNew = sql<SqlBool>`issues.id > (select max(newest.id) from issues as newest) - ${sql.lit(maxExaminedIn(place))}`
  if (administrator !== 'none')
    return [...open, own(isBounded ? sql<SqlBool>`${isPrivate} and ${isNew}` : isPrivate)]
  const isNear = sql<SqlBool>`issues.repository_id in (${nearRepositories(userId ?? 0, restricted)})`
  // A restricted user reads public repositories by a grant, too.
  return restricted ? [own(isNear)] : [...open, own(sql<SqlBool>`${isPrivate} and ${isNear}`)]
}

/** Returns the conversations of each kind and state in each repository. */
function rangesOfRepositories(selection: Reading, ids: readonly number[]): SearchRange[] {
  const all = kindsOf(selection.kinds).flatMap((kind) =>
    statesOf(selection).map((isOpen) => ({
      kinds: [kind],
      selection: { ...selection, filter: { ...selection.filter, isOpen: isOpen === 1 } },
    })),
  )
  // No repository has no conversation.
  const known = ids.length > 0 ? ids : [0]
  return known.flatMap((id) =>
    all.map((range) => ({ ...range, condition: sql<SqlBool>`issues.repository_id = ${id}` })),
  )
}

/**
 * Returns whether a search leaves old conversations out, because it tests the newest ones only and there
 * are more.
 */
export async function isCut(db: Db, asked: IssueSelection): Promise<boolean> {
  if (!('reader' in asked.place) || !isExamined(asked)) return false
  const selection = await readingOf(db, asked)
  if (!isMerged(selection) || selection.repositoryIds) return false
  const maxExamined = maxExaminedIn(asked.place)
  const ranges = kindsOf(selection.kinds).flatMap((kind) =>
    statesOf(selection).map(
      (isOpen) => sql`exists (select 1 from issues where is_public = 1 and is_pull = ${kind}
        and ${isInState(isOpen)} order by create_time desc limit 1 offset ${sql.lit(maxExamined)})`,
    ),
  )
  const isPrivate =
    asked.place.reader.administrator === 'none'
      ? []
      : [
          sql`exists (select 1 from issues where is_public = 0
            and id <= (select max(newest.id) from issues as newest) - ${sql.lit(maxExamined)})`,
        ]
  const { rows } = await sql<{ cut: number }>`select case when
    ${sql.join([...ranges, ...isPrivate], sql` or `)} then 1 else 0 end as cut`.execute(db)
  return Number(rows[0]?.cut) === 1
}

/** The condition of the index of public conversations. */
const IS_PUBLIC = sql<SqlBool>`issues.is_public = 1`

/** Selects the ids of the repositories near to a user: the private ones, or all. */
function nearRepositories(userId: number, all: boolean) {
  return expressionBuilder<Schema, never>()
    .selectFrom('repositories')
    .select('repositories.id')
    .where((eb) => isNearTo(eb, userId))
    .$if(!all, (query) => query.where('repositories.private', '=', 1))
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
export function pageOfParts(db: Db, selection: Reading, page: IssuePage) {
  const { offset, limit, after } = page
  const order = orderOf(selection, page)
  const listed = listedBy(selection, page.sort)
  const firstOfPart = ({ kind, condition, order: own }: Part) =>
    ordered(
      db
        .selectFrom('issues')
        .select('issues.id')
        .select(valuesOf(order))
        .where((eb) => selected(eb, selection, [kind]))
        .$if(condition !== undefined, (query) => query.where(condition ?? sql<SqlBool>`true`)),
      own,
    )
  const queries = listed
    ? listedParts(db, selection, listed, page)
    : partsOf(selection.kinds, page.sort, order, after).map(firstOfPart)
  const [first, ...others] = queries.map((query) =>
    db.selectFrom(query.limit(offset + limit).as('first_ones')).selectAll(),
  )
  if (!first) throw new Error('a list has a kind')
  // A conversation may have several labels.
  const all = others.reduce(
    (union, part) => (listed ? union.union(part) : union.unionAll(part)),
    first,
  )
  const values = order.map((_, i) => sql.ref<number>(`merged_ones.order_${i}`))
  let merged = db
    .selectFrom(all.as('merged_ones'))
    .select('merged_ones.id')
    .select(values.map((value, i) => value.as(`order_${i}` as const)))
  for (const [i, [, direction]] of order.entries())
    merged = merged.orderBy(sql.ref(`merged_ones.order_${i}`), direction)
  return merged.limit(limit).offset(offset)
}

/** Returns the list by time of a label or an assignee, if a page is read from that list. */
function listedBy({ leads, isNarrow }: Reading, sort: IssueSort): Listed | undefined {
  const narrow = leads.filter((lead) => lead.isNarrow)
  const isByOthers = isNarrow && !narrow.some(({ listed }) => listed)
  if (isByOthers || (sort !== 'latest' && sort !== 'oldest')) return undefined
  return [...narrow, ...leads].find(({ listed }) => listed && listed.values.length <= MAX_MERGED)
    ?.listed
}

/** Selects the conversations of each kind, state and label in the order of their creation. */
function listedParts(db: Db, selection: Reading, listed: Listed, { sort, after }: IssuePage) {
  const direction = sort === 'oldest' ? 'asc' : 'desc'
  const order = [
    [sql.ref<number>('listed.create_time'), direction],
    [sql.ref<number>('listed.issue_id'), direction],
  ] as const
  const range = after ? rangesAfter(order, after) : []
  return listedRows(selection, listed).map(({ rows, kind }) => {
    const query = db
      .selectFrom(rows)
      .crossJoin('issues')
      .select('issues.id')
      .select(valuesOf(order))
      .where(sql<SqlBool>`issues.id = listed.issue_id`)
      .where(() => selected(expressionBuilder<Schema, 'issues'>(), selection, [kind], listed))
      .$if(range.length > 0, (all) => all.where(range[0] ?? sql<SqlBool>`true`))
    return query.orderBy(order[0][0], direction).orderBy(order[1][0], direction)
  })
}

/** Returns the rows of a table of lists for each kind, state and value. */
function listedRows(selection: Reading, { table, column, values, repositoryId }: Listed) {
  return kindsOf(selection.kinds).flatMap((kind) =>
    statesOf(selection).flatMap((isOpen) =>
      values.map((value) => ({
        kind,
        rows: sql<{
          issue_id: number
          create_time: number
        }>`(select issue_id, create_time from ${sql.table(table)}
          where ${sql.ref(column)} = ${value} and repository_id = ${repositoryId}
            and is_pull = ${kind} and is_open = ${isOpen})`.as('listed'),
      })),
    ),
  )
}

/** Selects the ids of the latest conversations of a list. */
export function selectIds(db: Db, selection: Reading, limit: number) {
  if (isMerged(selection)) return newestOfRanges(db, selection, limit)
  return db
    .selectFrom('issues')
    .select('issues.id')
    .where((eb) => selected(eb, selection, kindsOf(selection.kinds)))
    .orderBy('issues.id', 'desc')
    .limit(limit)
}

/** Returns the numbers of the oldest conversations of a list of one repository. */
export async function listNumbers(db: Db, asked: IssueSelection, limit: number): Promise<number[]> {
  const selection = await readingOf(db, asked)
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
  const alone = listedAlone(selection)
  const found = alone
    ? sql`${alone.ids} limit ${MAX_COUNTED + 1}`
    : isMerged(selection)
      ? foundInRanges(db, selection)
      : db
          .selectFrom('issues')
          .select('issues.id')
          .where((eb) => selected(eb, selection, kindsOf(selection.kinds)))
          .limit(MAX_COUNTED + 1)
  const { rows } = await sql<{ count: number }>`select count(*) as count
    from (${found}) as counted_ones`.execute(db)
  return Number(rows[0]?.count)
}

/** Selects the ids of the conversations of a search in any order, as far as they are counted. */
function foundInRanges(db: Db, selection: Reading) {
  const found = rangesOf(selection).map((range) => {
    const query = db
      .selectFrom('issues')
      .select('issues.id')
      .where((eb) => selected(eb, range.selection, range.kinds))
      .where(range.condition)
    return sql`select found_ids.id from ${query} as found_ids`
  })
  return sql`${sql.join(found, sql` union all `)} limit ${MAX_COUNTED + 1}`
}

/** Returns the lead of a list with a label or an assignee and no other filter but kinds and a state. */
function listedAlone({ filter, leads }: Reading): Lead | undefined {
  const { isOpen: _, ...others } = filter
  const asked = Object.values(others).filter((value) => value !== undefined)
  // A conversation may have several labels.
  const isOne = asked.length === 1
  return isOne ? leads.find(({ listed }) => listed?.values.length === 1) : undefined
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

/** @param listed what the query reads the conversations of by itself. */
function selected(
  eb: Issues,
  selection: Reading,
  kinds: readonly (0 | 1)[],
  listed?: Listed,
): Expression<SqlBool> {
  const { place, filter } = selection
  const [kind] = kinds
  const isOfPlace =
    'repositoryId' in place
      ? inRepository(eb, place.repositoryId, selection.isNarrow || listed !== undefined)
      : isReadable(eb, place, kinds)
  return eb.and([
    ...(selection.isAnywhere ? [] : [isOfPlace]),
    kinds.length === 1 && kind !== undefined
      ? eb('issues.is_pull', '=', kind)
      : eb('issues.is_pull', 'in', kinds),
    ...conditions(eb, selection, listed),
    ...(filter.terms && !selection.hasAnyWords ? [isMeant(eb, selection)] : []),
  ])
}

/** The condition that a conversation is one of a list, whatever its words are. */
export function selectedWithAnyWords(reading: Reading): Expression<SqlBool> {
  const list = { ...reading, hasAnyWords: true }
  return selected(expressionBuilder<Schema, 'issues'>(), list, kindsOf(reading.kinds))
}

/** The condition that a conversation is one of a list, whatever its words and its place are. */
export function selectedAnywhere(reading: Reading): Expression<SqlBool> {
  return selectedWithAnyWords({ ...reading, isAnywhere: true })
}

/** The condition that a list has conversations of a repository and a kind, columns of `issues`. */
export function readableKinds({ place, kinds }: Reading): Expression<SqlBool> {
  const eb = expressionBuilder<Schema, 'issues'>()
  return 'repositoryId' in place
    ? eb('issues.repository_id', '=', place.repositoryId)
    : isReadable(eb, place, kindsOf(kinds))
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
 * Returns whether a search merges the newest conversations of its ranges, because nothing else leads to
 * few of them.
 */
export function isMerged({ place, filter, isCommon, isNarrow }: Reading): boolean {
  const { posterId, assigneeId, mentionedId, requestedId, reviewerId } = filter
  const people = [posterId, assigneeId, mentionedId, requestedId, reviewerId]
  const hasRareWords = filter.terms !== undefined && isCommon !== true
  const isOfPeople = people.some((id) => id !== undefined)
  return 'reader' in place && !hasRareWords && !isNarrow && !isOfPeople
}

/** Returns whether a search tests more than kind, state and rights. */
function isExamined({ filter: { isOpen: _, ...others } }: IssueSelection): boolean {
  return Object.values(others).some((value) => value !== undefined)
}

/** The condition that a public conversation is one of the newest of its kind and state. */
function isRecent(place: ReadablePlace, kind: 0 | 1, isOpen: 0 | 1): Expression<SqlBool> {
  return sql<SqlBool>`issues.create_time >= coalesce((select newest.create_time from issues as newest
    where newest.is_public = 1 and newest.is_pull = ${kind} and ${isInState(isOpen)}
    order by newest.create_time desc limit 1 offset ${sql.lit(maxExaminedIn(place) - 1)}), 0)`
}

/** The expression of the indexes. */
function isInState(isOpen: 0 | 1): RawBuilder<SqlBool> {
  return isOpen === 1
    ? sql<SqlBool>`(state = 'OPEN') = true`
    : sql<SqlBool>`(state = 'OPEN') = false`
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

function conditions(
  eb: Issues,
  { filter, leads, place }: Reading,
  listed: Listed | undefined,
): Expression<SqlBool>[] {
  const found = leads
    .filter((lead) => lead.listed === undefined || lead.listed !== listed)
    .map(({ ids, holds, isNarrow }) =>
      isNarrow ? sql<SqlBool>`issues.id in (${ids})` : sql<SqlBool>`${holds}`,
    )
  const { isOpen, posterId, since, before } = filter
  if (isOpen !== undefined) found.push(isInState(isOpen ? 1 : 0))
  const conditions: Expression<SqlBool>[] = [...found]
  if ('reader' in place) {
    if (posterId !== undefined) conditions.push(eb('issues.poster_id', '=', posterId))
    if (since !== undefined) conditions.push(eb('issues.update_time', '>=', since))
    if (before !== undefined) conditions.push(eb('issues.update_time', '<=', before))
  }
  if (filter.query) conditions.push(queryCondition(eb, filter.query))
  if (filter.milestones) conditions.push(hasMilestone(eb, filter.milestones))
  return conditions
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
  const { rareIds, isCommon } = selection
  const words = wordsOf(selection)
  const hasRare = rareIds && eb('issues.id', 'in', numbersOf(JSON.stringify(rareIds)))
  return eb.or([
    ...(number === undefined ? [] : [eb('issues.number', '=', number)]),
    ...(hasRare ? [hasRare] : words ? [hasWords(eb, words, isCommon)] : []),
  ])
}

export function wordsOf({ place, filter: { terms } }: IssueSelection): SearchedWords | undefined {
  if (!terms || terms.length === 0) return undefined
  const repositoryId = 'repositoryId' in place ? place.repositoryId : undefined
  return { terms, parts: ['title', 'body', 'comments'], repositoryId }
}
