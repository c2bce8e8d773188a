import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The former texts of comments. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('issue_comment_edits')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('comment_id', 'integer', (c) =>
      c.notNull().references('issue_comments.id').onDelete('cascade'),
    )
    .addColumn('editor_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('body', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  await sql`create index issue_comment_edits_comment on issue_comment_edits (comment_id, id)`.execute(
    db,
  )
  await sql`create index issue_comment_edits_editor on issue_comment_edits (editor_id)
    where editor_id is not null`.execute(db)
}

/** Loses the former texts. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('issue_comment_edits').execute()
}
