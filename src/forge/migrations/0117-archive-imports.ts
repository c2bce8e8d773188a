import type { Tx } from '../../platform/database/schema.ts'

/** The server that imports an archive, since only that one has the files. */
export async function up(db: Tx): Promise<void> {
  await db.schema.alterTable('project_imports').addColumn('server_id', 'integer').execute()
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('project_imports').dropColumn('server_id').execute()
}
