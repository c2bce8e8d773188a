import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The columns of each index. */
const INDEXES: Readonly<Record<string, string>> = {
  reviews_that_count: `reviews (state, pull_request_id)
    where official = 1 and dismissed = 0 and state in ('APPROVED', 'REQUEST_CHANGES')`,
  commit_status_contexts_by_state: 'commit_status_contexts (state, repository_id, commit_id)',
  pulls_by_head_commit: 'issues (repository_id, head_commit) where is_pull = 1',
}

/** What leads the qualifiers `review:` and `checks:` to the pull requests with few votes and statuses. */
export async function up(db: Tx): Promise<void> {
  for (const [name, columns] of Object.entries(INDEXES))
    await sql`create index ${sql.ref(name)} on ${sql.raw(columns)}`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  for (const name of Object.keys(INDEXES)) await db.schema.dropIndex(name).execute()
}
