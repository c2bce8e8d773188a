import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Imports of whole projects from other servers. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn('importing', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createTable('project_imports')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().unique().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('service', 'text', (c) => c.notNull())
    .addColumn('url', 'text', (c) => c.notNull())
    .addColumn('number_offset', 'integer', (c) => c.notNull())
    .addColumn('kinds', 'text', (c) => c.notNull())
    .addColumn('secrets', 'blob')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('phase', 'text', (c) => c.notNull())
    .addColumn('cursor', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('progress', 'text', (c) => c.notNull().defaultTo('{}'))
    .addColumn('errors', 'text', (c) => c.notNull().defaultTo('[]'))
    .addColumn('message', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('tries', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('due_time', 'integer')
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('end_time', 'integer')
    .execute()
  await sql`create index project_imports_due on project_imports (due_time, id)
    where due_time is not null`.execute(db)
  await sql`create index project_imports_user on project_imports (user_id, id)
    where user_id is not null`.execute(db)
  await db.schema
    .createTable('project_import_items')
    .addColumn('import_id', 'integer', (c) =>
      c.notNull().references('project_imports.id').onDelete('cascade'),
    )
    .addColumn('kind', 'text', (c) => c.notNull())
    .addColumn('source_id', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('project_import_items_key', ['import_id', 'kind', 'source_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
}

/** What is imported stays. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('project_import_items').execute()
  await db.schema.dropTable('project_imports').execute()
  await db.schema.alterTable('repositories').dropColumn('importing').execute()
}
