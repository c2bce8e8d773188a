import type { Tx } from '../../platform/database/schema.ts'

/** The issues that an import has stored, whose references follow at its end. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('issue_imports')
    .addColumn('issue_ids', 'text', (c) => c.notNull().defaultTo('[]'))
    .execute()
  await db.schema
    .alterTable('issue_imports')
    .addColumn('referring', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const column of ['issue_ids', 'referring'])
    await db.schema.alterTable('issue_imports').dropColumn(column).execute()
}
