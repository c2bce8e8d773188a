import type { Tx } from '../../platform/database/schema.ts'

const PATTERNS = ['commit_message_pattern', 'commit_author_email_pattern', 'branch_name_pattern']

/** Rules of branch protections for new commits and names of branches. */
export async function up(db: Tx): Promise<void> {
  for (const name of PATTERNS)
    await db.schema
      .alterTable('branch_protections')
      .addColumn(name, 'text', (c) => c.notNull().defaultTo(''))
      .execute()
  await db.schema
    .alterTable('branch_protections')
    .addColumn('max_file_bytes', 'bigint', (c) => c.notNull().defaultTo(0))
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const name of [...PATTERNS, 'max_file_bytes'])
    await db.schema.alterTable('branch_protections').dropColumn(name).execute()
}
