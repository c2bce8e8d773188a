import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** Pull requests that pushes open, which have a topic in place of a head branch. */
export async function up(db: Tx): Promise<void> {
  await db.schema.alterTable('issues').addColumn('agit_topic', 'text').execute()
  await sql`create index issues_by_topic on issues (repository_id, poster_id, agit_topic)
    where agit_topic is not null`.execute(db)
}

/** The pull requests stay, without a head branch. */
export async function down(db: Tx): Promise<void> {
  await db.schema.dropIndex('issues_by_topic').execute()
  await db.schema.alterTable('issues').dropColumn('agit_topic').execute()
}
