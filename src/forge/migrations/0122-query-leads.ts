import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The columns of each index. */
const INDEXES: Readonly<Record<string, string>> = {
  issues_updated: 'issues (update_time, id)',
  issues_numbered: 'issues (number, id)',
  issues_that_are_locked: 'issues (repository_id, id) where lock_reason is not null',
  issues_that_are_due: 'issues (repository_id, id) where due_time is not null',
  issues_with_a_reason: "issues (state_reason, repository_id, id) where state_reason <> ''",
  issues_that_are_merged: "issues (repository_id, id) where state = 'MERGED'",
  issue_references_closing: "issue_references (target_id) where action = 'closes'",
  milestones_titled: 'milestones (title, id)',
  // Only a query about all repositories has this expression. With a plain column, SQLite would take the
  // labels of that name in all repositories where one repository and its owner are meant.
  labels_named: "labels ((name || ''), id)",
}

/** What leads queries of issues to the few that have a property. */
export async function up(db: Tx): Promise<void> {
  for (const [name, columns] of Object.entries(INDEXES))
    await sql`create index ${sql.ref(name)} on ${sql.raw(columns)}`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  for (const name of Object.keys(INDEXES)) await db.schema.dropIndex(name).execute()
}
