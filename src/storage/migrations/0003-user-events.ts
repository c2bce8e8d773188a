import type { Tx } from '../schema/schema.ts'

/** What happened to the memos and notifications of each account. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('user_events')
    // AUTOINCREMENT: the id is what cursors hold, so that of a forgotten event must never come
    // back.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('resource', 'text', (c) => c.notNull())
    .addColumn('time', 'integer', (c) => c.notNull())
    .execute()
  // A watcher reads the events of one account behind a cursor, in order.
  await db.schema
    .createIndex('user_events_of_user')
    .on('user_events')
    .columns(['user_id', 'id'])
    .execute()

  // Apart from the events: where forgetting ended has to be known when nothing is left.
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
