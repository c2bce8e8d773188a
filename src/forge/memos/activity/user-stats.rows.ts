import { type ExpressionBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { either } from '../../../platform/database/dialects/dialects.ts'
import { prepareFirst, prepareQuery } from '../../../platform/database/prepared.ts'
import type { Db, Schema } from '../../../platform/database/schema.ts'
import { stateCaches } from '../../../platform/database/state-cache.ts'
import type { User } from '../../core/schema.ts'
import type { Memo, MemoCounts, MemoTagCountsTable, MemoVisibility } from '../schema.ts'

/**
 * The maximum number of times and of pinned memos that are read for one account: enough for a
 * calendar of several years. It bounds the cost for accounts with a hundred thousand memos.
 */
export const MAX_LISTED_MEMOS = 1000

/**
 * The maximum number of tags that are read for one account and visibility, in alphabetical order.
 * Only generated memos have that many.
 */
export const MAX_LISTED_TAGS = 10_000

/**
 * The maximum number of times, of pinned memos and of tags that are read for all accounts together,
 * per visibility. A larger response would block the event loop for seconds and take a gigabyte.
 */
export const MAX_LISTED_OF_ALL = 50_000

/** The time at which a memo is displayed. */
export type DisplayTime = 'create_time' | 'update_time'

/** The figures that statistics of an account are computed from. */
export interface MemoFigures {
  /** One row per visibility. */
  readonly counts: readonly MemoCounts[]
  /** One row per visibility and tag. */
  readonly tags: readonly TagCount[]
  /** One row per visibility with more tags than `tags` contains. */
  readonly truncatedTags: readonly object[]
  /**
   * The display times of the newest memos in Unix seconds, newest first, in one list for each
   * visibility.
   */
  readonly times: readonly (readonly number[])[]
  /** The newest pinned memos of each visibility, in no particular order. */
  readonly pinned: readonly PinnedMemo[]
}

type TagCount = Pick<MemoTagCountsTable, 'tag' | 'memos'>
type PinnedMemo = Pick<Memo, 'id' | 'uid' | 'create_time'>

const COUNTS = [
  'memo_counts.memos',
  'memo_counts.with_link',
  'memo_counts.with_code',
  'memo_counts.with_task_list',
  'memo_counts.with_incomplete_tasks',
] as const

const countsOf = prepareQuery((db, userId: number, visibility: MemoVisibility) =>
  db
    .selectFrom('memo_counts')
    .select(COUNTS)
    .where('user_id', '=', userId)
    .where('visibility', '=', visibility),
)

const tagsOf = prepareQuery((db, userId: number, visibility: MemoVisibility) =>
  db
    .selectFrom('memo_tag_counts')
    .select(['tag', 'memos'])
    .where('user_id', '=', userId)
    .where('visibility', '=', visibility)
    .orderBy('tag')
    .limit(MAX_LISTED_TAGS),
)

/** Returns a row if there are more tags than `tagsOf` returns. */
const truncatedTagsOf = prepareQuery((db, userId: number, visibility: MemoVisibility) =>
  db
    .selectFrom('memo_tag_counts')
    .select('memos')
    .where('user_id', '=', userId)
    .where('visibility', '=', visibility)
    .orderBy('tag')
    .limit(1)
    .offset(MAX_LISTED_TAGS),
)

const timesOf = {
  create_time: prepareTimes('create_time'),
  update_time: prepareTimes('update_time'),
}

const TIMES = either<string | null>({
  sqlite: sql`json_group_array(newest.time)`,
  postgres: sql`json_agg(newest.time)`,
})

/** Prepares the times as a JSON array. A row for each of them would take ten times as long. */
function prepareTimes(column: DisplayTime) {
  return prepareFirst((db, userId: number, visibility: MemoVisibility) =>
    db
      .selectFrom(
        selectCounted(db, userId, visibility)
          .select(`${column} as time`)
          .orderBy(column, 'desc')
          .orderBy('id', 'desc')
          .limit(MAX_LISTED_MEMOS)
          .as('newest'),
      )
      .select(TIMES.as('json')),
  )
}

const pinnedOf = prepareQuery((db, userId: number, visibility: MemoVisibility) =>
  selectCounted(db, userId, visibility)
    .select(['id', 'uid', 'create_time'])
    .where('pinned', '=', 1)
    .orderBy('create_time', 'desc')
    .orderBy('id', 'desc')
    .limit(MAX_LISTED_MEMOS),
)

function selectCounted(db: Db, userId: number, visibility: MemoVisibility) {
  return db
    .selectFrom('memos')
    .where('creator_id', '=', userId)
    .where('parent_id', 'is', null)
    .where('state', '=', 'NORMAL')
    .where('visibility', '=', visibility)
}

/** Figures by account, visibilities and column of times, 10 MB when full. */
const figuresOf = stateCaches<string, MemoFigures>(100)

/** The maximum number of tags and pinned memos of figures that are kept. */
const MAX_KEPT_ROWS = 500

/**
 * Returns the figures of one account. No query reads more rows than it returns, so the time is
 * proportional to the response.
 */
export async function findMemoFigures(
  db: Db,
  userId: number,
  visibilities: readonly MemoVisibility[],
  time: DisplayTime,
): Promise<MemoFigures> {
  const cache = figuresOf(db)
  const key = `${userId} ${time} ${visibilities}`
  const known = cache.get(db, key)
  if (known) return known
  return cache.read(
    db,
    key,
    () => readMemoFigures(db, userId, visibilities, time),
    ({ tags, pinned }) => tags.length + pinned.length <= MAX_KEPT_ROWS,
  )
}

async function readMemoFigures(
  db: Db,
  userId: number,
  visibilities: readonly MemoVisibility[],
  time: DisplayTime,
): Promise<MemoFigures> {
  // Prepared queries that are started together all run before anything else, and so read the same
  // state of the database.
  const parts = await Promise.all(
    visibilities.map((visibility) =>
      Promise.all([
        countsOf(db, userId, visibility),
        tagsOf(db, userId, visibility),
        truncatedTagsOf(db, userId, visibility),
        timesOf[time](db, userId, visibility),
        pinnedOf(db, userId, visibility),
      ]),
    ),
  )
  return {
    counts: parts.flatMap(([counts]) => counts),
    tags: parts.flatMap(([, tags]) => tags),
    truncatedTags: parts.flatMap(([, , cut]) => cut),
    times: parts.map(([, , , times]): number[] => JSON.parse(times?.json ?? '[]')),
    pinned: parts.flatMap(([, , , , pinned]) => pinned),
  }
}

/** The account that statistics belong to. */
export type StatsOwner = Pick<User, 'id' | 'user_id' | 'username'>

/** The figures of many accounts. Each row names its account. */
type AllMemoFigures = {
  readonly [Part in Exclude<keyof MemoFigures, 'times'>]: readonly (MemoFigures[Part][number] & {
    readonly user_id: number
  })[]
} & {
  readonly owners: readonly StatsOwner[]
  readonly times: readonly { readonly user_id: number; readonly time: number }[]
}

/**
 * Returns the figures of all accounts that have memos, and these accounts, with a constant number
 * of queries. Each account gets its share of `MAX_LISTED_OF_ALL`, up to the maximum of one account.
 *
 * @param ownId the account whose memos of every visibility count; undefined for none.
 */
export async function findAllMemoFigures(
  db: Db,
  visibilities: readonly MemoVisibility[],
  ownId: number | undefined,
  time: DisplayTime,
): Promise<AllMemoFigures> {
  const populations = db
    .selectFrom('memo_counts')
    .where((eb) =>
      eb.or([
        eb('memo_counts.visibility', 'in', visibilities),
        eb('memo_counts.user_id', '=', ownId ?? 0),
      ]),
    )
  const owners = await db
    .selectFrom('users')
    .select(['id', 'user_id', 'username'])
    .where('id', 'in', populations.select('memo_counts.user_id'))
    .execute()
  const share = Math.ceil(MAX_LISTED_OF_ALL / Math.max(owners.length, 1))
  const maxMemos = Math.min(MAX_LISTED_MEMOS, share)
  const maxTags = Math.min(MAX_LISTED_TAGS, share)
  const counts = await populations.select(['memo_counts.user_id', ...COUNTS]).execute()
  const tags = await joinTags(populations, maxTags)
    .select(['memo_counts.user_id', 'counted.tag', 'counted.memos'])
    .execute()
  const truncatedTags = await populations
    .where((eb) => eb.exists(firstTags(eb, 1).offset(maxTags)))
    .select('memo_counts.user_id')
    .execute()
  const times = await joinMemos(populations, (eb) => newestMemos(eb, time, maxMemos))
    .select(['memo_counts.user_id', `memos.${time} as time`])
    .execute()
  const pinned = await joinMemos(populations, (eb) =>
    newestMemos(eb, 'create_time', maxMemos).where('newest.pinned', '=', 1),
  )
    .select(['memo_counts.user_id', 'memos.id', 'memos.uid', 'memos.create_time'])
    .execute()
  return { owners, counts, tags, truncatedTags, times, pinned }
}

type Populations = SelectQueryBuilder<Schema, 'memo_counts', object>
type OfPopulation = ExpressionBuilder<Schema, 'memo_counts'>

/**
 * Joins each population with some of its memos.
 *
 * SQLite has no lateral joins. PostgreSQL would run the inner query of `in` for each pair of a
 * population and a memo (https://www.postgresql.org/docs/15/queries-table-expressions.html).
 */
function joinMemos(
  populations: Populations,
  memosOf: (eb: OfPopulation) => ReturnType<typeof newestMemos>,
) {
  const columns = ['newest.uid', 'newest.create_time', 'newest.update_time'] as const
  return populations
    .crossJoin((eb) =>
      either<Pick<Memo, 'id' | 'uid' | DisplayTime>>({
        sqlite: sql`memos`,
        postgres: sql`lateral ${memosOf(eb).select(columns)}`,
      }).as('memos'),
    )
    .where((eb) =>
      either<SqlBool>({ sqlite: sql`memos.id in ${memosOf(eb)}`, postgres: sql`true` }),
    )
}

/** Joins each population with its first tags, as `joinMemos` does. */
function joinTags(populations: Populations, limit: number) {
  return populations
    .crossJoin((eb) =>
      either<TagCount>({
        sqlite: sql`memo_tag_counts`,
        postgres: sql`lateral ${firstTags(eb, limit).select('first.memos')}`,
      }).as('counted'),
    )
    .where((eb) =>
      either<SqlBool>({
        sqlite: sql`counted.user_id = memo_counts.user_id
          and counted.visibility = memo_counts.visibility
          and counted.tag in ${firstTags(eb, limit)}`,
        postgres: sql`true`,
      }),
    )
}

function newestMemos(eb: OfPopulation, time: DisplayTime, limit: number) {
  return eb
    .selectFrom('memos as newest')
    .select('newest.id')
    .whereRef('newest.creator_id', '=', 'memo_counts.user_id')
    .where('newest.parent_id', 'is', null)
    .where('newest.state', '=', 'NORMAL')
    .whereRef('newest.visibility', '=', 'memo_counts.visibility')
    .orderBy(`newest.${time}`, 'desc')
    .orderBy('newest.id', 'desc')
    .limit(limit)
}

function firstTags(eb: OfPopulation, limit: number) {
  return eb
    .selectFrom('memo_tag_counts as first')
    .select('first.tag')
    .whereRef('first.user_id', '=', 'memo_counts.user_id')
    .whereRef('first.visibility', '=', 'memo_counts.visibility')
    .orderBy('first.tag')
    .limit(limit)
}
