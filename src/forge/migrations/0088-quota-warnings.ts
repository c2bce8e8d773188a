import type { Tx } from '../../platform/database/schema.ts'

/** Which warning about its quotas an owner has received. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('account_usage')
    .addColumn('warned_percent', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}

/** Owners can receive a warning again. */
export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('account_usage').dropColumn('warned_percent').execute()
}
