import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Issues that are parts of others. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('sub_issues')
    .addColumn('issue_id', 'integer', (c) =>
      c.primaryKey().references('issues.id').onDelete('cascade'),
    )
    .addColumn('parent_id', 'integer', (c) =>
      c.notNull().references('issues.id').onDelete('cascade'),
    )
    .addColumn('position', 'integer', (c) => c.notNull())
    .execute()
  await sql`create index sub_issues_parent on sub_issues (parent_id, position)`.execute(db)
}

/** Loses the relations, and the entries of timelines about them. */
export async function down(db: Tx): Promise<void> {
  await sql`delete from issue_timeline where type in
    ('sub_issue_added', 'sub_issue_removed', 'parent_added', 'parent_removed')`.execute(db)
  await db.schema.dropTable('sub_issues').execute()
}
