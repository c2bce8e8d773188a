import type { Tx } from '../../platform/database/schema.ts'

/** The files that an import of issues brings, and what could not be imported. */
export async function up(db: Tx): Promise<void> {
  for (const column of ['files', 'files_done'])
    await db.schema
      .alterTable('issue_imports')
      .addColumn(column, 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
  await db.schema
    .alterTable('issue_imports')
    .addColumn('problems', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const column of ['files', 'files_done', 'problems'])
    await db.schema.alterTable('issue_imports').dropColumn(column).execute()
}
