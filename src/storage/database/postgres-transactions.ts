import { setTimeout as sleep } from 'node:timers/promises'
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
          checkLeases()
          return result
        },
      )
    } catch (error) {
      if (!canRunAgain(error, attempt)) throw error
      if (attempt === MAX_ATTEMPTS) throw unavailable(error)
      await sleep(Math.random() * Math.min(FIRST_DELAY_MS * 2 ** attempt, MAX_DELAY_MS))
    }
  }
}

/**
 * A violation may come from a transaction that has committed meanwhile, although this one has checked
 * its rules. Then the next attempt sees the rows of the other one, and fails by the rule.
 */
function canRunAgain(error: unknown, attempt: number): boolean {
  const code = postgresCode(error)
  if (code === POSTGRES_ERRORS.uniqueViolation || code === POSTGRES_ERRORS.foreignKeyViolation)
    return attempt === 1
  return code === POSTGRES_ERRORS.serializationFailure || code === POSTGRES_ERRORS.deadlock
}
