import {
  type Expression,
  type RawBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { either } from '../../platform/database/dialects/dialects.ts'
import type { Schema } from '../../platform/database/schema.ts'
import type { ConversationKinds } from '../conversations/schema.ts'
import type { QuerySort } from './query/schema.ts'

const CREATED = sql.ref<number>('issues.create_time')
const ID = sql.ref<number>('issues.id')
const LATEST = [
  [CREATED, 'desc'],
  [ID, 'desc'],
] as const
/** The expression of the indexes by closing. */
const CLOSED = sql<number>`coalesce(issues.close_time, 0)`
const REACTIONS = sql.ref<number>('issues.reaction_count')

/** The earlier, or the later, of the due dates of a conversation and of its milestone. */
const dueTime = (first: 'min' | 'max') => {
  const milestone = sql`(select milestones.due_time from milestones where milestones.id = issues.milestone_id)`
  const sides = sql`coalesce(issues.due_time, ${milestone}), coalesce(${milestone}, issues.due_time)`
  return either({
    sqlite: sql<number>`${sql.raw(first)}(${sides})`,
    postgres: sql<number>`${sql.raw(first === 'min' ? 'least' : 'greatest')}(${sides})`,
  })
}

/** Where conversations without a due date or a time of closing stand: behind all others. */
const LAST = Number.MAX_SAFE_INTEGER

/** What a list is ordered by. No value is null. */
export type Order = readonly (readonly [Expression<number>, 'asc' | 'desc'])[]

/** The orders of lists. */
const SORTS = {
  latest: LATEST,
  oldest: [
    [CREATED, 'asc'],
    [ID, 'asc'],
  ],
  recentupdate: [[sql.ref<number>('issues.update_time'), 'desc'], ...LATEST],
  leastupdate: [
    [sql.ref<number>('issues.update_time'), 'asc'],
    [CREATED, 'asc'],
    [ID, 'asc'],
  ],
  mostcomment: [[sql.ref<number>('issues.comment_count'), 'desc'], ...LATEST],
  leastcomment: [[sql.ref<number>('issues.comment_count'), 'asc'], ...LATEST],
  nearduedate: [[sql<number>`coalesce(${dueTime('min')}, ${LAST})`, 'asc'], ...LATEST],
  farduedate: [[sql<number>`coalesce(${dueTime('max')}, -1)`, 'desc'], ...LATEST],
  recentclose: [[CLOSED, 'desc'], ...LATEST],
  leastclose: [[sql<number>`coalesce(issues.close_time, ${LAST})`, 'asc'], ...LATEST],
  mostreaction: [[REACTIONS, 'desc'], ...LATEST],
  leastreaction: [[REACTIONS, 'asc'], ...LATEST],
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

/** Returns what a name of an order means. What has the same relevance has the order of the latest. */
export function orderNamed(sort: IssueSort): Order {
  return SORTS[sort === 'relevance' ? 'latest' : sort]
}

/** A place in a list: the values of the order of one conversation. */
export type IssuePosition = readonly number[]

/** Selects the values of an order. */
export function valuesOf(order: Order) {
  return order.map(([value], i) => sql<number>`${value}`.as(`order_${i}`))
}

/**
 * Returns the conditions of what follows a position. A conversation meets one of them at most. An index
 * that has the order leads to the first conversation of each.
 */
export function rangesAfter(order: Order, after: IssuePosition): RawBuilder<SqlBool>[] {
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

export function ordered<O>(query: SelectQueryBuilder<Schema, 'issues', O>, order: Order) {
  let sorted = query
  for (const [column, direction] of order) sorted = sorted.orderBy(column, direction)
  return sorted
}

/**
 * An order in which few conversations have a value of their own. All others have the same value, so that
 * they have the order of the latest among each other, before or after the few.
 */
interface Split {
  /** The condition of an index of the few. */
  readonly isSpecial: RawBuilder<SqlBool>
  /** The value of the others. */
  readonly common: number
  /** The value of the few, as their index has it. Undefined if no index has the order. */
  readonly indexed?: Expression<number>
}

const MAY_BE_DUE = sql<SqlBool>`(due_time is not null or milestone_id is not null)`
const HAS_REACTIONS = sql<SqlBool>`issues.reaction_count > 0`

const SPLITS: Readonly<Partial<Record<IssueSort, Split>>> = {
  nearduedate: { isSpecial: MAY_BE_DUE, common: LAST },
  farduedate: { isSpecial: MAY_BE_DUE, common: -1 },
  leastclose: { isSpecial: sql<SqlBool>`${CLOSED} > 0`, common: LAST, indexed: CLOSED },
  mostreaction: { isSpecial: HAS_REACTIONS, common: 0 },
  leastreaction: { isSpecial: HAS_REACTIONS, common: 0 },
}

/** Conversations of a repository of one kind that an index has in some order. */
export interface Part {
  readonly kind: 0 | 1
  /** Undefined for all of the kind. */
  readonly condition?: RawBuilder<SqlBool>
  readonly order: Order
}

/** Returns the values of the column of the kind. */
export function kindsOf({ issues, pulls }: ConversationKinds): (0 | 1)[] {
  return [...(issues ? [0 as const] : []), ...(pulls ? [1 as const] : [])]
}

/**
 * Returns the parts of a list of one repository, or of what follows a position.
 *
 * @param order of the list.
 */
export function partsOf(
  kinds: ConversationKinds,
  sort: IssueSort,
  order: Order,
  after: IssuePosition | undefined,
): Part[] {
  const split = SPLITS[sort]
  const conditions = split ? splitParts(split, order, after) : wholePart(order, after)
  return kindsOf(kinds).flatMap((kind) => conditions.map((part) => ({ kind, ...part })))
}

type PartOfKind = Omit<Part, 'kind'>

function wholePart(order: Order, after: IssuePosition | undefined): PartOfKind[] {
  return after ? rangesAfter(order, after).map((condition) => ({ condition, order })) : [{ order }]
}

function splitParts(
  { isSpecial, common, indexed }: Split,
  order: Order,
  after: IssuePosition | undefined,
): PartOfKind[] {
  const [[value, direction] = [], ...rest] = order
  if (value === undefined || direction === undefined) throw new Error('an order has a value')
  const special: Order = [[indexed ?? value, direction], ...rest]
  // A special one may have the value of the others: a milestone without a due date.
  const isOther = indexed ? sql<SqlBool>`${indexed} = 0` : sql<SqlBool>`not ${isSpecial}`
  const both = (one: RawBuilder<SqlBool>, other: RawBuilder<SqlBool>) =>
    sql<SqlBool>`${one} and ${other}`
  if (!after)
    return [
      { condition: isSpecial, order: special },
      { condition: isOther, order: LATEST },
    ]
  const [first = common, ...others] = after
  const follows = direction === 'asc' ? common > first : common < first
  const othersAfter =
    first === common
      ? rangesAfter(LATEST, others).map((range) => both(isOther, range))
      : follows
        ? [isOther]
        : []
  return [
    ...rangesAfter(special, after).map((range) => ({
      condition: both(isSpecial, range),
      order: special,
    })),
    ...othersAfter.map((condition) => ({ condition, order: LATEST })),
  ]
}
