import {
  type Expression,
  type ExpressionBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import { containsSql } from '../../platform/database/database.ts'
import { either } from '../../platform/database/dialects/dialects.ts'
import { prepareShapes } from '../../platform/database/prepared.ts'
import type { Db, Schema } from '../../platform/database/schema.ts'
import { type RootedMemo, selectRootedMemos } from './memos.rows.ts'
import type { Memo, MemoVisibility } from './schema.ts'

/** The memos with one state and visibility that are not comments. */
export interface MemoPartition {
  readonly state: Memo['state']
  readonly visibility: MemoVisibility
  /** Undefined for all creators. */
  readonly creatorId: number | undefined
  /** The times of the column that the list is ordered by; undefined for all times. */
  readonly range?: MemoRange | undefined
}

/** Unix seconds, both inclusive; undefined where there is no bound. */
interface MemoRange {
  readonly column: 'create_time' | 'update_time'
  readonly min: number | undefined
  readonly max: number | undefined
}

/** A column that a list is ordered by, with its direction. */
export interface MemoOrder {
  readonly column: 'pinned' | 'create_time' | 'update_time' | 'uid' | 'id'
  readonly direction: 'asc' | 'desc'
}

/** A position in a list: the values of a memo in the columns of the order. */
export type MemoPosition = readonly (number | string)[]

/** The part of a list to read. */
export interface MemoPage {
  /** The last column must be unique. */
  readonly order: readonly MemoOrder[]
  /** The position of the last memo of the previous page; undefined for the first page. */
  readonly after: MemoPosition | undefined
  readonly limit: number
}

/**
 * Returns the memos of disjoint partitions in one order.
 *
 * One statement reads all partitions, so a memo that moves between partitions meanwhile appears
 * exactly once. SQLite reads each partition in the order of an index, merges them, and stops at the
 * limit. For an order without an index, SQLite sorts the memos first, and holds at most `limit` of
 * them.
 */
export async function listMemos(
  db: Db,
  partitions: readonly MemoPartition[],
  page: MemoPage,
): Promise<RootedMemo[]> {
  if (partitions.length === 0) return []
  const selection = { partitions, page }
  const { shape, values } = describeSelection(selection)
  return pagesOfPartitions(db, shape, selection, values)
}

/** The selection of `listMemos`. */
interface MemoSelection {
  readonly partitions: readonly MemoPartition[]
  readonly page: MemoPage
}

const pagesOfPartitions = prepareShapes((db, selection: MemoSelection, placeholder) => {
  const { partitions, page } = replaceValues(selection, placeholder)
  return selectPage(
    partitions.map((partition) =>
      selectPartition(db, partition, page).selectAll().select(OWN_ROOT),
    ),
    page,
  )
})

/**
 * Returns everything but the values of a selection as a text, and the values in the order of
 * `replaceValues`.
 */
function describeSelection({ partitions, page: { order, after, limit } }: MemoSelection): {
  shape: string
  values: (number | string)[]
} {
  let shape = ''
  const values: (number | string)[] = []
  const add = (value: number | undefined) => {
    if (value !== undefined) values.push(value)
    return value === undefined ? '-' : '?'
  }
  for (const { state, visibility, creatorId, range } of partitions) {
    shape += `${state} ${visibility} ${add(creatorId)}`
    if (range) shape += ` ${range.column} ${add(range.min)} ${add(range.max)}`
    shape += ';'
  }
  for (const { column, direction } of order) shape += `${column} ${direction},`
  if (after) {
    shape += 'after'
    values.push(...after)
  }
  values.push(limit)
  return { shape, values }
}

/** Returns a selection with other values, which are parameters of its query. */
function replaceValues(
  { partitions, page: { order, after, limit } }: MemoSelection,
  replace: (value: number | string) => number,
): MemoSelection {
  const replaced = (value: number | undefined) => (value === undefined ? undefined : replace(value))
  return {
    partitions: partitions.map(({ creatorId, range, ...rest }) => ({
      ...rest,
      creatorId: replaced(creatorId),
      range: range && { ...range, min: replaced(range.min), max: replaced(range.max) },
    })),
    page: { order, after: after?.map((value) => replace(value)), limit: replace(limit) },
  }
}

/** The id of a memo, and its position in a list. */
export interface PositionedMemo {
  readonly id: number
  readonly position: MemoPosition
}

/** Returns the positions of the memos that `listMemos` returns. */
export async function listMemoPositions(
  db: Db,
  partitions: readonly MemoPartition[],
  page: MemoPage,
): Promise<PositionedMemo[]> {
  const columns = page.order.map(({ column }) => column)
  const found = await readPage(
    partitions.map((partition) => selectPartition(db, partition, page).select(columns)),
    page,
  )
  return found.map((row) => ({ id: row.id, position: positionOf(row, columns) }))
}

/**
 * Returns the same positions as `listMemoPositions`, and whether each memo meets a condition. The
 * limit of the page bounds the cost, even when few memos meet the condition.
 */
export async function scanMemos(
  db: Db,
  partitions: readonly MemoPartition[],
  condition: MemoCondition,
  page: MemoPage,
): Promise<(PositionedMemo & { readonly meets: boolean })[]> {
  const columns = page.order.map(({ column }) => column)
  const found = await readPage(
    partitions.map((partition) =>
      selectPartition(db, partition, page)
        .select(columns)
        .select((eb) => sql<number>`${memoConditionSql(eb, condition)}`.as('meets')),
    ),
    page,
  )
  return found.map((row) => ({
    id: row.id,
    position: positionOf(row, columns),
    meets: row.meets === 1,
  }))
}

/** Returns the ids of those memos that meet a condition. */
export async function findMatching(
  db: Db,
  ids: readonly number[],
  condition: MemoCondition,
): Promise<ReadonlySet<number>> {
  const found = await db
    .selectFrom('memos')
    .select('id')
    .where('id', 'in', ids)
    .where((eb) => memoConditionSql(eb, condition))
    .execute()
  return new Set(found.map(({ id }) => id))
}

const INDEXED_ORDERS: ReadonlySet<string> = new Set([
  'create_time,id',
  'update_time,id',
  'pinned,create_time,id',
])

/**
 * Returns whether SQLite reads memos in this order from an index, and so reads no memos after the
 * page.
 */
export function hasIndex(order: readonly MemoOrder[]): boolean {
  return isOneWay(order) && INDEXED_ORDERS.has(order.map(({ column }) => column).join())
}

function isOneWay(order: readonly MemoOrder[]): boolean {
  return new Set(order.map(({ direction }) => direction)).size === 1
}

function positionOf(
  row: Pick<Memo, MemoOrder['column']>,
  columns: readonly MemoOrder['column'][],
): MemoPosition {
  return columns.map((column) => row[column])
}

/** Returns the direct comments on a memo, without archived ones. */
export function listComments(db: Db, memoId: number, page: MemoPage): Promise<RootedMemo[]> {
  const { shape, values } = describeSelection({ partitions: [], page })
  return pagesOfComments(db, shape, page, [memoId, ...values])
}

const pagesOfComments = prepareShapes((db, { order, after }: MemoPage, placeholder) => {
  let query = selectRootedMemos(db)
    .where('memos.parent_id', '=', placeholder())
    .where('memos.state', '=', 'NORMAL')
  if (after) query = query.where(isAfter(order, after.map(placeholder)))
  for (const { column, direction } of order) query = query.orderBy(`memos.${column}`, direction)
  return query.limit(placeholder())
})

/** A memo that is not a comment is its own root. */
const OWN_ROOT = ['creator_id as root_creator_id', 'state as root_state'] as const

async function readPage<Row>(
  partitions: readonly SelectQueryBuilder<Schema, 'memos', Row>[],
  page: MemoPage,
): Promise<Row[]> {
  return partitions.length === 0 ? [] : selectPage(partitions, page).execute()
}

function selectPage<Row>(
  partitions: readonly SelectQueryBuilder<Schema, 'memos', Row>[],
  { order, after, limit }: MemoPage,
): SelectQueryBuilder<Schema, 'memos', Row> {
  const [first, ...others] = partitions.map((partition) =>
    after ? partition.where(isAfter(order, after)) : partition,
  )
  if (!first) throw new Error('a page of no partitions')
  let merged = others.reduce((query, other) => query.unionAll(other), first)
  for (const { column, direction } of order) merged = merged.orderBy(sql.ref(column), direction)
  return merged.limit(limit)
}

function selectPartition(
  db: Db,
  { state, visibility, creatorId, range }: MemoPartition,
  { order, after }: MemoPage,
) {
  // The position bounds the range at one end. With two bounds, SQLite might start at the farther
  // one.
  const isDown = order[0]?.direction === 'desc'
  const min = after && !isDown ? undefined : range?.min
  const max = after && isDown ? undefined : range?.max
  return db
    .selectFrom('memos')
    .where('parent_id', 'is', null)
    .where('state', '=', state)
    .where('visibility', '=', visibility)
    .$if(creatorId !== undefined, (query) => query.where('creator_id', '=', creatorId ?? 0))
    .$if(min !== undefined, (query) => query.where(range?.column ?? 'id', '>=', min ?? 0))
    .$if(max !== undefined, (query) => query.where(range?.column ?? 'id', '<=', max ?? 0))
}

/** Returns the condition that a memo comes after a position. */
function isAfter(order: readonly MemoOrder[], position: MemoPosition): Expression<SqlBool> {
  const columns = order.map(({ column }) => sql.ref(`memos.${column}`))
  const operators = order.map(({ direction }) => sql.raw(direction === 'asc' ? '>' : '<'))
  // When all columns have the same direction, rows compare as a whole, and an index finds the start
  // of the page.
  if (isOneWay(order)) {
    return sql`(${sql.join(columns)}) ${operators[0]} (${sql.join(position)})`
  }
  const alternatives = columns.map((column, i) => {
    const before = columns.slice(0, i).map((equal, j) => sql`${equal} = ${position[j]} and `)
    return sql`${sql.join(before, sql``)}${column} ${operators[i]} ${position[i]}`
  })
  return sql`(${sql.join(alternatives, sql` or `)})`
}

/** The condition of a filter of memos. */
export type MemoCondition =
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly MemoCondition[] }
  | { readonly kind: 'not'; readonly condition: MemoCondition }
  | { readonly kind: 'term'; readonly term: MemoTerm }

/** A term about one column, or about the tags. */
export type MemoTerm =
  /** The content contains this text. The case of ASCII letters is ignored. */
  | { readonly kind: 'content'; readonly part: string }
  | { readonly kind: 'creator'; readonly ids: readonly number[] }
  | { readonly kind: 'visibility'; readonly among: readonly MemoVisibility[] }
  /** At least one tag is among these. */
  | { readonly kind: 'tags'; readonly among: readonly string[] }
  | {
      readonly kind: 'time'
      readonly column: 'create_time' | 'update_time'
      readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>='
      /** Unix seconds, possibly a fraction. */
      readonly seconds: number
    }
  | { readonly kind: 'flag'; readonly column: MemoFlag }

export type MemoFlag = 'pinned' | 'has_link' | 'has_code' | 'has_task_list' | 'has_incomplete_tasks'

/**
 * The maximum number of tags that are looked up one by one. With more, each tag of the memo, which
 * has at most 500, is looked up in the set.
 */
export const MAX_SOUGHT_TAGS = 8

/** Returns the condition as SQL for a row of `memos`. Every value is a parameter. */
export function memoConditionSql(
  eb: ExpressionBuilder<Schema, 'memos'>,
  condition: MemoCondition,
): Expression<SqlBool> {
  switch (condition.kind) {
    case 'and':
      return eb.and(condition.conditions.map((inner) => memoConditionSql(eb, inner)))
    case 'or':
      return eb.or(condition.conditions.map((inner) => memoConditionSql(eb, inner)))
    case 'not':
      return eb.not(memoConditionSql(eb, condition.condition))
    case 'term':
      return termSql(eb, condition.term)
  }
}

function termSql(eb: ExpressionBuilder<Schema, 'memos'>, term: MemoTerm): Expression<SqlBool> {
  switch (term.kind) {
    case 'content':
      return containsSql(eb.ref('memos.content'), term.part)
    case 'creator':
      return term.ids.length === 0 ? eb.lit(false) : eb('memos.creator_id', 'in', term.ids)
    case 'visibility':
      return term.among.length === 0 ? eb.lit(false) : eb('memos.visibility', 'in', term.among)
    case 'tags':
      if (term.among.length === 0) return eb.lit(false)
      return eb.exists(
        eb
          .selectFrom('memo_tags')
          .select('memo_tags.tag')
          .whereRef('memo_tags.memo_id', '=', 'memos.id')
          .where(tagSql(term.among.length), 'in', term.among)
          .modifyEnd(PER_MEMO),
      )
    case 'time':
      return sql`${eb.ref(`memos.${term.column}`)} ${sql.raw(term.operator)} ${timeValue(term.seconds)}`
    case 'flag':
      return eb(`memos.${term.column}`, '=', 1)
  }
}

/** PostgreSQL reads a parameter as the type of the column, which has no fractions. */
function timeValue(seconds: number): Expression<number> {
  return either({ sqlite: sql`${seconds}`, postgres: sql`${seconds}::double precision` })
}

const TAG = sql.ref<string>('memo_tags.tag')

/**
 * A unary plus excludes a column from the indexes (https://sqlite.org/optoverview.html, "The WHERE
 * clause"). PostgreSQL chooses by statistics.
 */
const UNINDEXED_TAG = either({ sqlite: sql<string>`+${TAG}`, postgres: TAG })

/**
 * With an offset, PostgreSQL looks up the tags of each memo of a page, rather than reading the tags of
 * all memos once for each term.
 */
const PER_MEMO = either({ sqlite: sql``, postgres: sql`offset 0` })

function tagSql(count: number): Expression<string> {
  return count <= MAX_SOUGHT_TAGS ? TAG : UNINDEXED_TAG
}
