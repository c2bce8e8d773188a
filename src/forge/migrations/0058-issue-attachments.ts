import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The attachments of issues, pull requests and comments. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('issue_attachments')
    // AUTOINCREMENT never reuses an id. Clients store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('issue_id', 'integer', (c) => c.references('issues.id').onDelete('cascade'))
    .addColumn('comment_id', 'integer', (c) =>
      c.references('issue_comments.id').onDelete('cascade'),
    )
    .addColumn('uploader_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('uuid', 'text', (c) => c.notNull().unique())
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('bytes', 'integer', (c) => c.notNull())
    .addColumn('download_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
  await index(db, 'repository', 'repository_id')
  await index(db, 'issue', 'issue_id')
  await index(db, 'uploader', 'uploader_id')
  await sql`create index issue_attachments_of_comment on issue_attachments (comment_id)
    where comment_id is not null`.execute(db)
  await sql`create index issue_attachments_unlinked on issue_attachments (create_time)
    where issue_id is null`.execute(db)
}

function index(db: Tx, of: string, column: string): Promise<void> {
  return db.schema
    .createIndex(`issue_attachments_of_${of}`)
    .on('issue_attachments')
    .column(column)
    .execute()
}

/** Loses the attachments. `doctor` removes their files. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('issue_attachments').execute()
}
