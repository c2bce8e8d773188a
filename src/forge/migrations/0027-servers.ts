import type { Tx } from '../../platform/database/schema.ts'

/** What several servers of one database know about each other's pending updates and guesses. */
export async function up(db: Tx): Promise<void> {
  for (const [column, type] of [
    ['server_id', 'integer'],
    ['pusher_id', 'integer'],
    ['targets', 'text'],
  ] as const)
    await db.schema.alterTable('pending_ref_updates').addColumn(column, type).execute()

  await db.schema
    .createTable('failed_guesses')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('subject', 'text', (c) => c.notNull())
    .addColumn('time', 'bigint', (c) => c.notNull())
    .addColumn('expire_time', 'bigint', (c) => c.notNull())
    .addColumn('is_running', 'integer', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('failed_guesses_subject')
    .on('failed_guesses')
    .columns(['subject', 'time'])
    .execute()
  await db.schema
    .createIndex('failed_guesses_expiry')
    .on('failed_guesses')
    .column('expire_time')
    .execute()

  // One row with PostgreSQL: which data folder belongs to the database.
  await db.schema
    .createTable('data_folders')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('data_folders').execute()
  await db.schema.dropTable('failed_guesses').execute()
  for (const column of ['server_id', 'pusher_id', 'targets'])
    await db.schema.alterTable('pending_ref_updates').dropColumn(column).execute()
}
