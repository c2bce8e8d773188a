import type { Tx } from '../../platform/database/schema.ts'

/** Whether a merge rebases the pull requests that are stacked on the merged one. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn('rebase_stacks', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('repositories').dropColumn('rebase_stacks').execute()
}
