import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Preferences of accounts. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('user_settings')
    .addColumn('user_id', 'integer', (c) =>
      c.primaryKey().references('users.id').onDelete('cascade'),
    )
    .addColumn('locale', 'text', (c) => c.notNull())
    .addColumn('memo_visibility', 'text', (c) =>
      c.notNull().check(sql`memo_visibility in ('PRIVATE', 'PROTECTED', 'PUBLIC')`),
    )
    .addColumn('theme', 'text', (c) => c.notNull())
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('user_settings').execute()
}
