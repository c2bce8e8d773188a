import type { Tx } from '../../platform/database/schema.ts'

/** Saved views of issues, of a repository or of an account. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('issue_views')
    // AUTOINCREMENT never reuses an id. Clients store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.references('repositories.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.references('users.id').onDelete('cascade'))
    .addColumn('creator_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('name', 'text', (c) => c.notNull())
    .addColumn('query', 'text', (c) => c.notNull())
    .addColumn('position', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .execute()
  for (const column of ['repository_id', 'user_id'])
    await db.schema
      .createIndex(`issue_views_${column}`)
      .on('issue_views')
      .columns([column, 'position'])
      .execute()
  // For the deletion of a user.
  await db.schema
    .createIndex('issue_views_creator_id')
    .on('issue_views')
    .column('creator_id')
    .execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('issue_views').execute()
}
