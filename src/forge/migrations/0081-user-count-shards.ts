import { sql } from 'kysely'
import { isPostgres, WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { POSITION_OF_CONNECTION } from './0046-repository-count-shards.ts'

/** The triggers for each row. `condition` is what a counted row has beside its state. */
const triggers = (condition: string): Readonly<Record<string, string>> => ({
  user_counted: `after insert on users begin
    update user_counts set count = count + 1 where state = new.state${condition}; end`,
  user_uncounted: `after delete on users begin
    update user_counts set count = count - 1 where state = old.state${condition}; end`,
  user_recounted: `after update of state on users when old.state <> new.state begin
    update user_counts set count = count - 1 where state = old.state${condition};
    update user_counts set count = count + 1 where state = new.state${condition}; end`,
})

const OF_ONE_ROW = triggers('')
const OF_SHARD_0 = triggers(' and shard = 0')

const EVENTS: Readonly<Record<string, string>> = {
  user_counted: 'after insert',
  user_uncounted: 'after delete',
  user_recounted: 'after update of state',
}

/** Counts an account in the row of the present connection. See `0046-repository-count-shards`. */
export const COUNT_USER_IN_SHARD = `create or replace function count_user_in_shard() returns trigger language plpgsql as $trigger$
  declare
    own integer := ${POSITION_OF_CONNECTION};
  begin
    if tg_op = 'UPDATE' and old.state = new.state then return null; end if;
    if tg_op <> 'INSERT' then
      insert into user_counts (state, shard, count) values (old.state, own, -1)
        on conflict (state, shard) do update set count = user_counts.count - 1;
    end if;
    if tg_op <> 'DELETE' then
      insert into user_counts (state, shard, count) values (new.state, own, 1)
        on conflict (state, shard) do update set count = user_counts.count + 1;
    end if;
    return null;
  end $trigger$`

/**
 * The numbers of accounts have a row for each connection of PostgreSQL, as those of repositories.
 * Creations of accounts at the same time all wrote one row before: all but one failed and ran again.
 */
export async function up(db: Tx): Promise<void> {
  for (const trigger of Object.keys(OF_ONE_ROW)) await dropTrigger(db, trigger)
  await rebuild(db, true)
  if (!isPostgres(db)) return createTriggers(db, OF_SHARD_0)
  await sql.raw(COUNT_USER_IN_SHARD).execute(db)
  for (const [name, event] of Object.entries(EVENTS))
    await sql
      .raw(
        `create trigger ${name} ${event} on users
          for each row execute function count_user_in_shard()`,
      )
      .execute(db)
}

export async function down(db: Tx): Promise<void> {
  if (isPostgres(db)) await sql`drop function count_user_in_shard() cascade`.execute(db)
  else for (const trigger of Object.keys(OF_SHARD_0)) await dropTrigger(db, trigger)
  await rebuild(db, false)
  await createTriggers(db, OF_ONE_ROW)
}

async function createTriggers(db: Tx, all: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, trigger] of Object.entries(all)) await createTrigger(db, `${name} ${trigger}`)
}

/** Creates the table with or without shards, with the sums of its rows. */
async function rebuild(db: Tx, hasShards: boolean): Promise<void> {
  await sql`alter table user_counts rename to former_user_counts`.execute(db)
  const table = db.schema
    .createTable('user_counts')
    .addColumn('state', 'text', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
  await (hasShards
    ? table
        .addColumn('shard', 'integer', (c) => c.notNull().defaultTo(0))
        .addPrimaryKeyConstraint('user_counts_key', ['state', 'shard'])
    : table.addPrimaryKeyConstraint('user_counts_of_state', ['state'])
  )
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`insert into user_counts (state, count)
    select state, sum(count) from former_user_counts group by state`.execute(db)
  await sql`drop table former_user_counts`.execute(db)
}
