import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** What imported issues have to do with issues that a later request of the import brings. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('issue_import_waits')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('import_id', 'integer', (c) =>
      c.notNull().references('issue_imports.id').onDelete('cascade'),
    )
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('issue_id', 'integer', (c) =>
      c.notNull().references('issues.id').onDelete('cascade'),
    )
    .addColumn('comment_id', 'integer', (c) =>
      c.references('issue_comments.id').onDelete('cascade'),
    )
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('entry', 'text', (c) => c.notNull())
    .addColumn('problem', 'text', (c) => c.notNull())
    .execute()
  for (const column of ['import_id', 'issue_id', 'comment_id'])
    await sql`create index ${sql.ref(`issue_import_waits_${column}`)}
      on issue_import_waits (${sql.ref(column)})`.execute(db)
  await sql`create index issue_import_waits_number on issue_import_waits (repository_id, number)`.execute(
    db,
  )
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('issue_import_waits').execute()
}
