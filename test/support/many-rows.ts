import { sql } from 'kysely'
import type { Db } from '../../src/storage/schema/schema.ts'

/**
 * The rows of one statement. Triggers count them, and PostgreSQL keeps each version of a counter until
 * the end of its transaction, which makes large ones slow.
 */
const ROWS_AT_ONCE = 2_000

/** Runs a statement for parts of the numbers from 1 to `count`. */
async function inParts(
  count: number,
  run: (first: number, last: number) => Promise<unknown>,
): Promise<void> {
  for (let first = 1; first <= count; first += ROWS_AT_ONCE)
    await run(first, Math.min(first + ROWS_AT_ONCE - 1, count))
}

/** A table expression of the numbers from `first` to `last`. */
const numbersBetween = (first: number, last: number) => sql`with recursive numbers(i) as
  (select cast(${first} as bigint) union all select i + 1 from numbers where i < ${last})`

/**
 * Stores public memos past the rules, a second apart, each with three tags of its creator's
 * hundred: `tag0` to `tag99`.
 */
export async function storeManyMemos(
  db: Db,
  creatorId: number,
  count: number,
  content: string,
): Promise<void> {
  await inParts(count, async (first, last) => {
    await sql`${numbersBetween(first, last)}
    insert into memos (uid, creator_id, state, visibility, pinned, has_link, has_code, has_task_list,
      has_incomplete_tasks, create_time, update_time, title, snippet, content)
    select 'many-' || i, ${creatorId}, 'NORMAL', 'PUBLIC', 0, 0, 0, 0, 0, i, i, '', '', ${content} from numbers`.execute(
      db,
    )
    await sql`${numbersBetween(first, last)}, places(position) as (values (0), (1), (2))
    insert into memo_tags (memo_id, tag, position)
    select id, 'tag' || ((id + position) % 100), position from memos, numbers, places where uid = 'many-' || i`.execute(
      db,
    )
  })
}

/** Stores notifications past the rules, a second apart, of one sender. */
export async function storeManyNotifications(
  db: Db,
  receiverId: number,
  senderId: number,
  count: number,
): Promise<void> {
  await inParts(count, (first, last) =>
    sql`${numbersBetween(first, last)}
    insert into notifications (receiver_id, sender_id, type, status, create_time)
    select ${receiverId}, ${senderId}, 'MEMO_MENTION', 'UNREAD', i from numbers`.execute(db),
  )
}
