import type { Tx } from '../../platform/database/schema.ts'

/** Whether mirrors bring objects of Git LFS along, and from where. */
export async function up(db: Tx): Promise<void> {
  const mirrors = () => db.schema.alterTable('mirrors')
  // 0 or 1.
  await mirrors()
    .addColumn('lfs', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // Encrypted; null for the address of the repository.
  await mirrors().addColumn('lfs_endpoint', 'blob').execute()
}

export async function down(db: Tx): Promise<void> {
  for (const column of ['lfs_endpoint', 'lfs'])
    await db.schema.alterTable('mirrors').dropColumn(column).execute()
}
