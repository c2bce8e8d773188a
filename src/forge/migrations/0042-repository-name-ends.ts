import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** The maximum length of the name of a repository. */
const MAX_NAME_LENGTH = 100

const REMOVE = `delete from repository_name_ends where repository_id = old.id and name_end in (
  select substr(old.name_key, cast(start as integer)) from name_starts where start <= length(old.name_key));`
const INSERT = `insert into repository_name_ends (name_end, repository_id)
  select substr(new.name_key, cast(start as integer)), new.id from name_starts
  where start <= length(new.name_key);`

const TRIGGERS: Readonly<Record<string, string>> = {
  repository_named: `after insert on repositories begin ${INSERT} end`,
  repository_renamed: `after update of name_key on repositories when old.name_key <> new.name_key
    begin ${REMOVE} ${INSERT} end`,
  repository_unnamed: `after delete on repositories begin ${REMOVE} end`,
}

/**
 * All ends of the names of repositories, so that an index finds the names that contain a text: a
 * name contains the text if one of its ends begins with the text.
 */
export async function up(db: Tx): Promise<void> {
  // The numbers from 1 on, since a trigger of SQLite cannot have a recursive query.
  await db.schema
    .createTable('name_starts')
    .addColumn('start', 'integer', (c) => c.primaryKey())
    .execute()
  for (let start = 1; start <= MAX_NAME_LENGTH; start++)
    await sql`insert into name_starts (start) values (${start})`.execute(db)
  // Without a foreign key, which would need another index. The triggers know the whole key.
  await db.schema
    .createTable('repository_name_ends')
    .addColumn('name_end', 'text', (c) => c.notNull())
    .addColumn('repository_id', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('repository_name_ends_key', ['name_end', 'repository_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`insert into repository_name_ends (name_end, repository_id)
    select substr(name_key, cast(start as integer)), id
    from repositories, name_starts where start <= length(name_key)`.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  for (const table of ['repository_name_ends', 'name_starts'])
    await db.schema.dropTable(table).execute()
}
