import { sql } from 'kysely'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Repeats whether the repository is public. The foreign key refuses an issue of none. */
const publish = (where: string) => `update issues set is_public = coalesce(
  (select 1 - private from repositories where repositories.id = issues.repository_id), 0)
  where ${where}; end`

const TRIGGERS: Readonly<Record<string, string>> = {
  issues_published: `after insert on issues begin ${publish('id = new.id')}`,
  issues_republished: `after update of repository_id on issues
    when old.repository_id <> new.repository_id begin ${publish('id = new.id')}`,
  issues_of_repository_published: `after update of private on repositories
    when old.private <> new.private begin ${publish('repository_id = new.id')}`,
}

/**
 * The conversations of public repositories in the order of their creation, so that the search reads no
 * conversation of a private repository that the caller may not read.
 */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .alterTable('issues')
    .addColumn('is_public', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await sql`update issues set is_public = 1
    where repository_id in (select id from repositories where private = 0)`.execute(db)
  await sql`create index issues_public on issues (is_pull, (state = 'OPEN'), create_time, id)
    where is_public = 1`.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  for (const name of Object.keys(TRIGGERS)) await dropTrigger(db, name)
  await db.schema.dropIndex('issues_public').execute()
  await db.schema.alterTable('issues').dropColumn('is_public').execute()
}
