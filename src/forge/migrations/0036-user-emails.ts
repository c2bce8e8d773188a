import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Additional e-mail addresses of users, and two more fields of profiles. */
export async function up(db: Tx): Promise<void> {
  for (const column of ['website', 'location'])
    await db.schema
      .alterTable('users')
      .addColumn(column, 'text', (c) => c.notNull().defaultTo(''))
      .execute()

  await db.schema
    .createTable('user_emails')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('email', 'text', (c) => c.notNull())
    .addColumn('email_key', 'text', (c) => c.notNull())
    .addColumn('verify_time', 'integer')
    .addColumn('token_hash', 'text')
    .addColumn('token_expire_time', 'integer', (c) => c.notNull())
    .addUniqueConstraint('user_emails_key', ['user_id', 'email_key'])
    .execute()
  // A verified address belongs to one account, which is found by it.
  await sql`create unique index user_emails_verified on user_emails (email_key)
    where verify_time is not null`.execute(db)

  await db.schema
    .createTable('user_email_mails')
    .addColumn('user_id', 'integer', (c) =>
      c.primaryKey().references('users.id').onDelete('cascade'),
    )
    .addColumn('start_time', 'integer', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['user_email_mails', 'user_emails'])
    await db.schema.dropTable(table).execute()
  for (const column of ['website', 'location'])
    await db.schema.alterTable('users').dropColumn(column).execute()
}
