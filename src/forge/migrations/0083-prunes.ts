import type { Tx } from '../../platform/database/schema.ts'

/** Updates of refs know when a prune may have removed objects that they need. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repository_maintenance')
    .addColumn('removal_until', 'integer')
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('repository_maintenance').dropColumn('removal_until').execute()
}
