import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../platform/database/schema.ts'

/** A number that triggers keep, and a query for the numbers of the rows that it counts. */
interface Counter {
  readonly table: string
  readonly column: string
  /** The column by which a row of the table is found. */
  readonly key: string
  /** Whether the number is the sum of several rows, of which the shard 0 is one. */
  readonly isSum?: boolean
  /** Has the columns `key` and `actual`. */
  readonly counted: RawBuilder<unknown>
}

/** A counter with a wrong number. */
interface WrongCounter {
  readonly table: string
  readonly column: string
  readonly key: string
  readonly stored: number
  readonly actual: number
  /** Corrects the number. */
  repair(): Promise<void>
}

const count = (table: string, key: string, condition: RawBuilder<unknown>) =>
  sql`select ${sql.ref(key)} as key, count(*) as actual from ${sql.table(table)}
    where ${condition} group by ${sql.ref(key)}`

const ofRepository = (column: string, table: string, condition = sql`1 = 1`): Counter => ({
  table: 'repositories',
  column,
  key: 'id',
  counted: count(table, 'repository_id', condition),
})

const ofUser = (column: string, table: string, key: string): Counter => ({
  table: 'users',
  column,
  key: 'id',
  counted: count(table, key, sql`1 = 1`),
})

const ofMilestone = (column: string, condition: RawBuilder<unknown>): Counter => ({
  table: 'milestones',
  column,
  key: 'id',
  counted: count('issues', 'milestone_id', condition),
})

const ofOwner = (column: string, sum: RawBuilder<unknown>): Counter => ({
  table: 'account_usage',
  column,
  key: 'owner_id',
  counted: sql`select owner_id as key, cast(sum(${sum}) as bigint) as actual
    from repositories group by owner_id`,
})

/** The counters whose numbers lists, quotas and pages rely on. */
const COUNTERS: readonly Counter[] = [
  ofRepository('branch_count', 'branches'),
  ofRepository('pulls_count', 'issues', sql`is_pull = 1`),
  ofRepository('open_pulls_count', 'issues', sql`is_pull = 1 and state = 'OPEN'`),
  ofRepository('issues_count', 'issues', sql`is_pull = 0`),
  ofRepository('open_issues_count', 'issues', sql`is_pull = 0 and state = 'OPEN'`),
  ofRepository('comments_count', 'issue_comments'),
  ofRepository('stars_count', 'stars'),
  ofUser('stars_count', 'stars', 'user_id'),
  ofUser('followers_count', 'follows', 'followed_id'),
  ofUser('following_count', 'follows', 'follower_id'),
  ofRepository('releases_count', 'releases', sql`draft = 0 and tag_only = 0`),
  {
    table: 'repositories',
    column: 'lfs_bytes',
    key: 'id',
    counted: sql`select repository_id as key, sum(bytes) as actual from lfs_objects
      group by repository_id`,
  },
  ofRepository('watchers_count', 'repository_subscriptions', sql`mode = 'WATCHING'`),
  {
    table: 'repositories',
    column: 'forks_count',
    key: 'id',
    counted: count('repositories', 'parent_id', sql`parent_id is not null`),
  },
  ofMilestone('open_issues', sql`milestone_id is not null and state = 'OPEN'`),
  ofMilestone('closed_issues', sql`milestone_id is not null and state <> 'OPEN'`),
  {
    table: 'issues',
    column: 'comment_count',
    key: 'id',
    counted: count('issue_comments', 'issue_id', sql`1 = 1`),
  },
  {
    table: 'issues',
    column: 'reaction_count',
    key: 'id',
    counted: count('issue_reactions', 'issue_id', sql`comment_id is null`),
  },
  {
    table: 'reviews',
    column: 'comments_count',
    key: 'id',
    counted: count('review_comments', 'review_id', sql`1 = 1`),
  },
  {
    table: 'topics',
    column: 'public_count',
    key: 'id',
    counted: count('repository_topics', 'topic_id', sql`is_public = 1`),
  },
  {
    table: 'user_webhooks',
    column: 'waiting_count',
    key: 'id',
    counted: count('webhook_deliveries', 'webhook_id', sql`next_attempt_time is not null`),
  },
  {
    table: 'repositories',
    column: 'release_bytes',
    key: 'id',
    counted: sql`select repository_id as key, cast(sum(bytes) as bigint) as actual
      from release_assets group by repository_id`,
  },
  {
    table: 'repositories',
    column: 'attachment_bytes',
    key: 'id',
    counted: sql`select repository_id as key, cast(sum(bytes) as bigint) as actual
      from issue_attachments group by repository_id`,
  },
  // After the repositories, since their repair changes these numbers, too.
  ofOwner('git_bytes', sql`owned_bytes`),
  ofOwner('private_git_bytes', sql`owned_bytes * private`),
  ofOwner('lfs_bytes', sql`lfs_bytes`),
  ofOwner('asset_bytes', sql`release_bytes + attachment_bytes`),
  ofOwner('attachment_bytes', sql`attachment_bytes`),
  {
    table: 'user_counts',
    column: 'count',
    key: 'state',
    isSum: true,
    counted: count('users', 'state', sql`1 = 1`),
  },
  {
    table: 'repository_counts',
    column: 'count',
    key: 'private',
    isSum: true,
    counted: count('repositories', 'private', sql`1 = 1`),
  },
]

/** The maximum number of wrong counters of a kind that are reported at a time. */
const MAX_WRONG = 100

/** Compares counters with the rows that they count. */
export async function* wrongCounters(db: Db): AsyncGenerator<WrongCounter> {
  for (const { table, column, key, isSum, counted } of COUNTERS) {
    const [counter, id] = [sql.ref(`counters.${column}`), sql.ref(`counters.${key}`)]
    const counters = isSum
      ? sql`(select ${sql.ref(key)}, cast(sum(${sql.ref(column)}) as bigint) as ${sql.ref(column)}
          from ${sql.table(table)} group by ${sql.ref(key)})`
      : sql.table(table)
    const { rows } = await sql<{ key: string; stored: number; actual: number }>`
      select cast(${id} as text) as key, ${counter} as stored, coalesce(counted.actual, 0) as actual
      from ${counters} as counters left join (${counted}) as counted on counted.key = ${id}
      where ${counter} <> coalesce(counted.actual, 0) limit ${MAX_WRONG}`.execute(db)
    for (const row of rows)
      yield {
        table,
        column,
        ...row,
        async repair() {
          const right = isSum
            ? sql`${sql.ref(column)} + ${row.actual - row.stored}`
            : sql`${row.actual}`
          await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${right}
            where cast(${sql.ref(key)} as text) = ${row.key}
            ${isSum ? sql`and shard = 0` : sql``}`.execute(db)
        },
      }
  }
}
