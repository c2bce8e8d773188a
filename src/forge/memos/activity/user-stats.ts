import type { AccountsApp } from '../../accounts/ports.ts'
import type { User } from '../../core/schema.ts'
import type { MemoReader } from '../memo-access.ts'
import type { MemoCounts, MemoVisibility } from '../schema.ts'
import * as rows from './user-stats.rows.ts'

/** The account that statistics belong to. */
type StatsOwner = rows.StatsOwner

/**
 * Statistics of the memos of an account that a reader may read. Comments and archived memos do not
 * count.
 */
export interface UserStats {
  readonly owner: StatsOwner
  readonly memoCount: number
  readonly linkCount: number
  readonly codeCount: number
  readonly taskListCount: number
  readonly incompleteTasksCount: number
  /** The number of memos per tag. */
  readonly tagCounts: ReadonlyMap<string, number>
  /** The display times of the newest memos in Unix seconds, newest first. */
  readonly displayTimes: readonly number[]
  /** The last name segments of the newest pinned memos, newest first. */
  readonly pinnedUids: readonly string[]
  /** Whether times, tags or pinned memos are left out. */
  readonly isTruncated: boolean
}

/** Returns the statistics of one account. */
export async function getUserStats(
  app: AccountsApp,
  reader: MemoReader,
  user: User,
): Promise<UserStats> {
  const isOwn = user.id === reader.userId && !reader.publicOnly
  const visibilities: readonly MemoVisibility[] = isOwn
    ? ['PUBLIC', 'PROTECTED', 'PRIVATE']
    : readableOf(reader)
  return statsOf(user, await rows.findMemoFigures(app.db, user.id, visibilities, displayTime(app)))
}

/** Returns the statistics of every account with a memo that the reader may read, sorted by name. */
export async function listAllUserStats(app: AccountsApp, reader: MemoReader): Promise<UserStats[]> {
  const ownId = reader.publicOnly ? undefined : reader.userId
  const { owners, ...figures } = await rows.findAllMemoFigures(
    app.db,
    readableOf(reader),
    ownId,
    displayTime(app),
  )
  const [counts, tags] = [byUser(figures.counts), byUser(figures.tags)]
  const [times, pinned, truncatedTags] = [
    byUser(figures.times),
    byUser(figures.pinned),
    byUser(figures.truncatedTags),
  ]
  return owners
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    .map((owner) =>
      statsOf(owner, {
        counts: counts.get(owner.id) ?? [],
        tags: tags.get(owner.id) ?? [],
        truncatedTags: truncatedTags.get(owner.id) ?? [],
        times: [(times.get(owner.id) ?? []).map(({ time }) => time).sort(newestFirst)],
        pinned: pinned.get(owner.id) ?? [],
      }),
    )
}

/** Returns the visibilities of other users' memos that a reader may read. */
function readableOf({ userId, publicOnly }: MemoReader): readonly MemoVisibility[] {
  return userId === undefined || publicOnly ? ['PUBLIC'] : ['PUBLIC', 'PROTECTED']
}

function displayTime({ settings }: AccountsApp): rows.DisplayTime {
  return settings.statsBy === 'create' ? 'create_time' : 'update_time'
}

function statsOf(
  owner: StatsOwner,
  { counts, tags, truncatedTags, times, pinned }: rows.MemoFigures,
): UserStats {
  const sum = (column: keyof MemoCounts) => counts.reduce((total, row) => total + row[column], 0)
  const tagCounts = new Map<string, number>()
  for (const { tag, memos } of tags) tagCounts.set(tag, (tagCounts.get(tag) ?? 0) + memos)
  const displayTimes = newestTimes(times)
  return {
    owner,
    memoCount: sum('memos'),
    linkCount: sum('with_link'),
    codeCount: sum('with_code'),
    taskListCount: sum('with_task_list'),
    incompleteTasksCount: sum('with_incomplete_tasks'),
    tagCounts,
    displayTimes,
    pinnedUids: newest(pinned, (a, b) => b.create_time - a.create_time || b.id - a.id).map(
      ({ uid }) => uid,
    ),
    // The limits of pinned memos and of times are the same.
    isTruncated: truncatedTags.length > 0 || displayTimes.length < sum('memos'),
  }
}

/** Merges lists of times, each of them newest first. */
function newestTimes(lists: rows.MemoFigures['times']): readonly number[] {
  const [list = []] = lists
  // An anonymous reader sees one visibility. A list that is in order needs no sort.
  return lists.length > 1 ? newest(lists.flat(), newestFirst) : list.slice(0, rows.MAX_LISTED_MEMOS)
}

function newestFirst(a: number, b: number): number {
  return b - a
}

function newest<Row>(memos: readonly Row[], newestFirst: (a: Row, b: Row) => number): Row[] {
  return memos.toSorted(newestFirst).slice(0, rows.MAX_LISTED_MEMOS)
}

function byUser<Row extends { readonly user_id: number }>(
  all: readonly Row[],
): ReadonlyMap<number, readonly Row[]> {
  const grouped = new Map<number, Row[]>()
  for (const row of all) {
    const group = grouped.get(row.user_id)
    if (group) group.push(row)
    else grouped.set(row.user_id, [row])
  }
  return grouped
}

function nameOf({ user_id, username }: StatsOwner): string {
  return user_id ?? username
}
