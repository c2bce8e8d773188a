import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

export const TRIGGERS: Readonly<Record<string, string>> = {
  repository_counted: `after insert on repositories begin
    update repository_counts set count = count + 1 where private = new.private; end`,
  repository_uncounted: `after delete on repositories begin
    update repository_counts set count = count - 1 where private = old.private; end`,
  repository_recounted: `after update of private on repositories when old.private <> new.private begin
    update repository_counts set count = count - 1 where private = old.private;
    update repository_counts set count = count + 1 where private = new.private; end`,
}

/** The numbers of public and private repositories, so that a list of all is not counted. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('repository_counts')
    .addColumn('private', 'integer', (c) => c.primaryKey())
    .addColumn('count', 'integer', (c) => c.notNull())
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  for (const flag of [0, 1])
    await sql`insert into repository_counts (private, count)
      select ${flag}, count(*) from repositories where private = ${flag}`.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  await db.schema.dropTable('repository_counts').execute()
}
