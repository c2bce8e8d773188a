import { sql } from 'kysely'
import { isPostgres } from '../../platform/database/dialects/dialects.ts'
import type { Tx } from '../../platform/database/schema.ts'
import {
  COUNT_REPOSITORY_IN_SHARD,
  POSITION_OF_CONNECTION,
} from './0046-repository-count-shards.ts'
import { COUNT_USER_IN_SHARD } from './0081-user-count-shards.ts'

/** The functions that count in the row of a connection. */
const COUNTING = [COUNT_REPOSITORY_IN_SHARD, COUNT_USER_IN_SHARD]

/** The first key of the advisory locks for shards; the second one is the shard. */
const SHARD_LOCKS = 1

/**
 * Returns the shard of the present connection. A connection takes the first shard that is free, and
 * keeps the shard until the connection ends: an advisory lock of the session is the owner's mark
 * (https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS). A setting of the session
 * remembers the shard. A rollback undoes the setting but not the lock; the next call takes a shard
 * again, which a session may lock twice.
 */
const OWN_SHARD = `create function own_shard() returns integer language plpgsql as $function$
  declare
    shard integer := nullif(current_setting('branchline.shard', true), '');
  begin
    if shard is not null then return shard; end if;
    shard := 1;
    while not pg_try_advisory_lock(${SHARD_LOCKS}, shard) loop shard := shard + 1; end loop;
    perform set_config('branchline.shard', shard::text, false);
    return shard;
  end $function$`

/**
 * Each connection counts in a shard that no other connection has. The numbers before were positions
 * in a list of connections, which PostgreSQL 15 counts anew when a connection ends. Two transactions
 * then wrote the same row, and one waited for the other.
 */
export async function up(db: Tx): Promise<void> {
  if (!isPostgres(db)) return
  await sql.raw(OWN_SHARD).execute(db)
  for (const counting of COUNTING)
    await sql.raw(counting.replace(POSITION_OF_CONNECTION, 'own_shard()')).execute(db)
}

export async function down(db: Tx): Promise<void> {
  if (!isPostgres(db)) return
  for (const counting of COUNTING) await sql.raw(counting).execute(db)
  await sql`drop function own_shard()`.execute(db)
}
