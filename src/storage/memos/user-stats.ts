import type { ExpressionBuilder } from 'kysely'
import { prepareQuery } from '../database/prepared.ts'
import type { User } from '../schema/accounts.ts'
import type { Memo, MemoCounts, MemoTagCountsTable, MemoVisibility } from '../schema/memos.ts'
import type { Db, Schema } from '../schema/schema.ts'

/**
 * Most times and most pinned memos that are read for one account: what a calendar of years shows,
 * and no more for who has a hundred thousand memos than for who has a thousand.
 */
export const MAX_LISTED_MEMOS = 1000

/**
 * Most tags that are read for one account and visibility, the first ones by their text. Nobody has
 * so many by writing; who makes them up must not make an answer of millions.
 */
export const MAX_LISTED_TAGS = 10_000

/**
 * Most times, most pinned memos and most tags that are read for all accounts together, of one
 * visibility. With more, an answer to anybody who asks would take seconds of the only thread, and a
 * gigabyte.
 */
export const MAX_LISTED_OF_ALL = 50_000

/** The time that a memo is shown at. */
export type DisplayTime = 'create_time' | 'update_time'

/** What there is to say about the memos of an account. */
export interface MemoFigures {
  /** A row for each visibility. */
  readonly counts: readonly MemoCounts[]
  /** A row for each visibility and tag. */
  readonly tags: readonly TagCount[]
  /** A row for each visibility with more tags than those. */
  readonly cutTags: readonly object[]
  /** Of the newest memos of each visibility, in Unix seconds and in no particular order. */
  readonly times: readonly { readonly time: number }[]
  /** The newest ones of each visibility, in no particular order. */
  readonly pinned: readonly PinnedMemo[]
}

export type TagCount = Pick<MemoTagCountsTable, 'tag' | 'memos'>
export type PinnedMemo = Pick<Memo, 'id' | 'uid' | 'create_time'>

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

/** A row where there are more tags than `tagsOf` lists. */
const cutTagsOf = prepareQuery((db, userId: number, visibility: MemoVisibility) =>
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

function prepareTimes(column: DisplayTime) {
  return prepareQuery((db, userId: number, visibility: MemoVisibility) =>
    selectCounted(db, userId, visibility)
      .select(`${column} as time`)
      .orderBy(column, 'desc')
      .orderBy('id', 'desc')
      .limit(MAX_LISTED_MEMOS),
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

/**
 * The figures about the memos of one account, in the time that reading the answer takes: none of
 * its queries goes through more rows than it gives.
 */
export async function findMemoFigures(
  db: Db,
  userId: number,
  visibilities: readonly MemoVisibility[],
  time: DisplayTime,
): Promise<MemoFigures> {
  // Begun together, prepared queries all run before anything else does, and see the same state of
  // the database.
  const parts = await Promise.all(
    visibilities.map((visibility) =>
      Promise.all([
        countsOf(db, userId, visibility),
        tagsOf(db, userId, visibility),
        cutTagsOf(db, userId, visibility),
        timesOf[time](db, userId, visibility),
        pinnedOf(db, userId, visibility),
      ]),
    ),
  )
  return {
    counts: parts.flatMap(([counts]) => counts),
    tags: parts.flatMap(([, tags]) => tags),
    cutTags: parts.flatMap(([, , cut]) => cut),
    times: parts.flatMap(([, , , times]) => times),
    pinned: parts.flatMap(([, , , , pinned]) => pinned),
  }
}

/** An account as its statistics name it. */
export type StatsOwner = Pick<User, 'id' | 'user_id' | 'username'>

/** The same of many accounts: every row says whose it is. */
export type AllMemoFigures = {
  readonly [Part in keyof MemoFigures]: readonly (MemoFigures[Part][number] & {
    readonly user_id: number
  })[]
} & { readonly owners: readonly StatsOwner[] }

/**
 * The figures about the memos of all accounts that have some, and those accounts, in as many
 * queries however many there are. What is listed of each is its share of `MAX_LISTED_OF_ALL`, if
 * that is less than what is listed of one.
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
  const tags = await populations
    // Crossed, because SQLite keeps the order of such tables: it would rather go through all tags.
    .crossJoin('memo_tag_counts as counted')
    .whereRef('counted.user_id', '=', 'memo_counts.user_id')
    .whereRef('counted.visibility', '=', 'memo_counts.visibility')
    .where('counted.tag', 'in', (eb) => firstTags(eb, maxTags))
    .select(['counted.user_id', 'counted.tag', 'counted.memos'])
    .execute()
  const cutTags = await populations
    .where((eb) => eb.exists(firstTags(eb, 1).offset(maxTags)))
    .select('memo_counts.user_id')
    .execute()
  const times = await populations
    .innerJoin('memos', (join) =>
      join.on('memos.id', 'in', (eb) => newestMemos(eb, time, maxMemos)),
    )
    .select(['memo_counts.user_id', `memos.${time} as time`])
    .execute()
  const pinned = await populations
    .innerJoin('memos', (join) =>
      join.on('memos.id', 'in', (eb) =>
        newestMemos(eb, 'create_time', maxMemos).where('newest.pinned', '=', 1),
      ),
    )
    .select(['memo_counts.user_id', 'memos.id', 'memos.uid', 'memos.create_time'])
    .execute()
  return { owners, counts, tags, cutTags, times, pinned }
}

/** The newest memos of a row of `memo_counts`, by id. */
function newestMemos(
  eb: ExpressionBuilder<Schema, 'memo_counts'>,
  time: DisplayTime,
  limit: number,
) {
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

/** The first tags of a row of `memo_counts`. */
function firstTags(eb: ExpressionBuilder<Schema, 'memo_counts'>, limit: number) {
  return eb
    .selectFrom('memo_tag_counts as first')
    .select('first.tag')
    .whereRef('first.user_id', '=', 'memo_counts.user_id')
    .whereRef('first.visibility', '=', 'memo_counts.visibility')
    .orderBy('first.tag')
    .limit(limit)
}
