import type { Tx } from '../../platform/database/schema.ts'

/** The files of pull requests that users have viewed. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('viewed_files')
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('issues.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    // SHA-256 of the path in hexadecimal. The path itself can be longer than a key of PostgreSQL.
    .addColumn('path_hash', 'text', (c) => c.notNull())
    .addColumn('path', 'text', (c) => c.notNull())
    // Mode and blob that the user has seen; empty for a deleted file.
    .addColumn('version', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('viewed_files_key', ['pull_request_id', 'user_id', 'path_hash'])
    .execute()
  // For the deletion of an account.
  await db.schema.createIndex('viewed_files_of_user').on('viewed_files').column('user_id').execute()
}

/** Loses the marks. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('viewed_files').execute()
}
