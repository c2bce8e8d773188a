import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/**
 * The columns of each index. Few conversations are in an index with a condition, so that most writes do
 * not touch the index. Lists of one repository have indexes by comments, by closing, by reactions and by
 * base branch already.
 */
const INDEXES: Readonly<Record<string, string>> = {
  issues_due_in_repository: 'issues (repository_id, due_time, id) where due_time is not null',
  issues_due: 'issues (due_time, id) where due_time is not null',
  issues_closed: 'issues (close_time, id) where close_time is not null',
  issues_with_many_comments: 'issues (comment_count, id) where comment_count >= 10',
  issues_by_reactions: 'issues (reaction_count, id) where reaction_count > 0',
  pulls_by_head_name: 'issues (head_branch, repository_id, id) where is_pull = 1',
  pulls_by_base_name: 'issues (base_branch, repository_id, id) where is_pull = 1',
}

/** What leads queries of issues by numbers, times and branches to the few that have them. */
export async function up(db: Tx): Promise<void> {
  // `issues_due_in_repository` takes its place.
  await db.schema.dropIndex('issues_that_are_due').execute()
  for (const [name, columns] of Object.entries(INDEXES))
    await sql`create index ${sql.ref(name)} on ${sql.raw(columns)}`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  for (const name of Object.keys(INDEXES)) await db.schema.dropIndex(name).execute()
  await sql`create index issues_that_are_due on issues (repository_id, id)
    where due_time is not null`.execute(db)
}
