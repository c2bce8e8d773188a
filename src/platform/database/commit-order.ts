import { sql } from 'kysely'
import { isPostgres } from './dialects/dialects.ts'
import type { Tx } from './schema.ts'

/** Tables whose ids ascend in the order of commits, each with the number of an advisory lock. */
const LOCKS = { user_events: 0x42524e01, repository_events: 0x42524e02 } as const

/**
 * Makes a transaction commit before any later one that inserts into the same table, so that a reader
 * who has seen an id has seen, or can see, all lower ids.
 *
 * SQLite has one writer. With PostgreSQL, the transaction holds an advisory lock from here to its
 * end (https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS).
 */
export async function commitInOrder(tx: Tx, table: keyof typeof LOCKS): Promise<void> {
  if (isPostgres(tx)) await sql`select pg_advisory_xact_lock(${LOCKS[table]})`.execute(tx)
}
