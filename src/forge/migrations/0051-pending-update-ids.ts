import type { Tx } from '../../platform/database/schema.ts'

const TABLES = ['branch_renames', 'pull_merge_attempts']

/** Renames the column that has the id of a pending update, which was once called a note. */
export async function up(db: Tx): Promise<void> {
  for (const table of TABLES)
    await db.schema.alterTable(table).renameColumn('note_id', 'pending_update_id').execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of TABLES)
    await db.schema.alterTable(table).renameColumn('pending_update_id', 'note_id').execute()
}
