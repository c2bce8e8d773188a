import type { Tx } from '../../platform/database/schema.ts'

/** Accounts with private email addresses, and indexes for the deletion of accounts. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('users')
    .addColumn('keep_email_private', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema.createIndex('releases_publisher').on('releases').column('publisher_id').execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropIndex('releases_publisher').execute()
  await db.schema.alterTable('users').dropColumn('keep_email_private').execute()
}
