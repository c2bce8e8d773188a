import type { Tx } from '../../platform/database/schema.ts'

/** Locks of files, which Git LFS sets, and whether they bind pushes of others. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn('lfs_locks_enforced', 'integer', (c) => c.notNull().defaultTo(1))
    .execute()
  await db.schema
    .createTable('lfs_locks')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    // The ref that the client named, for people.
    .addColumn('ref', 'text', (c) => c.notNull())
    // Unix seconds.
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addUniqueConstraint('lfs_locks_key', ['repository_id', 'path'])
    .execute()
  // For the deletion of an account.
  await db.schema.createIndex('lfs_locks_of_user').on('lfs_locks').column('user_id').execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('lfs_locks').execute()
  await db.schema.alterTable('repositories').dropColumn('lfs_locks_enforced').execute()
}
