import type { Tx } from '../../platform/database/schema.ts'

/** Uploads in parts to the object storage, which are aborted when their server has ended. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('multipart_uploads')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    // 0 for a server that is alone, null for a command.
    .addColumn('server_id', 'integer')
    .addColumn('object_key', 'text', (c) => c.notNull())
    .addColumn('upload_id', 'text', (c) => c.notNull())
    // Unix seconds.
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .execute()
}

/** The object storage keeps the parts until they are aborted there. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('multipart_uploads').execute()
}
