import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Db, Schema } from './database.ts'
import { type MemoCondition, type MemoVisibility, memoConditionSql } from './memo-condition.ts'
import { type Memo, type RootedMemo, selectRootedMemos } from './memos.ts'

/** A stretch of memos that are no comments: those of one state and visibility. */
export interface MemoStretch {
  readonly state: Memo['state']
  readonly visibility: MemoVisibility
  /** Undefined for everybody's. */
  readonly creatorId: number | undefined
}

/** A column that a list is ordered by. */
export interface MemoOrder {
  readonly column: 'pinned' | 'create_time' | 'update_time' | 'uid' | 'id'
  readonly direction: 'asc' | 'desc'
}

/** A place in a list: what the last memo seen has in the columns of the order. */
export type MemoPosition = readonly (number | string)[]

/** Which part of a list to read. */
export interface MemoPage {
  /** Its last column tells all memos apart. */
  readonly order: readonly MemoOrder[]
  /** Undefined for the first page. */
  readonly after: MemoPosition | undefined
  readonly limit: number
}

/**
 * Memos from stretches that have none in common, in one order.
 *
 * One statement, so that a memo that moves from one stretch to another meanwhile is in exactly one of them. SQLite reads
 * each in the order of an index, merges them, and stops at the limit; for an order without an index it sorts them first,
 * holding no more than the limit says.
 */
export async function listMemos(
  db: Db,
  stretches: readonly MemoStretch[],
  condition: MemoCondition | undefined,
  page: MemoPage,
): Promise<RootedMemo[]> {
  const queries = stretches.map((stretch) => selectStretch(db, stretch).selectAll().select(OWN_ROOT))
  return readPage(queries, condition, page)
}

/** A memo by its id, and where it stands in a list. */
export interface PlacedMemo {
  readonly id: number
  readonly place: MemoPosition
}

/** As `listMemos`, without reading the memos themselves. */
export async function listMemoPlaces(
  db: Db,
  stretches: readonly MemoStretch[],
  condition: MemoCondition | undefined,
  page: MemoPage,
): Promise<PlacedMemo[]> {
  const columns = page.order.map(({ column }) => column)
  const queries = stretches.map((stretch) => selectStretch(db, stretch).select(columns))
  const found = await readPage(queries, condition, page)
  return found.map((row) => ({ id: row.id, place: columns.map((column) => row[column]) }))
}

/** Those of some memos, by id, that meet a condition, in no particular order. */
export function findMemosAmong(db: Db, ids: readonly number[], condition: MemoCondition): Promise<RootedMemo[]> {
  return selectRootedMemos(db)
    .where('memos.id', 'in', ids)
    .where((eb) => memoConditionSql(eb, condition))
    .execute()
}

/** Comments made directly on a memo, without archived ones. */
export function listComments(db: Db, memoId: number, { order, after, limit }: MemoPage): Promise<RootedMemo[]> {
  let query = selectRootedMemos(db).where('memos.parent_id', '=', memoId).where('memos.state', '=', 'NORMAL')
  if (after) query = query.where(isBehind(order, after))
  for (const { column, direction } of order) query = query.orderBy(`memos.${column}`, direction)
  return query.limit(limit).execute()
}

/** A memo that is no comment is its own root. */
const OWN_ROOT = ['creator_id as root_creator_id', 'state as root_state'] as const

async function readPage<Row>(
  stretches: readonly SelectQueryBuilder<Schema, 'memos', Row>[],
  condition: MemoCondition | undefined,
  { order, after, limit }: MemoPage,
): Promise<Row[]> {
  const [first, ...others] = stretches.map((stretch) => {
    const query = after ? stretch.where(isBehind(order, after)) : stretch
    return condition ? query.where((eb) => memoConditionSql(eb, condition)) : query
  })
  if (!first) return []
  let merged = others.reduce((query, other) => query.unionAll(other), first)
  for (const { column, direction } of order) merged = merged.orderBy(sql.ref(column), direction)
  return merged.limit(limit).execute()
}

function selectStretch(db: Db, { state, visibility, creatorId }: MemoStretch) {
  const query = db
    .selectFrom('memos')
    .where('parent_id', 'is', null)
    .where('state', '=', state)
    .where('visibility', '=', visibility)
  return creatorId === undefined ? query : query.where('creator_id', '=', creatorId)
}

/** Whether a memo comes behind a position. */
function isBehind(order: readonly MemoOrder[], position: MemoPosition): Expression<SqlBool> {
  const columns = order.map(({ column }) => sql.ref(`memos.${column}`))
  const operators = order.map(({ direction }) => sql.raw(direction === 'asc' ? '>' : '<'))
  // In one direction rows compare as a whole, and an index knows where the page begins.
  if (new Set(order.map(({ direction }) => direction)).size === 1) {
    return sql`(${sql.join(columns)}) ${operators[0]} (${sql.join(position)})`
  }
  const alternatives = columns.map((column, i) => {
    const before = columns.slice(0, i).map((equal, j) => sql`${equal} = ${position[j]} and `)
    return sql`${sql.join(before, sql``)}${column} ${operators[i]} ${position[i]}`
  })
  return sql`(${sql.join(alternatives, sql` or `)})`
}
