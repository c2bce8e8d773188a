import type { Tx } from '../../platform/database/schema.ts'

/** The tables whose rows may have authors without an account here, since this migration. */
const AUTHORED = ['reviews', 'review_comments', 'releases'] as const

/** The tables whose rows have the id of such an author at the other server. */
const IDENTIFIED = ['issues', 'issue_comments', ...AUTHORED] as const

/** Authors at other servers of reviews, comments on lines, and releases; ids of all such authors. */
export async function up(db: Tx): Promise<void> {
  for (const table of AUTHORED)
    for (const column of ['original_author', 'original_name'])
      await db.schema
        .alterTable(table)
        .addColumn(column, 'text', (c) => c.notNull().defaultTo(''))
        .execute()
  for (const table of IDENTIFIED)
    await db.schema
      .alterTable(table)
      .addColumn('original_author_id', 'integer', (c) => c.notNull().defaultTo(0))
      .execute()
}

/** Loses these authors. What they wrote stays. */
export async function down(db: Tx): Promise<void> {
  for (const table of IDENTIFIED)
    await db.schema.alterTable(table).dropColumn('original_author_id').execute()
  for (const table of AUTHORED)
    for (const column of ['original_author', 'original_name'])
      await db.schema.alterTable(table).dropColumn(column).execute()
}
