import { sql } from 'kysely'
import type { Db } from '../../src/storage/schema/schema.ts'

/** A table expression of the numbers from 1 to `count`. */
const numbersTo = (count: number) =>
  sql`with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${count})`

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
  await sql`${numbersTo(count)}
    insert into memos (uid, creator_id, state, visibility, pinned, has_link, has_code, has_task_list,
      has_incomplete_tasks, create_time, update_time, title, snippet, content)
    select 'many-' || i, ${creatorId}, 'NORMAL', 'PUBLIC', 0, 0, 0, 0, 0, i, i, '', '', ${content} from numbers`.execute(
    db,
  )
  await sql`with places(position) as (values (0), (1), (2))
    insert into memo_tags (memo_id, tag, position)
    select id, 'tag' || ((id + position) % 100), position from memos, places where creator_id = ${creatorId}`.execute(
    db,
  )
}

/** Stores notifications past the rules, a second apart, of one sender. */
export async function storeManyNotifications(
  db: Db,
  receiverId: number,
  senderId: number,
  count: number,
): Promise<void> {
  await sql`${numbersTo(count)}
    insert into notifications (receiver_id, sender_id, type, status, create_time)
    select ${receiverId}, ${senderId}, 'MEMO_MENTION', 'UNREAD', i from numbers`.execute(db)
}
