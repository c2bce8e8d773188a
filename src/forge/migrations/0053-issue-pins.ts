import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The pins of issues and pull requests. */
export async function up(db: Tx): Promise<void> {
  await db.schema.alterTable('issues').addColumn('pin_order', 'integer').execute()
  await sql`create index issues_pinned on issues (repository_id, is_pull, pin_order)
    where pin_order is not null`.execute(db)
}

/** Loses the pins. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropIndex('issues_pinned').execute()
  await db.schema.alterTable('issues').dropColumn('pin_order').execute()
}
