import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Password reset tokens, and the email addresses that must not receive any. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('users')
    .addColumn('email_by_token', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createTable('password_resets')
    // One row per account, so an account has one valid token at most.
    .addColumn('user_id', 'integer', (c) =>
      c.primaryKey().references('users.id').onDelete('cascade'),
    )
    .addColumn('token_hash', 'text', (c) => c.unique())
    .addColumn('expire_time', 'integer', (c) => c.notNull())
    .addColumn('mail_time', 'integer')
    .execute()
  // A change of any of these columns invalidates the token.
  await createTrigger(
    db,
    `password_reset_void after update of username, email, password_hash, state on users
    when old.username <> new.username or old.email <> new.email
      or old.password_hash <> new.password_hash or old.state <> new.state
    begin
      update password_resets set token_hash = null where user_id = new.id;
    end`,
  )
}

export async function down(db: Tx): Promise<void> {
  await dropTrigger(db, 'password_reset_void')
  await db.schema.dropTable('password_resets').execute()
  await db.schema.alterTable('users').dropColumn('email_by_token').execute()
}
