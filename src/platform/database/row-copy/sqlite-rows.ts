import { sql } from 'kysely'
import type { Db } from '../schema.ts'
import { type Database, Sqlite, type Statement } from '../sqlite.ts'
import {
  bytesValue,
  fractionValue,
  integerValue,
  RowsRefusedError,
  type RowText,
  type RowValue,
  rowText,
  rowValues,
} from './row-text.ts'
import {
  GROUP_CHARACTERS,
  GROUP_ROWS,
  type LastIds,
  type RowLoader,
  type RowReader,
  type RowTable,
  STAYING_TABLES,
} from './rows.ts'

/** The time for which a statement waits for another process. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Reads an SQLite database in one transaction of a connection of its own. Others read and write
 * meanwhile; their changes stay in the log until the end (https://sqlite.org/wal.html).
 */
export async function readSqlite<T>(db: Db, work: (reader: RowReader) => Promise<T>): Promise<T> {
  const connection = new Sqlite(await fileOf(db), { readonly: true, timeout: BUSY_TIMEOUT_MS })
  try {
    connection.exec('begin')
    const schema = connection.pragma('user_version', { simple: true }) as number
    return await work({
      schema,
      tables: async () => tablesOf(connection),
      rows: (table) => rowsOf(connection, table),
      ids: async (table) =>
        connection.prepare<[], number>(`select id from ${table} order by id`).pluck().all(),
      lastIds: async () => lastIdsOf(connection),
    })
  } finally {
    connection.close()
  }
}

/**
 * Replaces the rows of an SQLite database that nobody else uses. A failure leaves a part of the
 * rows.
 *
 * @throws RowsRefusedError when a row refers to a row that is missing.
 */
export async function loadSqlite<T>(db: Db, work: (loader: RowLoader) => Promise<T>): Promise<T> {
  const connection = new Sqlite(await fileOf(db), { timeout: BUSY_TIMEOUT_MS })
  try {
    // Files are synced when the log is copied into the database, at the latest by the last close.
    connection.pragma('synchronous = NORMAL')
    connection.pragma('foreign_keys = OFF')
    const triggers = dropTriggers(connection)
    for (const { name } of tablesOf(connection)) connection.exec(`delete from "${name}"`)
    const result = await work({
      tables: async () => tablesOf(connection),
      rows: (table) => rowsOf(connection, table),
      insert: async (table, rows) => insert(connection, table, rows),
      continueAfter: async (lastIds) => continueAfter(connection, lastIds),
    })
    for (const trigger of triggers) connection.exec(trigger)
    checkReferences(connection)
    return result
  } finally {
    connection.close()
  }
}

async function fileOf(db: Db): Promise<string> {
  const { rows } = await sql<{ file: string }>`pragma database_list`.execute(db)
  const file = rows[0]?.file
  if (!file) throw new Error('a database in memory has no second connection')
  return file
}

function tablesOf(connection: Database): RowTable[] {
  const names = connection
    .prepare<[], string>(
      `select name from sqlite_master where type = 'table' and name not like 'sqlite~_%' escape '~'
        order by name`,
    )
    .pluck()
    .all()
  return names
    .filter((name) => !STAYING_TABLES.has(name))
    .map((name) => ({ name, columns: columnsOf(connection, name) }))
}

function columnsOf(connection: Database, table: string): string[] {
  return connection
    .prepare<[string], string>('select name from pragma_table_info(?) order by cid')
    .pluck()
    .all(table)
}

async function* rowsOf(
  connection: Database,
  { name, columns }: RowTable,
): AsyncGenerator<readonly RowText[]> {
  const statement = connection
    .prepare(`select ${columns.map(quoted).join(', ')} from ${quoted(name)}`)
    .raw()
    .safeIntegers()
  let group: RowText[] = []
  let characters = 0
  for (const values of statement.iterate() as Iterable<unknown[]>) {
    const row = rowText(values.map(asRowValue))
    group.push(row)
    characters += row.length
    if (characters < GROUP_CHARACTERS && group.length < GROUP_ROWS) continue
    yield group
    group = []
    characters = 0
  }
  if (group.length > 0) yield group
}

function asRowValue(value: unknown): RowValue {
  if (value === null || typeof value === 'string') return value
  if (typeof value === 'bigint') return integerValue(value)
  if (typeof value === 'number') return fractionValue(value)
  return bytesValue(value as Buffer)
}

function insert(connection: Database, table: RowTable, rows: readonly RowText[]): void {
  const statement = insertInto(connection, table)
  connection.transaction(() => {
    for (const row of rows) statement.run(rowValues(row, table.columns.length).map(sqliteValue))
  })()
}

function insertInto(connection: Database, { name, columns }: RowTable): Statement {
  const places = columns.map(() => '?').join(', ')
  return connection.prepare(
    `insert into ${quoted(name)} (${columns.map(quoted).join(', ')}) values (${places})`,
  )
}

/** The driver stores numbers as fractions, unless they are of the type bigint. */
function sqliteValue(value: RowValue): unknown {
  if (typeof value === 'number') return BigInt(value)
  if (value === null || typeof value === 'string') return value
  if ('base64' in value) return Buffer.from(value.base64, 'base64')
  return 'integer' in value ? BigInt(value.integer) : Number(value.fraction)
}

/** Drops all triggers, and returns their definitions. */
function dropTriggers(connection: Database): string[] {
  const triggers = connection
    .prepare<[], { name: string; sql: string }>(
      `select name, sql from sqlite_master where type = 'trigger' order by rowid`,
    )
    .all()
  for (const { name } of triggers) connection.exec(`drop trigger ${quoted(name)}`)
  return triggers.map((trigger) => trigger.sql)
}

/** https://sqlite.org/autoinc.html */
function lastIdsOf(connection: Database): LastIds {
  const rows = connection
    .prepare<[], { name: string; seq: number }>('select name, seq from sqlite_sequence')
    .all()
  return Object.fromEntries(
    rows
      .filter(({ name, seq }) => seq > 0 && !STAYING_TABLES.has(name))
      .map((row) => [row.name, row.seq]),
  )
}

/** The table of the last ids has no primary key. An insertion of a row has raised its number. */
function continueAfter(connection: Database, lastIds: LastIds): void {
  const raise = connection.prepare('update sqlite_sequence set seq = max(seq, ?) where name = ?')
  const add = connection.prepare('insert into sqlite_sequence (seq, name) values (?, ?)')
  for (const [table, id] of Object.entries(lastIds))
    if (raise.run(id, table).changes === 0) add.run(id, table)
}

/** https://sqlite.org/pragma.html#pragma_foreign_key_check */
function checkReferences(connection: Database): void {
  const [missing] = connection.pragma('foreign_key_check') as { table: string; parent: string }[]
  if (missing) {
    throw new RowsRefusedError(
      `the archive has a row of ${missing.table} that refers to a missing row of ${missing.parent}`,
    )
  }
}

/** https://sqlite.org/lang_keywords.html */
function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
