import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** The maximum lengths of the name of a repository and of the display name of a user. */
const FORMER_STARTS = 100
const STARTS = 128

/** Longer ends of names would take room, and hardly narrow a search. */
const END_CHARACTERS = 24

const END = `substr(lower(names.name), cast(start as integer), ${END_CHARACTERS})`
const NAMES = (row: string) => `name_starts,
  (select ${row}.username as name union all select ${row}.display_name) as names
  where start <= length(names.name)`
const REMOVE = `delete from user_name_ends where user_id = old.id
  and name_end in (select ${END} from ${NAMES('old')});`
const INSERT = `insert into user_name_ends (name_end, user_id)
  select distinct ${END}, new.id from ${NAMES('new')};`

const TRIGGERS: Readonly<Record<string, string>> = {
  user_named: `after insert on users begin ${INSERT} end`,
  user_renamed: `after update of username, display_name on users
    when old.username <> new.username or old.display_name <> new.display_name
    begin ${REMOVE} ${INSERT} end`,
  user_unnamed: `after delete on users begin ${REMOVE} end`,
}

/**
 * All ends of the names of users, so that an index finds the users with a text, as with repositories.
 * And an index in the order of searches, of which a page then reads only its own users.
 */
export async function up(db: Tx): Promise<void> {
  for (let start = FORMER_STARTS + 1; start <= STARTS; start++)
    await sql`insert into name_starts (start) values (${start})`.execute(db)
  // Without a foreign key, which would need another index. The triggers know the whole key.
  await db.schema
    .createTable('user_name_ends')
    .addColumn('name_end', 'text', (c) => c.notNull())
    .addColumn('user_id', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('user_name_ends_key', ['name_end', 'user_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`insert into user_name_ends (name_end, user_id)
    select distinct ${sql.raw(END)}, names.id
    from name_starts, (select id, username as name from users union all select id, display_name from users) as names
    where start <= length(names.name) order by 1, 2`.execute(db)
  await sql`create index users_by_name on users (lower(username), id)`.execute(db)
  for (const [name, trigger] of Object.entries(TRIGGERS))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  await sql`drop index users_by_name`.execute(db)
  await db.schema.dropTable('user_name_ends').execute()
  await sql`delete from name_starts where start > ${FORMER_STARTS}`.execute(db)
}
