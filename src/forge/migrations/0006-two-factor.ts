import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Second factors of accounts. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('two_factors')
    .addColumn('user_id', 'integer', (c) =>
      c.primaryKey().references('users.id').onDelete('cascade'),
    )
    .addColumn('secret', 'blob', (c) => c.notNull())
    .addColumn('last_used_step', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('confirm_time', 'integer')
    .addColumn('last_used_time', 'integer')
    .execute()

  await db.schema
    .createTable('recovery_codes')
    .addColumn('user_id', 'integer', (c) =>
      c.notNull().references('two_factors.user_id').onDelete('cascade'),
    )
    .addColumn('lookup', 'text', (c) => c.notNull())
    .addColumn('code_hash', 'text', (c) => c.notNull())
    .addPrimaryKeyConstraint('recovery_codes_key', ['user_id', 'lookup'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['recovery_codes', 'two_factors']) {
    await db.schema.dropTable(table).execute()
  }
}
