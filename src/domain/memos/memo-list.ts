import * as rows from '../../storage/memos/memo-list.ts'
import type { RootedMemo } from '../../storage/memos/memos.ts'
import type { Memo } from '../../storage/schema/memos.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { DomainError } from '../core/errors.ts'
import { isReadable, type MemoReader } from './memo-access.ts'
import { readMemoFilter } from './memo-filter.ts'
import { searchMemos } from './memo-search.ts'
import { type MemoView, viewsOf } from './memo-view.ts'

/** Columns and their directions, the first decides first. */
export type MemoOrder = readonly rows.MemoOrder[]
export type MemoPosition = rows.MemoPosition

/** Which part of a list to read, and in which order. */
export type MemoPage = rows.MemoPage

/** One page of memos. */
export interface MemoListing {
  readonly memos: readonly MemoView[]
  /** Where the next page starts; undefined on the last one. */
  readonly next: MemoPosition | undefined
}

/** Of what was sent, in an error. */
const MAX_ECHOED_CHARACTERS = 64

/** What lists can be ordered by, and the columns that it stands for. */
const ORDER_COLUMNS: ReadonlyMap<string, rows.MemoOrder['column']> = new Map([
  ['pinned', 'pinned'],
  ['create_time', 'create_time'],
  ['update_time', 'update_time'],
  ['name', 'uid'],
])

/**
 * Reads the `order_by` of a list, as the proto file describes it.
 *
 * @returns the columns to order by: `pinned` first if it is among them, last the one that tells
 *   apart what is equal in all others.
 * @throws INVALID_ORDER
 */
export function readMemoOrder(text: string): MemoOrder {
  const terms = (text.trim() || 'create_time').split(',').map((term) => {
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
 * The memos of a state that the reader may read and that meet a filter; of archived ones the
 * reader's own. Comments are left out.
 *
 * A filter may lead to a page with fewer memos than asked for, or none, that is not the last.
 *
 * @param filter as ListMemos takes it.
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
  const stretches = stretchesOf(reader, state)
  if (!condition) return listingOf(app, page, (longer) => rows.listMemos(app.db, stretches, longer))
  const isListed = (memo: RootedMemo) => memo.state === state && isReadable(memo, reader)
  const { memos, next } = await searchMemos(app, stretches, condition, page, isListed)
  return { memos: await viewsOf(app.db, memos), next }
}

/**
 * One page of a list as views.
 *
 * @param read reads a page, of one memo more than asked for, which tells whether a full page is the
 *   last.
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

/** Where the memos are that a reader may read, by the rules of `isReadable`. */
function stretchesOf({ userId, publicOnly }: MemoReader, state: Memo['state']): rows.MemoStretch[] {
  const signedIn = userId !== undefined && !publicOnly
  if (state === 'ARCHIVED') {
    if (userId === undefined) return []
    const visibilities = signedIn
      ? (['PUBLIC', 'PROTECTED', 'PRIVATE'] as const)
      : (['PUBLIC'] as const)
    return visibilities.map((visibility) => ({ state, visibility, creatorId: userId }))
  }
  const everybodys = { state, creatorId: undefined }
  return [
    { ...everybodys, visibility: 'PUBLIC' },
    ...(signedIn
      ? ([
          { ...everybodys, visibility: 'PROTECTED' },
          { state, visibility: 'PRIVATE', creatorId: userId },
        ] as const)
      : []),
  ]
}

function invalidOrder(text: string): DomainError {
  return new DomainError('INVALID_ORDER', { order_by: text.slice(0, MAX_ECHOED_CHARACTERS) })
}
