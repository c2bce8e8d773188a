import { sql } from 'kysely'
import { claimNames, insertUser } from '../../src/forge/accounts/users/users.rows.ts'
import { putRepositorySubscription } from '../../src/forge/repositories/activity/subscriptions.rows.ts'
import { transaction } from '../../src/platform/database/database.ts'
import type { Db } from '../../src/platform/database/schema.ts'

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

/** Stores active accounts past the rules, each of which watches a repository and has an address. */
export async function storeManyWatchers(
  db: Db,
  repositoryId: number,
  count: number,
): Promise<void> {
  await transaction(db, async (tx) => {
    for (let number = 1; number <= count; number += 1) {
      const username = `watcher${number}`
      const email = `${username}@example.org`
      const { id } = await insertUser(tx, {
        user_id: null,
        username,
        email,
        email_key: email,
        display_name: '',
        avatar_url: '',
        description: '',
        password_hash: '',
        role: 'USER',
        state: 'NORMAL',
        create_time: 0,
        update_time: 0,
      })
      await claimNames(tx, id, new Set([username]))
      await putRepositorySubscription(tx, {
        repository_id: repositoryId,
        user_id: id,
        mode: 'WATCHING',
        create_time: 0,
      })
    }
  })
}
