import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { PullRequest } from '../schema/pulls.ts'
import type { Db, Schema } from '../schema/schema.ts'

/** Which pull requests of a repository to list. */
export interface PullFilter {
  /** Undefined for all; those that are merged are not open. */
  readonly isOpen: boolean | undefined
  /** Name of the base; empty for all. */
  readonly baseBranch: string
  /** Undefined for all. */
  readonly milestoneId: number | undefined
  /** Undefined for all. */
  readonly posterId: number | undefined
  /** Those that have at least one of these; none for all. */
  readonly labelIds: readonly number[]
}

/** Whether a filter leaves out nothing but by its state. */
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
/** The expression of the index: those that are open are behind all others, and not null. */
const CLOSED = sql<number>`coalesce(close_time, 0)`
const COMMENTS = sql.ref<number>('comment_count')
const ID = sql.ref<number>('id')

/** What lists are ordered by. Each has an index of its own, which serves its reverse, too. */
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

/** The pull requests of a list, and their order. */
export interface PullSelection {
  readonly filter: PullFilter
  readonly sort: PullSort
}

/**
 * A part of the pull requests of a repository, in an order.
 *
 * The index is walked from whichever end of the list is nearer, so that the last page costs what
 * the first one does.
 *
 * @param total how many the whole list has.
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
  const ids = ordered(selectPulls(db, repositoryId, filter), sort, isFromEnd)
    .select('id')
    .limit(size)
    .offset(isFromEnd ? behind : offset)
  return ordered(
    db.selectFrom('pull_requests').selectAll().where('id', 'in', ids),
    sort,
    false,
  ).execute()
}

/** How many there are in that list. */
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
  return db
    .selectFrom('pull_requests')
    .where('repository_id', '=', repositoryId)
    .$if(isOpen !== undefined, (query) => query.where(stateOf(filter)))
    .$if(baseBranch !== '', (query) => query.where('base_branch', '=', baseBranch))
    .$if(milestoneId !== undefined, (query) => query.where('milestone_id', '=', milestoneId ?? 0))
    .$if(posterId !== undefined, (query) => query.where('poster_id', '=', posterId ?? 0))
    .$if(labelIds.length > 0, (query) =>
      query.where('id', 'in', (eb) =>
        eb
          .selectFrom('pull_request_labels')
          .select('pull_request_id')
          .where('label_id', 'in', labelIds),
      ),
    )
}

/**
 * In the words of the indexes: of those that a list is walked by when nothing else is asked, and of
 * those that find what is.
 */
function stateOf(filter: PullFilter) {
  if (filter.isOpen && !isOnlyByState(filter)) return sql<SqlBool>`state = 'OPEN'`
  return filter.isOpen
    ? sql<SqlBool>`(state = 'OPEN') = true`
    : sql<SqlBool>`(state = 'OPEN') = false`
}

function ordered<O>(
  query: SelectQueryBuilder<Schema, 'pull_requests', O>,
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
