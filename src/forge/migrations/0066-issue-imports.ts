import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The tables whose rows may have authors without an account here. */
const AUTHORED = ['issues', 'issue_comments', 'issue_timeline'] as const

/** The columns of such an author: login and full name. */
const AUTHOR = ['original_author', 'original_name'] as const

/** Imports of issues, and the authors of what they bring. */
export async function up(db: Tx): Promise<void> {
  for (const table of AUTHORED)
    for (const column of AUTHOR)
      await db.schema
        .alterTable(table)
        .addColumn(column, 'text', (c) => c.notNull().defaultTo(''))
        .execute()
  await db.schema
    .createTable('issue_imports')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('request_id', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('total', 'integer', (c) => c.notNull())
    .addColumn('done', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  await sql`create index issue_imports_repository on issue_imports
    (repository_id, create_time)`.execute(db)
  await sql`create index issue_imports_user on issue_imports (user_id)
    where user_id is not null`.execute(db)
}

/** Loses the authors without an account here. What they wrote stays. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('issue_imports').execute()
  for (const table of AUTHORED)
    for (const column of AUTHOR) await db.schema.alterTable(table).dropColumn(column).execute()
}
