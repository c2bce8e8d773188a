import type { AccountsApp } from '../accounts/ports.ts'
import { DomainError } from '../core/errors.ts'
import { isReadable, type MemoReader } from './memo-access.ts'
import { readMemoFilter } from './memo-filter.ts'
import * as rows from './memo-list.rows.ts'
import { searchMemos } from './memo-search.ts'
import { type MemoView, viewsOf } from './memo-view.ts'
import type { RootedMemo } from './memos.rows.ts'
import type { Memo } from './schema.ts'

/** Columns with directions. The first column is the most significant. */
export type MemoOrder = readonly rows.MemoOrder[]
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
 * @throws INVALID_ORDER
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
 * @throws INVALID_FILTER
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
