import type { Tx } from '../../platform/database/schema.ts'

/** One fork per owner, copies of remote repositories, and mirrors. */
export async function up(db: Tx): Promise<void> {
  // Two simultaneous requests create one fork.
  await db.schema
    .createIndex('repositories_fork_of_owner')
    .unique()
    .on('repositories')
    .columns(['owner_id', 'parent_id'])
    .where('parent_id', 'is not', null)
    .execute()
  await db.schema
    .alterTable('repositories')
    .addColumn('mirror', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .alterTable('repositories')
    .addColumn('original_url', 'text', (c) => c.notNull().defaultTo(''))
    .execute()

  await db.schema
    .createTable('mirrors')
    .addColumn('repository_id', 'integer', (c) =>
      c.primaryKey().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('credentials', 'blob')
    .addColumn('interval_seconds', 'integer', (c) => c.notNull())
    .addColumn('prune', 'integer', (c) => c.notNull())
    .addColumn('next_sync_time', 'integer')
    .addColumn('last_sync_time', 'integer')
    .addColumn('change_time', 'integer')
    .addColumn('error', 'text', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('mirrors_due')
    .on('mirrors')
    .column('next_sync_time')
    .where('next_sync_time', 'is not', null)
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('mirrors').execute()
  await db.schema.dropIndex('repositories_fork_of_owner').execute()
  for (const column of ['original_url', 'mirror']) {
    await db.schema.alterTable('repositories').dropColumn(column).execute()
  }
}
