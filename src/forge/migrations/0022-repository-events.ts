import type { Tx } from '../../platform/database/schema.ts'

/** The events of repositories. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('repository_events')
    // AUTOINCREMENT never reuses an id. Cursors contain the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('audience', 'text', (c) => c.notNull())
    // No foreign key: ids of accounts are never reused, and the deletion of an account need not
    // find its events.
    .addColumn('actor_id', 'integer')
    .addColumn('subject_id', 'integer')
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('time', 'integer', (c) => c.notNull())
    .execute()
  // For the events of one repository after a cursor, in order.
  await db.schema
    .createIndex('repository_events_of_repository')
    .on('repository_events')
    .columns(['repository_id', 'id'])
    .execute()

  // A separate table, because the end of the pruned events must be known when no event is left.
  await db.schema
    .createTable('repository_event_logs')
    .addColumn('repository_id', 'integer', (c) =>
      c.primaryKey().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('newest', 'integer', (c) => c.notNull())
    .addColumn('floor', 'integer', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['repository_event_logs', 'repository_events'])
    await db.schema.dropTable(table).execute()
}
