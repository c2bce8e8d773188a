import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** The maintenance of repositories. All repositories are looked at once after the migration. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('repository_maintenance')
    .addColumn('repository_id', 'integer', (c) =>
      c.primaryKey().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('check_time', 'integer')
    .addColumn('requested', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('request_time', 'integer')
    .addColumn('steps', 'text', (c) => c.notNull().defaultTo('{}'))
    .addColumn('step_time', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('waiting_time', 'integer')
    .addColumn('failures', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('error', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('pause_time', 'integer')
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  // For the worker.
  await db.schema
    .createIndex('repository_maintenance_due')
    .on('repository_maintenance')
    .column('check_time')
    .where('check_time', 'is not', null)
    .execute()
  // For the other servers, which let go of what a step has replaced.
  await db.schema
    .createIndex('repository_maintenance_stepped')
    .on('repository_maintenance')
    .column('step_time')
    .execute()
  await sql`insert into repository_maintenance (repository_id, check_time)
    select id, 0 from repositories`.execute(db)
}

export async function down(db: Tx): Promise<void> {
  await db.schema.dropTable('repository_maintenance').execute()
}
