import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Git hooks of repositories. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('git_hooks')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('content', 'text', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('git_hooks_key', ['repository_id', 'name'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('git_hooks').execute()
}
