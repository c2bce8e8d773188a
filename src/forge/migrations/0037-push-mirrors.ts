import type { Tx } from '../../platform/database/schema.ts'

/** Repositories on other servers that follow a repository here. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('push_mirrors')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('remote_name', 'text', (c) => c.notNull())
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('credentials', 'blob')
    .addColumn('interval_seconds', 'integer', (c) => c.notNull())
    .addColumn('sync_on_commit', 'integer', (c) => c.notNull())
    .addColumn('next_sync_time', 'integer')
    .addColumn('last_sync_time', 'integer')
    .addColumn('error', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  // For the list of a repository, for requests after a change, and for the lookup by name.
  await db.schema
    .createIndex('push_mirrors_of_repository')
    .on('push_mirrors')
    .columns(['repository_id', 'remote_name'])
    .unique()
    .execute()
  // For the worker.
  await db.schema
    .createIndex('push_mirrors_due')
    .on('push_mirrors')
    .column('next_sync_time')
    .where('next_sync_time', 'is not', null)
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('push_mirrors').execute()
}
