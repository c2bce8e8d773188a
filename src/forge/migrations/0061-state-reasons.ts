import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Why issues are closed, and which conversation an issue repeats. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('issues')
    .addColumn('state_reason', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
  await db.schema
    .alterTable('issues')
    .addColumn('duplicate_of_id', 'integer', (c) => c.references('issues.id').onDelete('set null'))
    .execute()
  await sql`create index issues_duplicate_of on issues (duplicate_of_id)
    where duplicate_of_id is not null`.execute(db)
  // The other conversation of an event. The event goes with that one.
  await db.schema
    .alterTable('issue_timeline')
    .addColumn('source_id', 'integer', (c) => c.references('issues.id').onDelete('cascade'))
    .execute()
  await sql`create index issue_timeline_source on issue_timeline (source_id)
    where source_id is not null`.execute(db)
}

/** Loses the reasons, and the entries of timelines about duplicates. */
export async function down(db: Tx): Promise<void> {
  await sql`delete from issue_timeline where source_id is not null`.execute(db)
  await sql`drop index issue_timeline_source`.execute(db)
  await db.schema.alterTable('issue_timeline').dropColumn('source_id').execute()
  await sql`drop index issues_duplicate_of`.execute(db)
  for (const column of ['duplicate_of_id', 'state_reason'])
    await db.schema.alterTable('issues').dropColumn(column).execute()
}
