import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Locks, reactions and the history of the conversations of pull requests. */
export async function up(db: Tx): Promise<void> {
  await db.schema.alterTable('pull_requests').addColumn('lock_reason', 'text').execute()

  await db.schema
    .createTable('pull_reactions')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('comment_id', 'integer', (c) => c.references('pull_comments.id').onDelete('cascade'))
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('content', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  // One of a kind for each user, and the reactions to one text.
  await sql`create unique index pull_reactions_once
    on pull_reactions (pull_request_id, (coalesce(comment_id, 0)), content, user_id)`.execute(db)
  // For the deletion of a comment and of an account.
  await sql`create index pull_reactions_of_comment on pull_reactions (comment_id)
    where comment_id is not null`.execute(db)
  await sql`create index pull_reactions_of_user on pull_reactions (user_id)`.execute(db)

  await db.schema
    .createTable('pull_timeline')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('actor_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('old_value', 'text', (c) => c.notNull())
    .addColumn('new_value', 'text', (c) => c.notNull())
    .execute()
  await sql`create index pull_timeline_of_pull
    on pull_timeline (pull_request_id, create_time, id)`.execute(db)
  await sql`create index pull_timeline_of_actor on pull_timeline (actor_id)
    where actor_id is not null`.execute(db)
  // What the rows know of the past.
  await sql`insert into pull_timeline (pull_request_id, type, actor_id, create_time, old_value, new_value)
    select id, case state when 'MERGED' then 'merge_pull' else 'close' end, merger_id,
      coalesce(close_time, update_time), '', case state when 'MERGED' then coalesce(merge_commit, '') else '' end
    from pull_requests where state <> 'OPEN' order by id`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['pull_timeline', 'pull_reactions'])
    await db.schema.dropTable(table).execute()
  await db.schema.alterTable('pull_requests').dropColumn('lock_reason').execute()
}
