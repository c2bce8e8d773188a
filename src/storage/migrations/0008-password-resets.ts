import { sql } from 'kysely'
import type { Tx } from '../schema/schema.ts'

/** Tokens that set a new password, and which e-mail addresses they must not be sent to. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('users')
    .addColumn('email_by_token', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createTable('password_resets')
    // One row for an account is one live token.
    .addColumn('user_id', 'integer', (c) =>
      c.primaryKey().references('users.id').onDelete('cascade'),
    )
    .addColumn('token_hash', 'text', (c) => c.unique())
    .addColumn('expire_time', 'integer', (c) => c.notNull())
    .addColumn('mail_time', 'integer')
    .execute()
  // Whoever writes one of these columns, now or in years, voids the token with it.
  await sql`
    create trigger password_reset_void after update of username, email, password_hash, state on users
    when old.username <> new.username or old.email <> new.email
      or old.password_hash <> new.password_hash or old.state <> new.state
    begin
      update password_resets set token_hash = null where user_id = new.id;
    end
  `.execute(db)
}

export async function down(db: Tx): Promise<void> {
  await sql`drop trigger password_reset_void`.execute(db)
  await db.schema.dropTable('password_resets').execute()
  await db.schema.alterTable('users').dropColumn('email_by_token').execute()
}
