import { sql } from 'kysely'
import { createTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Webhooks of accounts, and the queue of their deliveries. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('user_webhooks')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('uid', 'text', (c) => c.notNull().unique())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('display_name', 'text', (c) => c.notNull())
    .addColumn('signing_secret', 'blob', (c) => c.notNull())
    .addColumn('previous_signing_secret', 'blob')
    .addColumn('previous_secret_expire_time', 'integer')
    .addColumn('disabled', 'integer', (c) =>
      c.notNull().defaultTo(0).check(sql`disabled in (0, 1)`),
    )
    .addColumn('next_attempt_time', 'integer')
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .execute()
  await sql`create index user_webhooks_of_user on user_webhooks (user_id, id)`.execute(db)
  await sql`
    create index user_webhooks_by_due_time on user_webhooks (next_attempt_time) where next_attempt_time is not null
  `.execute(db)

  await db.schema
    .createTable('webhook_messages')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('event_type', 'text', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()

  await db.schema
    .createTable('webhook_deliveries')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('uid', 'text', (c) => c.notNull().unique())
    .addColumn('webhook_id', 'integer', (c) =>
      c.notNull().references('user_webhooks.id').onDelete('cascade'),
    )
    .addColumn('message_id', 'integer', (c) => c.notNull().references('webhook_messages.id'))
    .addColumn('state', 'text', (c) =>
      c.notNull().check(sql`state in ('PENDING', 'DELIVERED', 'FAILED')`),
    )
    .addColumn('attempt_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('response_status', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('error', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('last_attempt_time', 'integer')
    .addColumn('next_attempt_time', 'integer')
    .addCheckConstraint(
      'pending_is_due',
      sql`(state = 'PENDING') = (next_attempt_time is not null)`,
    )
    .execute()
  // For pages of a webhook's deliveries, newest first; the number of finished ones; and pending
  // ones by due time.
  await sql`create index webhook_deliveries_of_webhook on webhook_deliveries (webhook_id, id)`.execute(
    db,
  )
  await sql`
    create index webhook_deliveries_finished on webhook_deliveries (webhook_id, id) where next_attempt_time is null
  `.execute(db)
  await sql`
    create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, next_attempt_time)
    where next_attempt_time is not null
  `.execute(db)
  await sql`create index webhook_deliveries_of_message on webhook_deliveries (message_id)`.execute(
    db,
  )
  // Several deliveries can share a message. Any deletion of its last delivery deletes the message.
  await createTrigger(
    db,
    `webhook_messages_unused after delete on webhook_deliveries
    when not exists (select 1 from webhook_deliveries where message_id = old.message_id)
    begin
      delete from webhook_messages where id = old.message_id;
    end`,
  )
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['webhook_deliveries', 'webhook_messages', 'user_webhooks']) {
    await db.schema.dropTable(table).execute()
  }
}
