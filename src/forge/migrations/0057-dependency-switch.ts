import type { Tx } from '../../platform/database/schema.ts'

/** Repositories may switch the dependencies of their issues and pull requests off. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn('has_dependencies', 'integer', (c) => c.notNull().defaultTo(1))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('repositories').dropColumn('has_dependencies').execute()
}
