import {
  type Expression,
  Kysely,
  type SqlBool,
  type SqliteDatabase,
  type SqliteStatement,
  sql,
} from 'kysely'
import { currentDeadline } from '../concurrency/call-deadlines.ts'
import { checkLeases } from '../concurrency/leases.ts'
import { LongTurns } from '../concurrency/yielding.ts'
import { CommitLog } from './commit-log.ts'
import type { Turns } from './coordination/ports.ts'
import { isPostgres, lowerCase, positionOf } from './dialects/dialects.ts'
import { DatabaseUnavailableError } from './postgres-failures.ts'
import {
  keyedTransaction,
  POSTGRES_ERRORS,
  postgresCode,
  serializableTransaction,
} from './postgres-transactions.ts'
import { openReader, type Reader } from './reader.ts'
import { runRepeatable } from './repeatable.ts'
import { runAttempt } from './rollbacks.ts'
import type { Db, Schema, Tx } from './schema.ts'
import { type Database, isBusy, Sqlite, type Statement } from './sqlite.ts'
import { type FlushedLog, type Writing, WritingDialect } from './sqlite-dialect.ts'

/**
 * The maximum time for which a statement waits for another process, such as a backup, to release
 * the database.
 */
const BUSY_TIMEOUT_MS = 5_000

/**
 * The maximum number of prepared statements. The code has a few hundred; lists with filters add
 * more.
 */
const MAX_PREPARED_STATEMENTS = 512

/**
 * Opens a database file, and creates it when it is missing.
 *
 * @param source a file name, `:memory:`, or the bytes of a database that is then in memory.
 * @param turns the turns of the processes that use the file together. Default: this process is alone.
 */
export function openDatabase(source: string | Buffer, turns?: Turns): Db {
  const sqlite = new Sqlite(source)
  // With WAL, readers never wait for the writer, and a commit is one sequential write
  // (https://sqlite.org/wal.html).
  const mode = sqlite.pragma('journal_mode = WAL', { simple: true })
  const log = mode === 'wal' && typeof source === 'string' ? logOf(sqlite, source) : undefined
  // A change that a client was told of must survive a power failure. With NORMAL, SQLite flushes the log
  // before a checkpoint only, and the dialect flushes the log after commits.
  sqlite.pragma(`synchronous = ${log ? 'NORMAL' : 'FULL'}`)
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  // No second connection can open a database in memory.
  const isInMemory = typeof source !== 'string' || source === ':memory:'
  const reader = isInMemory ? undefined : openReader(source, BUSY_TIMEOUT_MS, turns !== undefined)
  return new Handle(withPreparedStatements(sqlite, reader), reader, { turns, log })
}

function logOf(sqlite: Database, file: string): FlushedLog {
  const log = new CommitLog(file)
  const countChanges = sqlite.prepare<[], number>('select total_changes()').pluck()
  let known = 0
  return {
    hasChanged() {
      const changes = countChanges.get() ?? 0
      const hasChanged = changes !== known
      known = changes
      return hasChanged
    },
    flushed: () => log.flushed(),
    close: () => log.close(),
  }
}

/** The handle of a database, as opposed to the handle of a transaction. */
class Handle extends Kysely<Schema> {
  readonly reader: Reader | undefined
  /** SQLite answers within the present turn of the event loop. */
  readonly turns = new LongTurns()

  constructor(database: SqliteDatabase, reader: Reader | undefined, writing: Writing) {
    super({ dialect: new WritingDialect({ database }, writing) })
    this.reader = reader
  }
}

/** Returns the reader of a handle. A transaction has none, because it must see its own changes. */
export function readerOf(db: Db): Reader | undefined {
  return db instanceof Handle ? db.reader : undefined
}

/**
 * Runs `work` in one transaction: all of its statements take effect, or none. Fails when it would
 * be the first transaction of a call whose deadline has passed.
 *
 * The work must use the given handle for every statement. SQLite has one connection behind a mutex,
 * so the outer handle would wait for this transaction to end, which is a deadlock. The work should
 * wait for nothing but queries, because all other queries of the process wait for the transaction.
 * It must have no other effects, because PostgreSQL may run it again (`serializableTransaction`), or
 * reverse them (`onRollback`).
 *
 * With the handle of a transaction, the work becomes a part of that one.
 */
export function transaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (isTransaction(db)) return work(db)
  return runForCall(work, (own) =>
    isPostgres(db) ? serializableTransaction(db, own) : run(db, own),
  )
}

/**
 * Runs `work` in one transaction, as `transaction` does, for rows that many calls change at the same
 * time, such as counters. Transactions with a common key wait for each other, where PostgreSQL would
 * fail and repeat them. The rules that the work checks hold if all transactions that change its rows
 * name the same keys.
 */
export function transactionOf<T>(
  db: Db,
  keys: readonly string[],
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return runForCall(work, (own) =>
    isPostgres(db) ? keyedTransaction(db, keys, own) : run(db, own),
  )
}

/**
 * Runs a transaction whose result the server finds again, after a power failure, from what is on the
 * disk before the call. With SQLite, the caller does not wait for the disk. Whoever commits next does.
 *
 * PostgreSQL may end without the servers, which would go on without the result.
 */
export function repeatableTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (isTransaction(db) || isPostgres(db)) return transaction(db, work)
  return runForCall(work, (own) => run(db, own, runRepeatable))
}

/**
 * Runs one statement that writes. The statement needs no transaction if its rules are about the
 * columns that it changes only.
 *
 * PostgreSQL then gets one message instead of three, and does not fail the statement because others
 * change rows in the same pages of an index, as it fails a serializable transaction.
 *
 * Fails when it would be the first change of a call whose deadline has passed.
 *
 * @param run runs the statement with the given handle.
 */
export function singleStatement<T>(db: Db, run: (db: Db) => Promise<T>): Promise<T> {
  if (isTransaction(db)) return run(db)
  // A transaction checks the locks of the current work before it commits.
  if (!isPostgres(db) || checkLeases() !== undefined) return transaction(db, run)
  return runForCall(run, (own) => db.connection().execute(own))
}

function isTransaction(db: Db): db is Tx {
  return db.isTransaction
}

/**
 * SQLite has one writer.
 *
 * @param around runs the transaction, but not the work that follows the commit.
 */
async function run<T>(
  db: Db,
  work: (tx: Tx) => Promise<T>,
  around: (execute: () => Promise<T>) => Promise<T> = (execute) => execute(),
): Promise<T> {
  if (db instanceof Handle) await db.turns.yield()
  return runAttempt((attempt) => around(() => db.transaction().execute(attempt)), work)
}

/**
 * Runs a transaction of the current call, if there is one. The deadline is checked after the wait
 * for the connection rather than before it.
 *
 * @param execute runs the given work in a transaction.
 */
async function runForCall<T, Handle extends Db>(
  work: (handle: Handle) => Promise<T>,
  execute: (work: (handle: Handle) => Promise<T>) => Promise<T>,
): Promise<T> {
  const call = currentDeadline()
  if (!call) return execute(work)
  const result = await execute((handle) => {
    call.begin()
    return work(handle)
  })
  call.commit()
  return result
}

/** Resolves when the database responds. */
export async function checkDatabase(db: Db): Promise<void> {
  await sql`select 1`.execute(db)
}

/** Returns whether an error is a violated UNIQUE or PRIMARY KEY constraint. */
export function isUniqueViolation(error: unknown): boolean {
  return UNIQUE_VIOLATIONS.has(codeOf(error))
}

const UNIQUE_VIOLATIONS: ReadonlySet<string> = new Set([
  'SQLITE_CONSTRAINT_UNIQUE',
  'SQLITE_CONSTRAINT_PRIMARYKEY',
  POSTGRES_ERRORS.uniqueViolation,
])

/**
 * Returns whether an error is a violated FOREIGN KEY constraint: the row that it refers to is
 * missing.
 */
export function isForeignKeyViolation(error: unknown): boolean {
  return FOREIGN_KEY_VIOLATIONS.has(codeOf(error))
}

const FOREIGN_KEY_VIOLATIONS: ReadonlySet<string> = new Set([
  'SQLITE_CONSTRAINT_FOREIGNKEY',
  POSTGRES_ERRORS.foreignKeyViolation,
])

/**
 * Returns whether an error means that the database cannot be used at present: another process has
 * locked the SQLite database, or PostgreSQL is unreachable.
 */
export function isUnavailable(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || isBusy(error)
}

/** Returns the code of an error of SQLite or PostgreSQL, and an empty text for other errors. */
function codeOf(error: unknown): string {
  return error instanceof Sqlite.SqliteError ? error.code : postgresCode(error)
}

/**
 * Returns the condition that a text contains another. The case of ASCII letters is ignored.
 *
 * LIKE would take time proportional to the product of the lengths: milliseconds for a text of one
 * repeated letter.
 */
export function containsSql(text: Expression<string>, part: string): Expression<SqlBool> {
  return sql`${positionOf(lowerCase(part), sql`lower(${text})`)} > 0`
}

/** Sorts after each character of a name. */
export const LAST_CHARACTER = '\u{10ffff}'

/** Returns the condition that a text begins with another, as a range that an index finds. */
export function startsWithSql(text: Expression<string>, begin: string): Expression<SqlBool> {
  return sql`(${text} >= ${begin} and ${text} < ${begin + LAST_CHARACTER})`
}

/**
 * Wraps better-sqlite3 for Kysely with a cache of prepared statements.
 *
 * Kysely prepares a statement for each execution, which takes longer than a lookup by primary key.
 */
function withPreparedStatements(sqlite: Database, reader: Reader | undefined) {
  const statements = new Map<string, SqliteStatement>()
  return {
    close: () => {
      reader?.close()
      sqlite.close()
    },
    prepare(text: string): SqliteStatement {
      // Kysely runs the statement immediately after it is prepared.
      reader?.refresh()
      // Every transaction here writes. A transaction that takes the write lock at its start waits
      // for other processes, such as the command line. A transaction that takes it later fails when
      // its earlier reads are stale.
      const sql = text === 'begin' ? 'begin immediate' : text
      const known = statements.get(sql)
      if (known) return known
      const statement = withNamedRows(sqlite.prepare(withOpaqueLimits(sql)))
      // After a change of the schema, the statements that are kept may have other columns.
      const changesSchema = CHANGES_SCHEMA.test(sql)
      if (statements.size >= MAX_PREPARED_STATEMENTS || changesSchema) statements.clear()
      if (!changesSchema) statements.set(sql, statement)
      return statement
    },
  }
}

/** The first word of a statement that changes the schema. */
const CHANGES_SCHEMA = /^\s*(?:alter|create|drop)\b/i

function withNamedRows(statement: Statement): SqliteStatement {
  if (!statement.reader) return statement
  const { all } = namedRows(statement)
  return {
    reader: true,
    all,
    iterate: (parameters) => all(parameters).values(),
    run: (parameters) => statement.run(parameters),
  }
}

/**
 * Returns a statement that SQLite compiles once, whatever its parameters are.
 *
 * SQLite plans for the value of a parameter that is the whole limit, and so compiles the statement
 * again after each binding of it (`sqlite3VdbeSetVarmask` in the source of SQLite 3.53). That takes
 * several times as long as to read a page of rows. SQLite does not look into an expression.
 */
export function withOpaqueLimits(sql: string): string {
  return sql.replaceAll(BARE_LIMIT, 'limit ? + 0')
}

/** A limit as Kysely writes it. */
const BARE_LIMIT = /\blimit \?(?! \+ 0)/g

/** The rows of a statement, read with its parameters. */
export interface NamedRows<Row> {
  all(parameters: readonly unknown[]): Row[]
  /** Returns the first row. */
  get(parameters: readonly unknown[]): Row | undefined
}

/**
 * Reads the rows of a statement as arrays and names the columns here. The driver would create the
 * names of the columns for each row again, which takes twice the time.
 *
 * @param statement has the same columns as long as the schema does not change.
 */
export function namedRows<Row>(statement: Statement): NamedRows<Row> {
  const raw = statement.raw()
  const names = statement.columns().map(({ name }) => name)
  const nameRow = (values: unknown) => {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < names.length; i++)
      row[names[i] as string] = (values as readonly unknown[])[i]
    return row as Row
  }
  return {
    all: (parameters) => raw.all(parameters).map(nameRow),
    get(parameters) {
      const values = raw.get(parameters)
      return values === undefined ? undefined : nameRow(values)
    },
  }
}
