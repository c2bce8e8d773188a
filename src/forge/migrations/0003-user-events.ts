import type { Tx } from '../../platform/database/schema.ts'

/** The events of accounts about their memos and notifications. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('user_events')
    // AUTOINCREMENT never reuses an id. Cursors contain the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('resource', 'text', (c) => c.notNull())
    .addColumn('time', 'integer', (c) => c.notNull())
    .execute()
  // For the events of one account after a cursor, in order.
  await db.schema
    .createIndex('user_events_of_user')
    .on('user_events')
    .columns(['user_id', 'id'])
    .execute()

  // A separate table, because the end of the pruned events must be known when no event is left.
  await db.schema
    .createTable('user_event_logs')
    .addColumn('user_id', 'integer', (c) =>
      c.primaryKey().references('users.id').onDelete('cascade'),
    )
    .addColumn('newest', 'integer', (c) => c.notNull())
    .addColumn('floor', 'integer', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['user_event_logs', 'user_events']) await db.schema.dropTable(table).execute()
}
