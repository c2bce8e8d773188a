import { setImmediate } from 'node:timers/promises'
import type { MemoCondition } from '../../storage/memo-condition.ts'
import * as rows from '../../storage/memo-list.ts'
import type { Memo, RootedMemo } from '../../storage/memos.ts'
import type { App } from '../app.ts'
import { DomainError } from '../errors.ts'
import { isReadable, type MemoReader } from './memo-access.ts'
import { contentTerms, readMemoFilter } from './memo-filter.ts'
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

/**
 * How many strings are looked for in contents for one page, each in each content: most of a second in the worst
 * contents, some tenths in common ones. Whoever wants to go through more asks for the next page.
 */
const MAX_LOOKS = 20_000

/** How many of them in one go: milliseconds, after which others get their turn. */
const LOOKS_PER_STEP = 400

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
 * @returns the columns to order by: `pinned` first if it is among them, last the one that tells apart what is equal in
 *   all others.
 * @throws INVALID_ORDER
 */
export function readMemoOrder(text: string): MemoOrder {
  const terms = (text.trim() || 'create_time').split(',').map((term) => {
    const [field = '', direction = 'desc', ...rest] = term.trim().split(/ +/)
    const column = ORDER_COLUMNS.get(field)
    if (!column || (direction !== 'asc' && direction !== 'desc') || rest.length > 0) throw invalidOrder(text)
    return { column, direction: column === 'pinned' ? 'desc' : direction } as const
  })
  if (new Set(terms.map(({ column }) => column)).size < terms.length) throw invalidOrder(text)
  const pinned = terms.filter(({ column }) => column === 'pinned')
  const others = terms.filter(({ column }) => column !== 'pinned')
  return [...pinned, ...others, { column: 'id', direction: others[0]?.direction ?? 'desc' }]
}

/**
 * The memos of a state that the reader may read and that meet a filter; of archived ones the reader's own. Comments are
 * left out.
 *
 * A filter that looks into contents may lead to a page with fewer memos than asked for, or none, that is not the last.
 *
 * @param filter as ListMemos takes it.
 * @throws INVALID_FILTER
 */
export async function listMemos(
  app: App,
  reader: MemoReader,
  state: Memo['state'],
  filter: string,
  page: MemoPage,
): Promise<MemoListing> {
  const condition = await readMemoFilter(app, filter)
  const stretches = stretchesOf(reader, state)
  if (!condition || contentTerms(condition) === 0) {
    return listingOf(app, page, (longer) => rows.listMemos(app.db, stretches, condition, longer))
  }
  // A memo may have changed since its place was read.
  const isListed = (memo: RootedMemo) => memo.state === state && isReadable(memo, reader)
  return searchContents(app, stretches, condition, page, isListed)
}

/** One page of the memos whose contents meet a condition. */
async function searchContents(
  app: App,
  stretches: readonly rows.MemoStretch[],
  condition: MemoCondition,
  page: MemoPage,
  isListed: (memo: RootedMemo) => boolean,
): Promise<MemoListing> {
  const [first, contents] = splitCondition(condition)
  const looks = contentTerms(contents)
  const searched = Math.floor(MAX_LOOKS / looks)
  const places = await rows.listMemoPlaces(app.db, stretches, first, { ...page, limit: searched + 1 })
  const found: { readonly memo: RootedMemo; readonly place: MemoPosition }[] = []
  const stepSize = Math.floor(LOOKS_PER_STEP / looks)
  let end = 0
  while (end < Math.min(places.length, searched) && found.length <= page.limit) {
    const step = places.slice(end, Math.min(end + stepSize, searched))
    end += step.length
    const ids = step.map(({ id }) => id)
    const memos = new Map((await rows.findMemosAmong(app.db, ids, contents)).map((memo) => [memo.id, memo]))
    for (const { id, place } of step) {
      const memo = memos.get(id)
      if (memo && isListed(memo)) found.push({ memo, place })
    }
    await setImmediate()
  }
  const listed = found.slice(0, page.limit)
  const next = found.length > page.limit ? listed.at(-1) : places.length > end ? places[end - 1] : undefined
  return {
    memos: await viewsOf(
      app.db,
      listed.map(({ memo }) => memo),
    ),
    next: next?.place,
  }
}

/** A condition as two that both have to be met, of which only the second looks into contents. */
function splitCondition(condition: MemoCondition): readonly [MemoCondition | undefined, MemoCondition] {
  if (condition.kind !== 'and') return [undefined, condition]
  const looksInside = (inner: MemoCondition) => contentTerms(inner) > 0
  const { conditions } = condition
  return [
    { kind: 'and', conditions: conditions.filter((inner) => !looksInside(inner)) },
    { kind: 'and', conditions: conditions.filter(looksInside) },
  ]
}

/**
 * One page of a list as views.
 *
 * @param read reads a page, of one memo more than asked for, which tells whether a full page is the last.
 */
export async function listingOf(
  app: App,
  page: MemoPage,
  read: (longer: MemoPage) => Promise<RootedMemo[]>,
): Promise<MemoListing> {
  const found = await read({ ...page, limit: page.limit + 1 })
  const memos = found.slice(0, page.limit)
  const last = memos.at(-1)
  return {
    memos: await viewsOf(app.db, memos),
    next: found.length > page.limit && last ? page.order.map(({ column }) => last[column]) : undefined,
  }
}

/** Where the memos are that a reader may read, by the rules of `isReadable`. */
function stretchesOf({ userId, publicOnly }: MemoReader, state: Memo['state']): rows.MemoStretch[] {
  const signedIn = userId !== undefined && !publicOnly
  if (state === 'ARCHIVED') {
    if (userId === undefined) return []
    const visibilities = signedIn ? (['PUBLIC', 'PROTECTED', 'PRIVATE'] as const) : (['PUBLIC'] as const)
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
