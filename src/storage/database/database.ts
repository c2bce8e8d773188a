import {
  type Expression,
  Kysely,
  type SqlBool,
  type SqliteDatabase,
  SqliteDialect,
  sql,
} from 'kysely'
import { type CallDeadline, currentDeadline } from '../../concurrency/call-deadlines.ts'
import type { Db, Schema, Tx } from '../schema/schema.ts'
import { openReader, type Reader } from './reader.ts'
import { type Database, Sqlite, type Statement } from './sqlite.ts'

/** How long a statement waits for another process, such as a backup, to release the database. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Distinct statements kept prepared. The code base has a few hundred; lists with many shapes come
 * and go.
 */
const MAX_PREPARED_STATEMENTS = 512

/**
 * Opens the database file, creating it when it is missing.
 *
 * @param path file name, or `:memory:`.
 */
export function openDatabase(path: string): Db {
  const sqlite = new Sqlite(path)
  // Readers never wait for the writer, and a commit is one sequential write
  // (https://sqlite.org/wal.html).
  sqlite.pragma('journal_mode = WAL')
  // NORMAL would lose the last commits of a WAL database when the power fails. An answer that was
  // sent must stay true, so every commit is synced; reads, which dominate, pay nothing.
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  // Nobody else could open a database in memory.
  const reader = path === ':memory:' ? undefined : openReader(path, BUSY_TIMEOUT_MS)
  return new Handle(withPreparedStatements(sqlite, reader), reader)
}

/** The handle of a database, as opposed to that of a transaction. */
class Handle extends Kysely<Schema> {
  readonly reader: Reader | undefined

  constructor(database: SqliteDatabase, reader: Reader | undefined) {
    super({ dialect: new SqliteDialect({ database }) })
    this.reader = reader
  }
}

/** Returns the reader of a handle. A transaction has none, because it must see its own changes. */
export function readerOf(db: Db): Reader | undefined {
  return db instanceof Handle ? db.reader : undefined
}

/**
 * Runs `work` in one transaction: all of its statements take effect, or none. Fails when it would
 * be the first of a call whose deadline has passed.
 *
 * The handle passed in must be used for every statement of the work. SQLite has one connection
 * behind a mutex, so the outer handle would wait for this transaction to end, for ever; and
 * whatever the work waits for besides rows, every other query of the process waits for too.
 */
export function transaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const call = currentDeadline()
  if (!call) return db.transaction().execute(work)
  return runForCall(db, call, work)
}

/**
 * Once it is its turn, and not before it waits, a transaction is refused whose call has nobody
 * waiting for it.
 */
async function runForCall<T>(db: Db, call: CallDeadline, work: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await db.transaction().execute((tx) => {
    call.begin()
    return work(tx)
  })
  call.commit()
  return result
}

/** Resolves when the database answers. */
export async function checkDatabase(db: Db): Promise<void> {
  await sql`select 1`.execute(db)
}

/** Whether an error is a violated UNIQUE or PRIMARY KEY constraint. */
export function isUniqueViolation(error: unknown): boolean {
  return (
    error instanceof Sqlite.SqliteError &&
    (error.code === 'SQLITE_CONSTRAINT_UNIQUE' || error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY')
  )
}

/** Whether an error is that of a row that would hang off one that is not there, any more. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code === 'SQLITE_CONSTRAINT_FOREIGNKEY'
}

/**
 * Whether a text has a part; the case of ASCII letters does not count.
 *
 * Not LIKE, which takes as many steps as both have characters, multiplied: milliseconds for one
 * text that is all one letter.
 */
export function containsSql(text: Expression<string>, part: string): Expression<SqlBool> {
  return sql`instr(lower(${text}), lower(${part})) > 0`
}

/**
 * The part of better-sqlite3 that Kysely uses, with statements kept between calls.
 *
 * Kysely prepares a statement for each execution, which costs more than a lookup by primary key
 * does.
 */
function withPreparedStatements(sqlite: Database, reader: Reader | undefined) {
  const statements = new Map<string, Statement>()
  return {
    close: () => {
      reader?.close()
      sqlite.close()
    },
    prepare(text: string): Statement {
      // Kysely runs the statement as soon as it has it.
      reader?.refresh()
      // Every transaction here writes. Taking the write lock at the start means waiting for another
      // process, such as the command line, instead of failing when a read inside the transaction
      // has gone stale.
      const sql = text === 'begin' ? 'begin immediate' : text
      const known = statements.get(sql)
      if (known) return known
      if (statements.size >= MAX_PREPARED_STATEMENTS) statements.clear()
      const statement = sqlite.prepare(sql)
      statements.set(sql, statement)
      return statement
    },
  }
}
