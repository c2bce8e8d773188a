import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CompiledQuery, type Dialect, Kysely } from 'kysely'
import pg from 'pg'
import { createExclusive, type Exclusive } from '../concurrency/exclusive.ts'
import { checkLeases } from '../concurrency/leases.ts'
import { createPrecedence, type Precedence } from '../concurrency/precedence.ts'
import { asUnavailable, unavailable } from './postgres-failures.ts'
import type { PostgresReads } from './postgres-reads.ts'
import { sentValues } from './postgres-values.ts'
import { runAttempt } from './rollbacks.ts'
import type { Db, Schema, Tx } from './schema.ts'

/** Codes of errors (https://www.postgresql.org/docs/15/errcodes-appendix.html). */
export const POSTGRES_ERRORS = {
  foreignKeyViolation: '23503',
  uniqueViolation: '23505',
  serializationFailure: '40001',
  deadlock: '40P01',
  divisionByZero: '22012',
} as const

/** Returns the code of an error that PostgreSQL reports, and an empty text for other errors. */
export function postgresCode(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? '') : ''
}

/** The class of the advisory locks of servers, each with the number of its server: "BRNS". */
export const SERVER_LOCKS = 0x42524e53

/** Takes the locks of the keys of a transaction. */
const TAKE_KEYS = 'select pg_advisory_xact_lock(number) from unnest($1::bigint[]) as number'

/** Divides by zero when nobody holds the lock of a server. The commit is then skipped. */
const CHECK_SESSION =
  'select 1 / (1 - pg_try_advisory_xact_lock_shared($1::int, $2::int)::int) as held'

/**
 * The statements whose results nobody reads. They go to PostgreSQL together with the next one, which they
 * precede: a message takes several times as long as all else that the server does for a statement.
 */
export const WAITS_FOR_NEXT: ReadonlySet<string> = new Set([TAKE_KEYS, CHECK_SESSION])

/** A transaction that fails this often, for about five seconds, has no prospect. */
const MAX_ATTEMPTS = 40
/** A constraint that fails again, with what others have committed, fails because of the work. */
const MAX_VIOLATIONS = 2
/**
 * After so many attempts, a transaction runs again before others of its process begin. Otherwise a
 * stream of short transactions on the same rows could make it fail each time.
 */
const ATTEMPTS_TOGETHER = 3
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
export function serializableTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return repeated(db, 'serializable', work)
}

/**
 * Runs a transaction that waits for all others with one of its keys. Each of its statements sees
 * what they have committed, so a wait never ends in a failure. Those of this process wait without a
 * connection, which others need.
 *
 * @throws DatabaseUnavailableError when a lock was lost; the failure of the work.
 */
export function keyedTransaction<T>(
  db: Db,
  keys: readonly string[],
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  // All transactions take their locks in one order, so none waits for another one that waits for it.
  const numbers = [...new Set(keys.map((key) => lockNumber(`rows ${key}`)))].sort()
  const array = `{${numbers.join(',')}}`
  const exclusive = exclusiveOf(db)
  const transaction = (): Promise<T> =>
    repeated(db, 'read committed', async (tx) => {
      await tx.executeQuery(CompiledQuery.raw(TAKE_KEYS, [array]))
      return work(tx)
    })
  const inTurn = numbers.reduceRight((next, number) => () => exclusive(number, next), transaction)
  return inTurn()
}

async function repeated<T>(
  db: Db,
  isolation: 'serializable' | 'read committed',
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const run = (): Promise<T> =>
    runAttempt(
      (own) => db.transaction().setIsolationLevel(isolation).execute(own),
      async (tx) => {
        checkLeases()
        const result = await work(tx)
        await checkSession(tx)
        return result
      },
    )
  const precedence = precedenceOf(db)
  const failures = new Failures()
  for (let attempt = 1; attempt <= ATTEMPTS_TOGETHER; attempt++) {
    await precedence.giveWay()
    try {
      return await run()
    } catch (error) {
      await failures.add(error)
    }
  }
  return precedence.take(async () => {
    for (;;) {
      try {
        return await run()
      } catch (error) {
        await failures.add(error)
      }
    }
  })
}

/**
 * Runs a statement that is a transaction of its own. One whose triggers and foreign keys lock several
 * rows may wait for a transaction that waits for the statement. PostgreSQL then ends one of them
 * (https://www.postgresql.org/docs/15/explicit-locking.html#LOCKING-DEADLOCKS).
 *
 * @throws DatabaseUnavailableError when that happens each time; any other failure of the statement.
 */
export async function statementAlone<T>(run: () => Promise<T>): Promise<T> {
  const failures = new Failures()
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!isCollision(error)) throw error
      await failures.add(error)
    }
  }
}

/** The failures of one transaction. */
class Failures {
  #violations = 0
  #attempts = 0

  /**
   * Adds the failure of an attempt and waits until the next one.
   *
   * @throws the failure, unless another attempt may succeed; DatabaseUnavailableError after too many.
   */
  async add(error: unknown): Promise<void> {
    this.#attempts += 1
    if (isViolation(error)) this.#violations += 1
    else if (!isCollision(error)) throw error
    if (this.#violations === MAX_VIOLATIONS) throw error
    if (this.#attempts === MAX_ATTEMPTS) throw unavailable(error)
    await sleep(Math.random() * Math.min(FIRST_DELAY_MS * 2 ** this.#attempts, MAX_DELAY_MS))
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
  if (holder !== undefined)
    await tx.executeQuery(CompiledQuery.raw(CHECK_SESSION, [SERVER_LOCKS, holder]))
}

/** Returns whether a commit has failed since the session of this server has ended. */
export function isLostLock(error: unknown): boolean {
  return postgresCode(error) === POSTGRES_ERRORS.divisionByZero
}

/** Returns the number of an advisory lock. Two keys with one number would wait for each other. */
export function lockNumber(key: string): string {
  return createHash('sha256').update(key).digest().readBigInt64BE().toString()
}

/** Returns whether an error only says that others ran at the same time. */
function isCollision(error: unknown): boolean {
  const code = postgresCode(error)
  return code === POSTGRES_ERRORS.serializationFailure || code === POSTGRES_ERRORS.deadlock
}

/**
 * Returns whether a constraint was violated. PostgreSQL compares with rows that others have committed
 * meanwhile, and that the transaction could not see when it checked that all is well
 * (https://www.postgresql.org/docs/15/transaction-iso.html#XACT-SERIALIZABLE). Another run sees them.
 */
function isViolation(error: unknown): boolean {
  const code = postgresCode(error)
  return code === POSTGRES_ERRORS.uniqueViolation || code === POSTGRES_ERRORS.foreignKeyViolation
}

/** The longest time for which a transaction waits for another one that has failed several times. */
const MAX_GIVE_WAY_MS = 500

/** A PostgreSQL database with what its transactions in this process wait for. */
export class PostgresHandle extends Kysely<Schema> {
  readonly exclusive: Exclusive = createExclusive()
  readonly precedence: Precedence = createPrecedence(MAX_GIVE_WAY_MS)
  readonly #reads: PostgresReads

  constructor(dialect: Dialect, reads: PostgresReads) {
    super({ dialect })
    this.#reads = reads
  }

  /**
   * Returns the rows of a prepared query; undefined when it has a value that only Kysely can pass.
   *
   * @throws DatabaseUnavailableError; the error of PostgreSQL.
   */
  read(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> | undefined {
    const sent = sentValues(values)
    return sent && statementAlone(() => this.#reads.read(text, sent).catch(asUnavailable))
  }
}

/**
 * Returns the mutex of the transactions of this process, by key. A handle that a plugin has wrapped
 * has none, since only tests wrap handles.
 */
function exclusiveOf(db: Db): Exclusive {
  return db instanceof PostgresHandle ? db.exclusive : (_key, work) => work()
}

/** Returns the precedence of the transactions of this process. A wrapped handle has none. */
function precedenceOf(db: Db): Precedence {
  return db instanceof PostgresHandle
    ? db.precedence
    : { giveWay: async () => {}, take: (work) => work() }
}
