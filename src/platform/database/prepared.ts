import { type Compilable, type CompiledQuery, type Expression, SelectQueryNode, sql } from 'kysely'
import { type NamedRows, namedRows, readerOf, withOpaqueLimits } from './database.ts'
import { either, isPostgres } from './dialects/dialects.ts'
import { PostgresHandle } from './postgres-transactions.ts'
import type { Reader } from './reader.ts'
import type { Db } from './schema.ts'

/**
 * Creates a read query that is built and compiled once, for queries that take longer to build than
 * to run.
 *
 * Outside of transactions, the query runs on the reading connection of SQLite and does not wait in
 * Kysely's queue. PostgreSQL gets it together with the other ones of the moment (`postgres-reads.ts`).
 *
 * @param build builds the query. The arguments are placeholders, so it must use them as parameters
 *   only.
 * @returns a function that runs the query with actual values.
 */
export function prepareQuery<Args extends readonly unknown[], Row>(
  build: (db: Db, ...args: Args) => Compilable<Row>,
): (db: Db, ...args: Args) => Promise<Row[]> {
  return prepare(
    build,
    (rows) => rows,
    (rows) => rows.all,
  )
}

/** Creates a prepared query for the first row; undefined when there is none. */
export function prepareFirst<Args extends readonly unknown[], Row>(
  build: (db: Db, ...args: Args) => Compilable<Row>,
): (db: Db, ...args: Args) => Promise<Row | undefined> {
  return prepare(
    build,
    (rows) => rows[0],
    (rows) => rows.get,
  )
}

/** The maximum number of shapes of one query that are kept. */
const MAX_SHAPES = 200

/**
 * Creates prepared queries that differ in more than their values, such as in the columns of their
 * order. Each shape is built and compiled at its first use.
 *
 * @param build builds the query of a shape, with a placeholder in place of each value: shapes with
 *   the same key share the query.
 * @returns a function that runs the query of a shape with a key. The values are in the order in
 *   which `build` asks for placeholders.
 */
export function prepareShapes<Shape, Row>(
  build: (db: Db, shape: Shape, placeholder: () => never) => Compilable<Row>,
): (db: Db, key: string, shape: Shape, values: readonly unknown[]) => Promise<Row[]> {
  const known = new Map<string, (db: Db, ...values: readonly unknown[]) => Promise<Row[]>>()
  return (db, key, shape, values) => {
    let query = known.get(key)
    if (!query) {
      if (known.size >= MAX_SHAPES) known.clear()
      query = prepareQuery((handle, ...placeholders: readonly unknown[]) => {
        let next = 0
        return build(handle, shape, () => placeholders[next++] as never)
      })
      known.set(key, query)
    }
    return query(db, ...values)
  }
}

/**
 * Returns the numbers of a JSON array for `in`. A prepared query takes any number of values as one
 * parameter.
 *
 * @param json the placeholder of the array.
 */
export function numbersOf(json: string): Expression<number> {
  return either<number>({
    sqlite: sql`(select value from json_each(${json}))`,
    postgres: sql`(select value::bigint from json_array_elements_text(${json}::json))`,
  })
}

/** Returns the texts of a JSON array for `in`, as `numbersOf` does. */
export function textsOf(json: string): Expression<string> {
  return either<string>({
    sqlite: sql`(select value from json_each(${json}))`,
    // JSON cannot have U+0000 either: \ufdd0 stands for it (`postgres-values.ts`).
    postgres: sql`(select value from json_array_elements_text(replace(${json}, '\\u0000', '\\ufdd00')::json))`,
  })
}

type Read<Result> = (parameters: readonly unknown[]) => Result

/**
 * @param pick takes the result from the rows of Kysely.
 * @param read returns how the result is read on the reading connection.
 */
function prepare<Args extends readonly unknown[], Row, Result>(
  build: (db: Db, ...args: Args) => Compilable<Row>,
  pick: (rows: Row[]) => Result,
  read: (rows: NamedRows<Row>) => Read<Result>,
): (db: Db, ...args: Args) => Promise<Result> {
  const compiled = new Map<boolean, Compiled<Row>>()
  const reads = new WeakMap<Reader, Read<Result>>()
  return async (db, ...args) => {
    const forPostgres = isPostgres(db)
    let known = compiled.get(forPostgres)
    if (!known) {
      known = compile(build, db, args.length)
      compiled.set(forPostgres, known)
    }
    const { query, slots } = known
    const parameters = slots
      ? slots.map((slot, i) => (slot < 0 ? query.parameters[i] : args[slot]))
      : args
    const reader = readerOf(db)
    if (!reader) {
      const rows = readRows(db, query, parameters)
      if (rows) return pick(await rows)
      return pick((await db.executeQuery<Row>({ ...query, parameters })).rows)
    }
    const { snapshot } = reader
    let run = reads.get(reader)
    if (!run) {
      run = read(namedRows(snapshot.prepare(withOpaqueLimits(query.sql))))
      reads.set(reader, run)
    }
    return run(parameters)
  }
}

/** Reads the rows of a query outside of transactions of PostgreSQL; undefined elsewhere. */
function readRows<Row>(
  db: Db,
  { query, sql }: CompiledQuery<Row>,
  parameters: readonly unknown[],
): Promise<Row[]> | undefined {
  if (!(db instanceof PostgresHandle) || !SelectQueryNode.is(query)) return undefined
  return db.read(sql, parameters) as Promise<Row[]> | undefined
}

interface Compiled<Row> {
  readonly query: CompiledQuery<Row>
  /**
   * For each parameter the index of its argument, or a negative number for a fixed value; undefined
   * when the parameters are the arguments.
   */
  readonly slots: readonly number[] | undefined
}

function compile<Args extends readonly unknown[], Row>(
  build: (db: Db, ...args: Args) => Compilable<Row>,
  db: Db,
  count: number,
): Compiled<Row> {
  const placeholders = Array.from({ length: count }, (_, i) => Symbol(`argument ${i}`))
  // Kysely passes parameters through unchanged, so a symbol can represent a value of any type.
  const query = build(db, ...(placeholders as unknown as Args)).compile()
  const slots = query.parameters.map((parameter) => placeholders.indexOf(parameter as symbol))
  const areArguments = slots.length === count && slots.every((slot, i) => slot === i)
  return { query, slots: areArguments ? undefined : slots }
}
