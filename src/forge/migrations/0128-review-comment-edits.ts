import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The former texts of comments of reviews. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('review_comment_edits')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('comment_id', 'integer', (c) =>
      c.notNull().references('review_comments.id').onDelete('cascade'),
    )
    .addColumn('editor_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('body', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  await sql`create index review_comment_edits_comment on review_comment_edits (comment_id, id)`.execute(
    db,
  )
  await sql`create index review_comment_edits_editor on review_comment_edits (editor_id)
    where editor_id is not null`.execute(db)
}

/** Loses the former texts. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('review_comment_edits').execute()
}
