import type { Tx } from '../../platform/database/schema.ts'

/** When the objects of Git LFS of a repository were last compared with its refs. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('lfs_sweeps')
    .addColumn('repository_id', 'integer', (c) =>
      c.primaryKey().references('repositories.id').onDelete('cascade'),
    )
    // Unix seconds.
    .addColumn('sweep_time', 'integer', (c) => c.notNull())
    .execute()
}

/** The objects are compared again after the next start of the later version. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('lfs_sweeps').execute()
}
