import { type Condition, mapTerms, readFilter, termsOf } from '../../platform/filters/conditions.ts'
import { InvalidFilterError } from '../../platform/filters/limits.ts'
import { choiceField, type Field, type FilterSchema } from '../../platform/filters/schema.ts'
import { simplify, type TermRules, workOf } from '../../platform/filters/simplify.ts'
import { type SearchBounds, searchBounds, searchInSteps } from '../../platform/filters/steps.ts'
import { timeRangeOf } from '../../platform/filters/times.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { accountField } from '../accounts/users/user-fields.ts'
import { findUserIdsByNameKeys } from '../accounts/users/users.rows.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { isReadable, type MemoReader } from './memo-access.ts'
import * as rows from './memo-list.rows.ts'
import { type MemoView, viewsOf } from './memo-view.ts'
import { findMemosByIds, type RootedMemo } from './memos.rows.ts'
import type { Memo, MemoVisibility } from './schema.ts'

/** Columns with directions. The first column is the most significant. */
type MemoOrder = readonly rows.MemoOrder[]
export type MemoPosition = rows.MemoPosition

/** The part of a list to read, and its order. */
export type MemoPage = rows.MemoPage

/** One page of memos. */
export interface MemoListing {
  readonly memos: readonly MemoView[]
  /** The position where the next page starts; undefined on the last page. */
  readonly next: MemoPosition | undefined
}

/** The maximum number of characters of an invalid value that an error repeats. */
const MAX_ECHOED_CHARACTERS = 64

/** The fields that lists can be ordered by, and their columns. */
const ORDER_COLUMNS: ReadonlyMap<string, rows.MemoOrder['column']> = new Map([
  ['pinned', 'pinned'],
  ['create_time', 'create_time'],
  ['update_time', 'update_time'],
  ['name', 'uid'],
])

/**
 * Parses the `order_by` of a list, as the proto file describes it.
 *
 * @returns the columns to order by. `pinned` comes first. The last column is unique, so the order
 *   is total.
 */
export function readMemoOrder(text: string): MemoOrder {
  return text.trim() === '' ? NEWEST_FIRST : parseOrder(text)
}

/** The order of most lists. */
const NEWEST_FIRST: MemoOrder = [
  { column: 'create_time', direction: 'desc' },
  { column: 'id', direction: 'desc' },
]

function parseOrder(text: string): MemoOrder {
  const terms = text.split(',').map((term) => {
    const [field = '', direction = 'desc', ...rest] = term.trim().split(/ +/)
    const column = ORDER_COLUMNS.get(field)
    if (!column || (direction !== 'asc' && direction !== 'desc') || rest.length > 0)
      throw invalidOrder(text)
    return { column, direction: column === 'pinned' ? 'desc' : direction } as const
  })
  if (new Set(terms.map(({ column }) => column)).size < terms.length) throw invalidOrder(text)
  const pinned = terms.filter(({ column }) => column === 'pinned')
  const others = terms.filter(({ column }) => column !== 'pinned')
  return [...pinned, ...others, { column: 'id', direction: others[0]?.direction ?? 'desc' }]
}

/**
 * Returns the memos with a state that the reader may read and that meet a filter. Archived memos
 * are only those of the reader. Comments are not included.
 *
 * With a filter, a page can have fewer memos than requested, or none, without being the last page.
 *
 * @param filter the filter of ListMemos.
 */
export async function listMemos(
  app: AccountsApp,
  reader: MemoReader,
  state: Memo['state'],
  filter: string,
  page: MemoPage,
): Promise<MemoListing> {
  const condition = await readMemoFilter(app, filter)
  const partitions = partitionsOf(reader, state)
  if (!condition)
    return listingOf(app, page, (longer) => rows.listMemos(app.db, partitions, longer))
  const isListed = (memo: RootedMemo) => memo.state === state && isReadable(memo, reader)
  const { memos, next } = await searchMemos(app, partitions, condition, page, isListed)
  return { memos: await viewsOf(app.db, memos), next }
}

/**
 * Returns one page of a list as views.
 *
 * @param read reads a page. It is called with a limit of one more, to find out whether the page is
 *   the last.
 */
export async function listingOf(
  app: AccountsApp,
  page: MemoPage,
  read: (longer: MemoPage) => Promise<RootedMemo[]>,
): Promise<MemoListing> {
  const found = await read({ ...page, limit: page.limit + 1 })
  const memos = found.slice(0, page.limit)
  const last = memos.at(-1)
  return {
    memos: await viewsOf(app.db, memos),
    next:
      found.length > page.limit && last ? page.order.map(({ column }) => last[column]) : undefined,
  }
}

/** Returns the partitions of the memos that a reader may read, by the rules of `isReadable`. */
function partitionsOf(
  { userId, publicOnly }: MemoReader,
  state: Memo['state'],
): rows.MemoPartition[] {
  const signedIn = userId !== undefined && !publicOnly
  if (state === 'ARCHIVED') {
    if (userId === undefined) return []
    const visibilities = signedIn
      ? (['PUBLIC', 'PROTECTED', 'PRIVATE'] as const)
      : (['PUBLIC'] as const)
    return visibilities.map((visibility) => ({ state, visibility, creatorId: userId }))
  }
  const ofAllCreators = { state, creatorId: undefined }
  return [
    { ...ofAllCreators, visibility: 'PUBLIC' },
    ...(signedIn
      ? ([
          { ...ofAllCreators, visibility: 'PROTECTED' },
          { state, visibility: 'PRIVATE', creatorId: userId },
        ] as const)
      : []),
  ]
}

function invalidOrder(text: string): DomainError {
  return new DomainError('INVALID_ORDER', { order_by: text.slice(0, MAX_ECHOED_CHARACTERS) })
}

/**
 * The maximum number of strings that one filter searches contents for, because each search is
 * expensive.
 */
const MAX_CONTENT_TERMS = 8

/** A term of the filter, with creators by name. */
type WrittenTerm =
  | Exclude<rows.MemoTerm, { kind: 'creator' }>
  | { readonly kind: 'creator'; readonly keys: readonly string[] }

const VISIBILITIES: readonly MemoVisibility[] = ['PRIVATE', 'PROTECTED', 'PUBLIC']

const MEMO_FILTER: FilterSchema<WrittenTerm> = {
  logic: ['and', 'or', 'not'],
  fields: {
    content: { type: 'text', term: (part) => ({ kind: 'content', part }) },
    creator: accountField(['=', '!=', 'in'], (keys) => ({ kind: 'creator', keys })),
    visibility: choiceField(VISIBILITIES, ['=', '!=', 'in'], (among) => ({
      kind: 'visibility',
      among,
    })),
    tags: { type: 'strings', term: (tag) => ({ kind: 'tags', among: [tag] }) },
    tag: { type: 'string', operators: ['in'], term: (among) => ({ kind: 'tags', among }) },
    created_ts: time('create_time'),
    updated_ts: time('update_time'),
    pinned: flag('pinned'),
    has_link: flag('has_link'),
    has_code: flag('has_code'),
    has_task_list: flag('has_task_list'),
    has_incomplete_tasks: flag('has_incomplete_tasks'),
  },
}

/**
 * Parses the filter of ListMemos, as the proto file describes it.
 *
 * The names of creators are resolved here. A name without an account matches no memo.
 *
 * @returns the condition, or undefined for a blank filter.
 */
export async function readMemoFilter(
  app: AccountsApp,
  filter: string,
): Promise<rows.MemoCondition | undefined> {
  const written = readFilter(filter, MEMO_FILTER, nowSeconds(app.clock))
  if (!written) return undefined
  if (contentTerms(written) > MAX_CONTENT_TERMS) throw new InvalidFilterError(filter)
  const keys = termsOf(written).flatMap((term) => (term.kind === 'creator' ? term.keys : []))
  const ids = await findUserIdsByNameKeys(app.db, keys)
  return mapTerms(written, (term): rows.MemoTerm => {
    if (term.kind !== 'creator') return term
    return { kind: 'creator', ids: term.keys.flatMap((key) => ids.get(key) ?? []) }
  })
}

function contentTerms(condition: Condition<WrittenTerm>): number {
  return termsOf(condition).filter(({ kind }) => kind === 'content').length
}

function time(column: 'create_time' | 'update_time'): Field<WrittenTerm> {
  return {
    type: 'time',
    term: (operator, seconds) => ({ kind: 'time', column, operator, seconds }),
  }
}

function flag(column: rows.MemoFlag): Field<WrittenTerm> {
  return { type: 'flag', term: () => ({ kind: 'flag', column }) }
}

/**
 * The number of positions that one statement sorts when no index has the order. The statement goes
 * through the whole list, which takes some tens of milliseconds with 100,000 memos.
 */
const POSITIONS_PER_STATEMENT = 2000

/** The maximum number of positions that are sorted for one page. */
const MAX_SORTED = 20_000

/**
 * Costs, in the unit of `searchBounds`: to look at a column, to look for one tag, and to go through
 * all tags of a memo.
 */
const COLUMN_WORK = 1
const TAG_WORK = 3
const TAGS_WORK = 100

/** The number of bytes of a content that are searched per unit of cost, for the slowest texts. */
const BYTES_PER_WORK = 24

/** One page of search results. */
interface FoundMemos {
  readonly memos: readonly RootedMemo[]
  /** The position where the next page starts; undefined on the last page. */
  readonly next: rows.MemoPosition | undefined
}

/**
 * Returns one page of the memos that meet the condition of a filter. The cost is bounded for any
 * filter, so the page can have fewer memos than requested, or none, without being the last page.
 *
 * @param isListed returns whether a memo belongs in the list. The memo may have changed since its
 *   position was read.
 */
async function searchMemos(
  app: AccountsApp,
  partitions: readonly rows.MemoPartition[],
  written: rows.MemoCondition,
  page: rows.MemoPage,
  isListed: (memo: RootedMemo) => boolean,
): Promise<FoundMemos> {
  const rules = termRules(app.settings.memoContentBytes)
  const condition = simplify(written, rules)
  const searched = narrowPartitions(partitions, condition, page.order)
  const bounds = searchBounds(workOf(condition, rules))
  const { found, next } = rows.hasIndex(page.order)
    ? await searchInSteps(bounds, page.limit, page.after, (after, limit) =>
        rows.scanMemos(app.db, searched, condition, { ...page, after, limit }),
      )
    : await searchSorted(app, searched, condition, page, bounds)
  const memos = await findMemosByIds(
    app.db,
    found.map(({ id }) => id),
  )
  return { memos: found.flatMap(({ id }) => memos.get(id) ?? []).filter(isListed), next }
}

/** Searches in an order that no index has. Positions are sorted before memos are read. */
async function searchSorted(
  app: AccountsApp,
  partitions: readonly rows.MemoPartition[],
  condition: rows.MemoCondition,
  page: rows.MemoPage,
  { rowsPerStep, maxRows }: SearchBounds,
) {
  const bounds = { rowsPerStep, maxRows: Math.min(maxRows, MAX_SORTED) }
  let positions: rows.PositionedMemo[] = []
  const read = async (after: rows.MemoPosition | undefined) => {
    const added = await rows.listMemoPositions(app.db, partitions, {
      ...page,
      after,
      limit: POSITIONS_PER_STATEMENT,
    })
    positions = [...positions, ...added]
    return added.length
  }
  return searchInSteps(bounds, page.limit, page.after, async (after, limit) => {
    while (positions.length < limit && (await read(positions.at(-1)?.position ?? after)) > 0);
    const step = positions.slice(0, limit)
    positions = positions.slice(limit)
    const matching = await rows.findMatching(
      app.db,
      step.map(({ id }) => id),
      condition,
    )
    return step.map(({ id, position }) => ({ id, position, meets: matching.has(id) }))
  })
}

function termRules(memoContentBytes: number): TermRules<rows.MemoTerm> {
  const contentWork = Math.ceil(memoContentBytes / BYTES_PER_WORK)
  return {
    either(a, b) {
      if (a.kind === 'tags' && b.kind === 'tags')
        return { kind: 'tags', among: union(a.among, b.among) }
      if (a.kind === 'creator' && b.kind === 'creator')
        return { kind: 'creator', ids: union(a.ids, b.ids) }
      if (a.kind === 'visibility' && b.kind === 'visibility') {
        return { kind: 'visibility', among: union(a.among, b.among) }
      }
      return undefined
    },
    workOf(term) {
      if (term.kind === 'content') return contentWork
      if (term.kind !== 'tags') return COLUMN_WORK
      return term.among.length <= rows.MAX_SOUGHT_TAGS ? TAG_WORK * term.among.length : TAGS_WORK
    },
  }
}

function union<T>(a: readonly T[], b: readonly T[]): T[] {
  return [...new Set([...a, ...b])]
}

/**
 * Narrows partitions to those that can contain memos that meet a condition: to one creator, to the
 * visibilities of the condition, and to a range of the time that orders the list. An index covers
 * each of them.
 */
function narrowPartitions(
  partitions: readonly rows.MemoPartition[],
  condition: rows.MemoCondition,
  order: rows.MemoPage['order'],
): readonly rows.MemoPartition[] {
  const terms = (condition.kind === 'and' ? condition.conditions : [condition]).flatMap(
    (conjunct) => (conjunct.kind === 'term' ? [conjunct.term] : []),
  )
  const visibilities = terms.flatMap((term) => (term.kind === 'visibility' ? [term.among] : []))
  const creators = terms.flatMap((term) =>
    term.kind === 'creator' && term.ids.length < 2 ? [term.ids[0]] : [],
  )
  const [column] = order.map((by) => by.column)
  const range =
    column === 'create_time' || column === 'update_time'
      ? {
          column,
          ...timeRangeOf(
            terms.filter((term) => term.kind === 'time').filter((term) => term.column === column),
          ),
        }
      : undefined
  return partitions.flatMap(({ state, visibility, creatorId }) => {
    const creatorIds = new Set(creatorId === undefined ? creators : [creatorId, ...creators])
    const [only] = creatorIds
    const none =
      creatorIds.size > 1 ||
      creatorIds.has(undefined) ||
      visibilities.some((all) => !all.includes(visibility))
    return none ? [] : [{ state, visibility, creatorId: only, range }]
  })
}
