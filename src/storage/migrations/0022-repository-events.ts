import type { Tx } from '../schema/schema.ts'

/** What happened to each repository. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('repository_events')
    // AUTOINCREMENT: the id is what cursors hold, so that of a forgotten event must never come
    // back.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('type', 'text', (c) => c.notNull())
    .addColumn('audience', 'text', (c) => c.notNull())
    // No reference: numbers of accounts are never given twice, and whoever deletes one need not
    // look for its events.
    .addColumn('actor_id', 'integer')
    .addColumn('subject_id', 'integer')
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('time', 'integer', (c) => c.notNull())
    .execute()
  // A watcher reads the events of one repository behind a cursor, in order.
  await db.schema
    .createIndex('repository_events_of_repository')
    .on('repository_events')
    .columns(['repository_id', 'id'])
    .execute()

  // Apart from the events: where forgetting ended has to be known when nothing is left.
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
