import type { Tx } from '../../platform/database/schema.ts'

/** Mails that wait until a mail server accepts them. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('mails')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('content', 'blob', (c) => c.notNull())
    .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('next_attempt_time', 'integer', (c) => c.notNull())
    .addColumn('expire_time', 'integer', (c) => c.notNull())
    .execute()
  // For the worker, and for the deletion of an account.
  await db.schema.createIndex('mails_due').on('mails').column('next_attempt_time').execute()
  await db.schema.createIndex('mails_of_user').on('mails').column('user_id').execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('mails').execute()
}
