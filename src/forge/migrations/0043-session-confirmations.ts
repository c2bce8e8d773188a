import type { Tx } from '../../platform/database/schema.ts'

/** When the owner of a session last proved to be present, in Unix seconds. 0: not since sign-in. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('sessions')
    .addColumn('confirm_time', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('sessions').dropColumn('confirm_time').execute()
}
