import type { Tx } from '../../platform/database/schema.ts'

const TABLES = ['public_keys', 'deploy_keys'] as const

/** SSH keys know when they were used last. */
export async function up(db: Tx): Promise<void> {
  for (const table of TABLES)
    await db.schema.alterTable(table).addColumn('last_used_time', 'integer').execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of TABLES)
    await db.schema.alterTable(table).dropColumn('last_used_time').execute()
}
