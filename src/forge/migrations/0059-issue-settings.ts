import type { Tx } from '../../platform/database/schema.ts'

/** Repositories choose whose words open issues, and which branches close them. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn('close_issues_in_any_branch', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .alterTable('repositories')
    .addColumn('issue_access', 'text', (c) => c.notNull().defaultTo('everyone'))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const column of ['close_issues_in_any_branch', 'issue_access'])
    await db.schema.alterTable('repositories').dropColumn(column).execute()
}
