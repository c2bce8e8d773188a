import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Notifications of accounts about memos. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('notifications')
    // AUTOINCREMENT never reuses an id. Clients store the number.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('receiver_id', 'integer', (c) =>
      c.notNull().references('users.id').onDelete('cascade'),
    )
    .addColumn('sender_id', 'integer', (c) =>
      c.notNull().references('users.id').onDelete('cascade'),
    )
    .addColumn('type', 'text', (c) =>
      c.notNull().check(sql`type in ('MEMO_COMMENT', 'MEMO_MENTION')`),
    )
    .addColumn('status', 'text', (c) => c.notNull().check(sql`status in ('UNREAD', 'ARCHIVED')`))
    .addColumn('memo_id', 'integer', (c) => c.references('memos.id').onDelete('set null'))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  // For pages of all notifications or of one status, newest first, with the id as tie-breaker.
  await sql`create index notifications_by_time on notifications (receiver_id, create_time, id)`.execute(
    db,
  )
  await sql`create index notifications_by_status_and_time
    on notifications (receiver_id, status, create_time, id)`.execute(db)
  await sql`create index notifications_of_sender on notifications (sender_id)`.execute(db)
  await sql`create index notifications_of_memo on notifications (memo_id)`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('notifications').execute()
}
