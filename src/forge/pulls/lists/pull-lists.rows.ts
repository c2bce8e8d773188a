import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Schema } from '../../../platform/database/schema.ts'
import type { PullRequest } from '../schema.ts'

/** Selects pull requests of a repository. */
export interface PullFilter {
  /** Undefined for all. Merged pull requests are not open. */
  readonly isOpen: boolean | undefined
  /** Name of the base branch. Empty for all. */
  readonly baseBranch: string
  /** Undefined for all. */
  readonly milestoneId: number | undefined
  /** Undefined for all. */
  readonly posterId: number | undefined
  /** Selects pull requests with at least one of these labels. Empty for all. */
  readonly labelIds: readonly number[]
}

const EVERY: PullFilter = {
  isOpen: undefined,
  baseBranch: '',
  milestoneId: undefined,
  posterId: undefined,
  labelIds: [],
}

/** Returns whether a filter selects by the state only. */
export function isOnlyByState({
  baseBranch,
  milestoneId,
  posterId,
  labelIds,
}: PullFilter): boolean {
  return (
    baseBranch === '' &&
    milestoneId === undefined &&
    posterId === undefined &&
    labelIds.length === 0
  )
}

type Direction = 'asc' | 'desc'

const CREATED = sql.ref<number>('create_time')
const UPDATED = sql.ref<number>('update_time')
/** The expression of the index. Open pull requests have no close time and come last. */
const CLOSED = sql<number>`coalesce(close_time, 0)`
const COMMENTS = sql.ref<number>('comment_count')
const ID = sql.ref<number>('id')

/** The orders of lists. Each has an index, which also serves the reverse order. */
const SORTS = {
  newest: [
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  oldest: [
    [CREATED, 'asc'],
    [ID, 'asc'],
  ],
  recentupdate: [
    [UPDATED, 'desc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  leastupdate: [
    [UPDATED, 'asc'],
    [CREATED, 'asc'],
    [ID, 'asc'],
  ],
  recentclose: [
    [CLOSED, 'desc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  mostcomment: [
    [COMMENTS, 'desc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
  leastcomment: [
    [COMMENTS, 'asc'],
    [CREATED, 'desc'],
    [ID, 'desc'],
  ],
} as const satisfies Record<string, readonly (readonly [typeof ID, Direction])[]>

/** An order of a list. */
export type PullSort = keyof typeof SORTS

export function isPullSort(text: string): text is PullSort {
  return Object.hasOwn(SORTS, text)
}

/** The pull requests of a list and their order. */
interface PullSelection {
  readonly filter: PullFilter
  readonly sort: PullSort
}

/**
 * Returns a page of the pull requests of a repository in an order.
 *
 * The query reads the index from the nearer end of the list, so that the last page costs as much as
 * the first one.
 *
 * @param total length of the whole list.
 */
export async function pageOfPulls(
  db: Db,
  repositoryId: number,
  { filter, sort }: PullSelection,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  total: number,
): Promise<PullRequest[]> {
  const size = Math.min(limit, total - offset)
  if (size <= 0) return []
  const behind = total - offset - size
  const isFromEnd = behind < offset
  const skipped = isFromEnd ? behind : offset
  const usual = isOnlyByState(filter) && USUAL_PAGES.get(pageKey(sort, filter.isOpen, isFromEnd))
  if (usual) return usual(db, repositoryId, size, skipped)
  const chosen = { filter, sort, isFromEnd }
  return selectPage(db, repositoryId, chosen, { offset: skipped, limit: size }).execute()
}

function selectPage(
  db: Db,
  repositoryId: number,
  { filter, sort, isFromEnd }: PullSelection & { readonly isFromEnd: boolean },
  { offset, limit }: { readonly offset: number; readonly limit: number },
) {
  const ids = ordered(selectPulls(db, repositoryId, filter), sort, isFromEnd)
    .select('id')
    .limit(limit)
    .offset(offset)
  return ordered(db.selectFrom('issues').selectAll().where('id', 'in', ids), sort, false)
}

/** The queries of lists that select by the state only, by `pageKey`. */
const USUAL_PAGES = new Map(
  Object.keys(SORTS)
    .filter(isPullSort)
    .flatMap((sort) =>
      [true, false, undefined].flatMap((isOpen) =>
        [true, false].map((isFromEnd) => {
          const filter = { ...EVERY, isOpen }
          const query = prepareQuery((db, repositoryId: number, limit: number, offset: number) =>
            selectPage(db, repositoryId, { filter, sort, isFromEnd }, { offset, limit }),
          )
          return [pageKey(sort, isOpen, isFromEnd), query] as const
        }),
      ),
    ),
)

function pageKey(sort: PullSort, isOpen: boolean | undefined, isFromEnd: boolean): string {
  return `${sort} ${isOpen} ${isFromEnd}`
}

/** Returns the number of comments in that list. */
export async function countPulls(
  db: Db,
  repositoryId: number,
  filter: PullFilter,
): Promise<number> {
  const { count } = await selectPulls(db, repositoryId, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectPulls(db: Db, repositoryId: number, filter: PullFilter) {
  const { isOpen, baseBranch, milestoneId, posterId, labelIds } = filter
  return (
    db
      .selectFrom('issues')
      .where('repository_id', '=', repositoryId)
      // Only pull requests have a base branch, whose index does not tell the kinds apart.
      .$if(baseBranch === '', (query) => query.where('is_pull', '=', 1))
      .$if(isOpen !== undefined, (query) => query.where(stateOf(filter)))
      .$if(baseBranch !== '', (query) => query.where('base_branch', '=', baseBranch))
      .$if(milestoneId !== undefined, (query) => query.where('milestone_id', '=', milestoneId ?? 0))
      .$if(posterId !== undefined, (query) => query.where('poster_id', '=', posterId ?? 0))
      .$if(labelIds.length > 0, (query) =>
        query.where('id', 'in', (eb) =>
          eb.selectFrom('issue_labels').select('issue_id').where('label_id', 'in', labelIds),
        ),
      )
  )
}

/**
 * Returns the condition of the state in the form of the indexes: those that serve unfiltered lists,
 * and those that serve filters.
 */
function stateOf(filter: PullFilter) {
  if (filter.isOpen && !isOnlyByState(filter)) return sql<SqlBool>`state = 'OPEN'`
  return filter.isOpen
    ? sql<SqlBool>`(state = 'OPEN') = true`
    : sql<SqlBool>`(state = 'OPEN') = false`
}

function ordered<O>(
  query: SelectQueryBuilder<Schema, 'issues', O>,
  sort: PullSort,
  isReversed: boolean,
) {
  let sorted = query
  for (const [column, direction] of SORTS[sort]) {
    sorted = sorted.orderBy(column, isReversed ? REVERSE[direction] : direction)
  }
  return sorted
}

const REVERSE: Readonly<Record<Direction, Direction>> = { asc: 'desc', desc: 'asc' }
