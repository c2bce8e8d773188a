import type { Tx } from '../../platform/database/schema.ts'

/** The metrics tell the bytes of loose objects from those of packs. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn('loose_bytes', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('repositories').dropColumn('loose_bytes').execute()
}
