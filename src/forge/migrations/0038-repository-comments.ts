import { sql } from 'kysely'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

const TRIGGERS: Readonly<Record<string, string>> = {
  repository_comment_counted: `after insert on pull_comments begin
    update repositories set pull_comments_count = pull_comments_count + 1 where id = new.repository_id; end`,
  repository_comment_uncounted: `after delete on pull_comments begin
    update repositories set pull_comments_count = pull_comments_count - 1 where id = old.repository_id; end`,
}

/** The comments of all pull requests of a repository. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('repositories')
    .addColumn('pull_comments_count', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .alterTable('pull_comments')
    .addColumn('repository_id', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await sql`update pull_comments set repository_id = (
    select pull_requests.repository_id from pull_requests
    where pull_requests.id = pull_comments.pull_request_id)`.execute(db)
  // For the list, oldest first.
  await sql`create index pull_comments_of_repository
    on pull_comments (repository_id, create_time, id)`.execute(db)
  // For the list of what changed since a time.
  await sql`create index pull_comments_by_update
    on pull_comments (repository_id, update_time, create_time, id)`.execute(db)
  await sql`update repositories set pull_comments_count = (
    select count(*) from pull_comments where pull_comments.repository_id = repositories.id)
    where id in (select repository_id from pull_comments)`.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  for (const index of ['pull_comments_of_repository', 'pull_comments_by_update'])
    await db.schema.dropIndex(index).execute()
  await db.schema.alterTable('pull_comments').dropColumn('repository_id').execute()
  await db.schema.alterTable('repositories').dropColumn('pull_comments_count').execute()
}
