import { sql } from 'kysely'
import type { Tx } from '../../platform/database/schema.ts'

/** The issues and pull requests that can have a due date, which lists by due date begin with. */
export async function up(db: Tx): Promise<void> {
  await sql`create index issues_that_may_be_due on issues (repository_id, is_pull, (state = 'OPEN'))
    where due_time is not null or milestone_id is not null`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropIndex('issues_that_may_be_due').execute()
}
