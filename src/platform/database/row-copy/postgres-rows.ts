import { type RawBuilder, sql } from 'kysely'
import { schemaVersion } from '../migrate.ts'
import { POSTGRES_ERRORS, postgresCode } from '../postgres-transactions.ts'
import type { Db, Tx } from '../schema.ts'
import {
  bytesValue,
  integerValue,
  RowsRefusedError,
  type RowText,
  type RowValue,
  rowText,
  rowValues,
} from './row-text.ts'
import {
  GROUP_CHARACTERS,
  type LastIds,
  type RowLoader,
  type RowReader,
  type RowTable,
  STAYING_TABLES,
} from './rows.ts'

/**
 * Reads a PostgreSQL database in one transaction, as if no other one ran at the same time. The start
 * may wait for transactions in progress; nobody waits for the transaction
 * (https://www.postgresql.org/docs/15/sql-set-transaction.html, DEFERRABLE).
 */
export function readPostgres<T>(db: Db, work: (reader: RowReader) => Promise<T>): Promise<T> {
  const begin = db.transaction().setIsolationLevel('serializable').setAccessMode('read only')
  return begin.execute(async (tx) => {
    await sql`set transaction deferrable`.execute(tx)
    await liftTimeouts(tx)
    const columns = await columnsOf(tx)
    return work({
      schema: await schemaVersion(tx),
      tables: async () => tablesOf(columns),
      rows: (table) => rowsOf(tx, table, columns),
      ids: async (table) => {
        const rows = await tx.selectFrom(table).select('id').orderBy('id').execute()
        return rows.map(({ id }) => id)
      },
      lastIds: () => lastIdsOf(tx),
    })
  })
}

/**
 * Replaces the rows of a PostgreSQL database, completely or not at all: in one transaction, which
 * locks the tables.
 *
 * @throws RowsRefusedError when a row refers to a row that is missing.
 */
export function loadPostgres<T>(db: Db, work: (loader: RowLoader) => Promise<T>): Promise<T> {
  const begin = db.transaction().setIsolationLevel('read committed')
  return begin.execute(async (tx) => {
    await liftTimeouts(tx)
    const columns = await columnsOf(tx)
    const tables = tablesOf(columns)
    const names = sql.join(tables.map(({ name }) => sql.id(name)))
    await sql`truncate ${names} restart identity`.execute(tx)
    const restoreReferences = await dropReferences(tx)
    for (const { name } of tables)
      await sql`alter table ${sql.id(name)} disable trigger user`.execute(tx)
    const result = await work({
      tables: async () => tables,
      rows: (table) => rowsOf(tx, table, columns),
      insert: (table, rows) => insert(tx, table, { rows, columns }),
      continueAfter: (lastIds) => continueAfter(tx, lastIds),
    })
    for (const { name } of tables)
      await sql`alter table ${sql.id(name)} enable trigger user`.execute(tx)
    await restoreReferences()
    // Without statistics, the first queries would have bad plans.
    await sql`analyze ${names}`.execute(tx)
    return result
  })
}

/** The transaction waits for files and for the archive, which can take hours. */
async function liftTimeouts(tx: Tx): Promise<void> {
  await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
  await sql`set local statement_timeout = 0`.execute(tx)
}

/** The types of columns, by their names in the catalog. */
type ColumnType = 'int8' | 'text' | 'bytea'

interface Column {
  readonly table: string
  readonly name: string
  readonly type: ColumnType
}

async function columnsOf(tx: Tx): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select c.relname::text as "table", a.attname::text as name, t.typname::text as type
    from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = a.atttypid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      and a.attnum > 0 and not a.attisdropped
    order by c.relname, a.attnum`.execute(tx)
  return rows.filter((column) => !STAYING_TABLES.has(column.table))
}

function tablesOf(columns: readonly Column[]): RowTable[] {
  const tables = new Map<string, string[]>()
  for (const { table, name } of columns) {
    const names = tables.get(table)
    if (names) names.push(name)
    else tables.set(table, [name])
  }
  return [...tables].map(([name, names]) => ({ name, columns: names }))
}

/** Returns the columns of a table in the order of the table. */
function columnsIn({ name, columns }: RowTable, all: readonly Column[]): Column[] {
  const known = all.filter(({ table }) => table === name)
  return columns.flatMap((column) => known.find((other) => other.name === column) ?? [])
}

/** The number of rows that are read at a time at first, and at most. */
const FIRST_ROWS = 16
const MAX_ROWS = 250

/**
 * Reads through a cursor, a few rows at first. The size of the rows so far decides on the next
 * number, because a row can have more than a mebibyte.
 */
async function* rowsOf(
  tx: Tx,
  table: RowTable,
  all: readonly Column[],
): AsyncGenerator<readonly RowText[]> {
  const columns = columnsIn(table, all)
  const values = sql.join(columns.map(selected))
  await sql`declare moved no scroll cursor for select ${values} from ${sql.id(table.name)}`.execute(
    tx,
  )
  for (let wanted = FIRST_ROWS; ; ) {
    const { rows } = await sql
      .raw<Record<string, unknown>>(`fetch forward ${wanted} from moved`)
      .execute(tx)
    if (rows.length === 0) break
    const group = rows.map((row) =>
      rowText(columns.map(({ type }, i) => asRowValue(row[`c${i}`], type))),
    )
    yield group
    const largest = group.reduce((most, row) => Math.max(most, row.length), 1)
    wanted = Math.min(2 * wanted, Math.ceil(GROUP_CHARACTERS / largest), MAX_ROWS)
  }
  await sql`close moved`.execute(tx)
}

/** Integers are read as text, because the pool reads them as numbers. */
function selected({ name, type }: Column, index: number) {
  const value = type === 'int8' ? sql`${sql.ref(name)}::text` : sql.ref(name)
  return sql`${value} as ${sql.id(`c${index}`)}`
}

function asRowValue(value: unknown, type: ColumnType): RowValue {
  if (value === null) return null
  if (type === 'int8') return integerValue(BigInt(value as string))
  return type === 'bytea' ? bytesValue(value as Buffer) : (value as string)
}

/** The rows go to PostgreSQL as one parameter, which is faster than a parameter for each value. */
async function insert(
  tx: Tx,
  table: RowTable,
  group: { readonly rows: readonly RowText[]; readonly columns: readonly Column[] },
): Promise<void> {
  const columns = columnsIn(table, group.columns)
  const values = group.rows.map((row) =>
    rowValues(row, columns.length).map((value, i) => jsonValue(value, columns[i] as Column)),
  )
  const into = sql.join(columns.map(({ name }) => sql.id(name)))
  try {
    await sql`insert into ${sql.id(table.name)} (${into})
      select ${sql.join(columns.map(fromJson))}
      from jsonb_array_elements(${withoutNull(JSON.stringify(values))}::jsonb) as r`.execute(tx)
  } catch (error) {
    if (!UNFIT.test(postgresCode(error))) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new RowsRefusedError(`the rows of ${table.name} do not fit: ${reason}`)
  }
}

/** Errors about data and constraints (https://www.postgresql.org/docs/15/errcodes-appendix.html). */
const UNFIT = /^2[23]/

function jsonValue(value: RowValue, { table, name, type }: Column): string | number | null {
  if (value === null) return null
  if (type === 'int8' && typeof value === 'number') return value
  if (type === 'text' && typeof value === 'string') return value
  if (typeof value === 'object') {
    if (type === 'int8' && 'integer' in value) return value.integer
    if (type === 'bytea' && 'base64' in value) return value.base64
  }
  throw new RowsRefusedError(
    `the archive has a value of another type than ${type} in ${table}.${name}, which PostgreSQL cannot store`,
  )
}

function fromJson({ type }: Column, index: number) {
  const text = sql`r ->> ${sql.lit(index)}`
  if (type === 'int8') return sql`(${text})::bigint`
  return type === 'bytea' ? sql`decode(${text}, 'base64')` : text
}

/**
 * Replaces the character U+0000 in JSON by what stands for it in PostgreSQL, written as an escape
 * sequence, because the pool replaces the noncharacter itself.
 */
function withoutNull(json: string): string {
  if (!json.includes('\\u0000')) return json
  return json.replaceAll(/\\(?:u0000|.)/g, (found) => (found === '\\u0000' ? '\\ufdd00' : found))
}

/**
 * Drops the foreign keys, so that rows can be inserted in any order. The returned function creates
 * them again, which checks all rows.
 */
async function dropReferences(tx: Tx): Promise<() => Promise<void>> {
  const { rows } = await sql<{ table: string; name: string; definition: string }>`
    select conrelid::regclass::text as "table", conname::text as name,
      pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace
    order by conrelid::regclass::text, conname`.execute(tx)
  for (const { table, name } of rows)
    await sql`alter table ${sql.raw(table)} drop constraint ${sql.id(name)}`.execute(tx)
  return async () => {
    for (const { table, name, definition } of rows)
      await addReference(tx, table, sql`${sql.id(name)} ${sql.raw(definition)}`)
  }
}

async function addReference(tx: Tx, table: string, definition: RawBuilder<unknown>): Promise<void> {
  try {
    await sql`alter table ${sql.raw(table)} add constraint ${definition}`.execute(tx)
  } catch (error) {
    if (postgresCode(error) !== POSTGRES_ERRORS.foreignKeyViolation) throw error
    throw new RowsRefusedError(
      `the archive has a row of ${table} that refers to a missing row: ${(error as Error).message}`,
    )
  }
}

interface Identity {
  readonly table: string
  readonly column: string
  /** The number that was given out last; null for none. */
  readonly last: number | null
}

async function identitiesOf(tx: Tx): Promise<Identity[]> {
  const { rows } = await sql<Identity>`
    select table_name::text as "table", column_name::text as "column",
      pg_sequence_last_value(
        pg_get_serial_sequence(quote_ident(table_name), column_name)::regclass) as last
    from information_schema.columns
    where table_schema = current_schema() and is_identity = 'YES' order by table_name`.execute(tx)
  return rows.filter(({ table }) => !STAYING_TABLES.has(table))
}

async function lastIdsOf(tx: Tx): Promise<LastIds> {
  const identities = await identitiesOf(tx)
  return Object.fromEntries(identities.flatMap(({ table, last }) => (last ? [[table, last]] : [])))
}

/** Some rows have ids that their sequence has not given out. */
async function continueAfter(tx: Tx, lastIds: LastIds): Promise<void> {
  for (const { table, column } of await identitiesOf(tx)) {
    const id = sql.id(column)
    await sql`
      select setval(pg_get_serial_sequence(quote_ident(${table}), ${column}), last)
      from (select greatest(max(${id}), ${lastIds[table] ?? 0}) as last from ${sql.id(table)}) as ids
      where last > 0`.execute(tx)
  }
}
