import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The former numbers of issues that other repositories have now. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('issue_transfers')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('issue_id', 'integer', (c) =>
      c.notNull().references('issues.id').onDelete('cascade'),
    )
    .addPrimaryKeyConstraint('issue_transfers_primary', ['repository_id', 'number'])
    .execute()
  await sql`create index issue_transfers_issue on issue_transfers (issue_id)`.execute(db)
}

/** Loses the former numbers. The issues stay where they are. */
export async function down(db: Tx): Promise<void> {
  await sql`delete from issue_timeline where type = 'transferred'`.execute(db)
  await db.schema.dropTable('issue_transfers').execute()
}
