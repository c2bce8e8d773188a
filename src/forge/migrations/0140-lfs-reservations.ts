import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** The bytes of uploads that batches of Git LFS have allowed, so that no later batch takes the same ones. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('lfs_reservations')
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('oid', 'text', (c) => c.notNull())
    .addColumn('bytes', 'integer', (c) => c.notNull())
    // Unix seconds.
    .addColumn('expire_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('lfs_reservations_key', ['repository_id', 'oid'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('lfs_reservations_expired')
    .on('lfs_reservations')
    .column('expire_time')
    .execute()
}

/** Forgets all reservations. Each upload checks the quota again. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('lfs_reservations').execute()
}
