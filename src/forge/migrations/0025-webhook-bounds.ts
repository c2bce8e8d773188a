import { sql } from 'kysely'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/**
 * The number of pending deliveries per webhook. Quotas check it at each event, so it must not be
 * counted.
 */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('user_webhooks')
    .addColumn('waiting_count', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await sql`
    update user_webhooks set waiting_count = (
      select count(*) from webhook_deliveries where webhook_id = user_webhooks.id and next_attempt_time is not null
    )
  `.execute(db)
  await createTrigger(
    db,
    `webhook_deliveries_counted after insert on webhook_deliveries when new.next_attempt_time is not null
    begin
      update user_webhooks set waiting_count = waiting_count + 1 where id = new.webhook_id;
    end`,
  )
  await createTrigger(
    db,
    `webhook_deliveries_discounted after delete on webhook_deliveries
    when old.next_attempt_time is not null
    begin
      update user_webhooks set waiting_count = waiting_count - 1 where id = old.webhook_id;
    end`,
  )
  await createTrigger(
    db,
    `webhook_deliveries_recounted after update of next_attempt_time on webhook_deliveries
    when (old.next_attempt_time is null) <> (new.next_attempt_time is null)
    begin
      update user_webhooks
      set waiting_count = waiting_count + case when new.next_attempt_time is null then -1 else 1 end
      where id = new.webhook_id;
    end`,
  )
}

export async function down(db: Tx): Promise<void> {
  for (const trigger of ['counted', 'discounted', 'recounted']) {
    await dropTrigger(db, `webhook_deliveries_${trigger}`)
  }
  await db.schema.alterTable('user_webhooks').dropColumn('waiting_count').execute()
}
