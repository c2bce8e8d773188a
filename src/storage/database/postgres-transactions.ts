import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { checkLeases } from '../../concurrency/leases.ts'
import type { Db, Tx } from '../schema/schema.ts'
import { unavailable } from './postgres-failures.ts'
import { runAttempt } from './rollbacks.ts'

/** Codes of errors (https://www.postgresql.org/docs/15/errcodes-appendix.html). */
export const POSTGRES_ERRORS = {
  foreignKeyViolation: '23503',
  uniqueViolation: '23505',
  serializationFailure: '40001',
  deadlock: '40P01',
} as const

/** Returns the code of an error that PostgreSQL reports, and an empty text for other errors. */
export function postgresCode(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : ''
}

/** The class of the advisory locks of servers, each with the number of its server: "BRNS". */
export const SERVER_LOCKS = 0x42524e53

/** A transaction that fails this often meets a constant stream of others, not a coincidence. */
const MAX_ATTEMPTS = 12
const FIRST_DELAY_MS = 2
const MAX_DELAY_MS = 250

/**
 * Runs a transaction as if no other one ran at the same time, as SQLite does. PostgreSQL lets
 * transactions run together, and fails those whose result could depend on their order, which then
 * run again (https://www.postgresql.org/docs/15/transaction-iso.html#XACT-SERIALIZABLE).
 *
 * So every rule that a transaction checks holds when the transaction commits: a quota, the last
 * administrator, or a name that no other account has.
 *
 * @throws DatabaseUnavailableError when others come first each time, or a lock was lost; the failure
 *   of the work.
 */
export async function serializableTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runAttempt(
        (run) => db.transaction().setIsolationLevel('serializable').execute(run),
        async (tx) => {
          checkLeases()
          const result = await work(tx)
          await checkSession(tx)
          return result
        },
      )
    } catch (error) {
      if (!canRunAgain(error)) throw error
      if (attempt === MAX_ATTEMPTS) throw unavailable(error)
      await sleep(Math.random() * Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS))
    }
  }
}

/**
 * Checks that the session that holds the locks of the current work still exists in this database. A
 * process learns later than PostgreSQL that its session has ended, for example after a failover.
 *
 * A server holds the lock of its number in its session, so that no transaction can take the lock.
 *
 * @throws DatabaseUnavailableError
 */
async function checkSession(tx: Tx): Promise<void> {
  const holder = checkLeases()
  if (holder === undefined) return
  const { rows } = await sql<{ isFree: number }>`
    select pg_try_advisory_xact_lock_shared(${SERVER_LOCKS}::int, ${holder}::int) as "isFree"`.execute(
    tx,
  )
  if (rows[0]?.isFree === 1) throw unavailable('a lock of this server was lost')
  checkLeases()
}

function canRunAgain(error: unknown): boolean {
  const code = postgresCode(error)
  return code === POSTGRES_ERRORS.serializationFailure || code === POSTGRES_ERRORS.deadlock
}
