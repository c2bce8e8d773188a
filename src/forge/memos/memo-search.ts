import { simplify, type TermRules, workOf } from '../../platform/filters/simplify.ts'
import { type SearchBounds, searchBounds, searchInSteps } from '../../platform/filters/steps.ts'
import { timeRangeOf } from '../../platform/filters/time-range.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { MAX_SOUGHT_TAGS, type MemoCondition, type MemoTerm } from './memo-condition.rows.ts'
import * as rows from './memo-list.rows.ts'
import { findMemosByIds, type RootedMemo } from './memos.rows.ts'

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
export interface FoundMemos {
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
export async function searchMemos(
  app: AccountsApp,
  partitions: readonly rows.MemoPartition[],
  written: MemoCondition,
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
  condition: MemoCondition,
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

function termRules(memoContentBytes: number): TermRules<MemoTerm> {
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
      return term.among.length <= MAX_SOUGHT_TAGS ? TAG_WORK * term.among.length : TAGS_WORK
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
  condition: MemoCondition,
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
