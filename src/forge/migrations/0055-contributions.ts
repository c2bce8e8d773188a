import type { Tx } from '../../platform/database/schema.ts'

/** What accounts have written of late, for the limits of rates. Rows are kept for an hour. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('contributions')
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('contributions_of_user')
    .on('contributions')
    .columns(['user_id', 'kind', 'create_time'])
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('contributions').execute()
}
