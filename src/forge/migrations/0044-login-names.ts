import type { Tx } from '../../platform/database/schema.ts'

/** What administration clients store about the source of sign-in of an account. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('users')
    .addColumn('login_name', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
  await db.schema
    .alterTable('users')
    .addColumn('source_id', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('users').dropColumn('login_name').execute()
  await db.schema.alterTable('users').dropColumn('source_id').execute()
}
