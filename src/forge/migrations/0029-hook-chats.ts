import type { Tx } from '../../platform/database/schema.ts'

/** Settings of webhooks that send messages to a chat. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('user_webhooks')
    .addColumn('chat', 'text', (c) => c.notNull().defaultTo('{}'))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('user_webhooks').dropColumn('chat').execute()
}
