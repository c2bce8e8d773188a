import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/**
 * Stacks in merge queues: the pull request below an entry, and the branch into which a merge goes, which
 * is not the base branch for those above the lowest.
 */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('merge_queue_entries')
    .addColumn('below_id', 'integer', (c) => c.references('issues.id').onDelete('set null'))
    .execute()
  await sql`create index merge_queue_entries_below
    on merge_queue_entries (below_id) where below_id is not null`.execute(db)
  await db.schema
    .alterTable('pull_merge_attempts')
    .addColumn('base_branch', 'text', (c) => c.notNull().defaultTo(''))
    .execute()
  await sql`update pull_merge_attempts set base_branch =
    (select base_branch from issues where issues.id = pull_merge_attempts.pull_request_id)`.execute(
    db,
  )
}

export async function down(db: Tx): Promise<void> {
  await db.schema.alterTable('pull_merge_attempts').dropColumn('base_branch').execute()
  await db.schema.dropIndex('merge_queue_entries_below').execute()
  await db.schema.alterTable('merge_queue_entries').dropColumn('below_id').execute()
}
