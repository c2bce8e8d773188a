import { sql } from 'kysely'
import { isPostgres, WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger, dropTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { TRIGGERS } from './0041-repository-counts.ts'

/** The same triggers for each row, which count in the shard 0. */
const OF_SQLITE: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(TRIGGERS).map(([name, trigger]) => [
    name,
    trigger.replaceAll(/where (private = \w+\.private)/g, 'where $1 and shard = 0'),
  ]),
)

const EVENTS: Readonly<Record<string, string>> = {
  repository_counted: 'after insert',
  repository_uncounted: 'after delete',
  repository_recounted: 'after update of private',
}

/**
 * The position of the present connection among those of the server. Two transactions at a time can
 * have the same one, when another connection ends in between: `0120-connection-shards`.
 */
export const POSITION_OF_CONNECTION =
  '(select id from pg_stat_get_backend_idset() as id where pg_stat_get_backend_pid(id) = pg_backend_pid())'

/** Counts a repository in the row of the present connection. */
export const COUNT_REPOSITORY_IN_SHARD = `create or replace function count_repository_in_shard() returns trigger language plpgsql as $trigger$
  declare
    own integer := ${POSITION_OF_CONNECTION};
  begin
    if tg_op = 'UPDATE' and old.private = new.private then return null; end if;
    if tg_op <> 'INSERT' then
      insert into repository_counts (private, shard, count) values (old.private, own, -1)
        on conflict (private, shard) do update set count = repository_counts.count - 1;
    end if;
    if tg_op <> 'DELETE' then
      insert into repository_counts (private, shard, count) values (new.private, own, 1)
        on conflict (private, shard) do update set count = repository_counts.count + 1;
    end if;
    return null;
  end $trigger$`

/**
 * The numbers of repositories have a row for each connection of PostgreSQL, and are the sums of these
 * rows. Transactions that create repositories all wrote one row before: all but one of those at a
 * time failed and ran again.
 */
export async function up(db: Tx): Promise<void> {
  for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  await rebuild(db, true)
  if (!isPostgres(db)) return createTriggers(db, OF_SQLITE)
  await sql.raw(COUNT_REPOSITORY_IN_SHARD).execute(db)
  for (const [name, event] of Object.entries(EVENTS))
    await sql
      .raw(
        `create trigger ${name} ${event} on repositories
          for each row execute function count_repository_in_shard()`,
      )
      .execute(db)
}

export async function down(db: Tx): Promise<void> {
  if (isPostgres(db)) await sql`drop function count_repository_in_shard() cascade`.execute(db)
  else for (const trigger of Object.keys(TRIGGERS)) await dropTrigger(db, trigger)
  await rebuild(db, false)
  await createTriggers(db, TRIGGERS)
}

async function createTriggers(db: Tx, triggers: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, trigger] of Object.entries(triggers))
    await createTrigger(db, `${name} ${trigger}`)
}

/** Creates the table with or without shards, with the sums of its rows. */
async function rebuild(db: Tx, hasShards: boolean): Promise<void> {
  await sql`alter table repository_counts rename to former_repository_counts`.execute(db)
  const table = db.schema
    .createTable('repository_counts')
    .addColumn('private', 'integer', (c) => c.notNull())
    .addColumn('count', 'integer', (c) => c.notNull())
  await (hasShards
    ? table
        .addColumn('shard', 'integer', (c) => c.notNull().defaultTo(0))
        .addPrimaryKeyConstraint('repository_counts_key', ['private', 'shard'])
    : table.addPrimaryKeyConstraint('repository_counts_of_privacy', ['private'])
  )
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await sql`insert into repository_counts (private, count)
    select private, sum(count) from former_repository_counts group by private`.execute(db)
  await sql`drop table former_repository_counts`.execute(db)
}
