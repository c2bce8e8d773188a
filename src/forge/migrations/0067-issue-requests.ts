import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** The calls about issues with a request id, and what they made. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('issue_requests')
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('request_id', 'text', (c) => c.notNull())
    .addColumn('digest', 'text', (c) => c.notNull())
    .addColumn('result', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('issue_requests_key', ['user_id', 'request_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`create index issue_requests_by_time on issue_requests (create_time)`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('issue_requests').execute()
}
