import type Sqlite from 'better-sqlite3'
import type { Compilable, CompiledQuery } from 'kysely'
import { type Db, readerOf } from './database.ts'

/**
 * A read that is built and compiled once, for paths where building it would cost more than running it.
 *
 * Outside of transactions it runs on the reading connection, past Kysely's queue.
 *
 * @param build builds the query from its arguments, which it must use as parameters only: at that time they are
 *   placeholders, not values.
 * @returns a function that runs the query with values in place of the placeholders.
 */
export function prepareQuery<Args extends readonly unknown[], Row>(
  build: (db: Db, ...args: Args) => Compilable<Row>,
): (db: Db, ...args: Args) => Promise<Row[]> {
  let compiled: { query: CompiledQuery<Row>; slots: readonly number[] } | undefined
  const statements = new WeakMap<Sqlite.Database, Sqlite.Statement<unknown[], Row>>()
  return async (db, ...args) => {
    compiled ??= compile(build, db, args.length)
    const { query, slots } = compiled
    const parameters = query.parameters.map((fixed, i) => {
      const slot = slots[i] ?? -1
      return slot < 0 ? fixed : args[slot]
    })
    const reader = readerOf(db)
    if (!reader) return (await db.executeQuery<Row>({ ...query, parameters })).rows
    let statement = statements.get(reader)
    if (!statement) {
      statement = reader.prepare<unknown[], Row>(query.sql)
      statements.set(reader, statement)
    }
    return statement.all(parameters)
  }
}

function compile<Args extends readonly unknown[], Row>(
  build: (db: Db, ...args: Args) => Compilable<Row>,
  db: Db,
  count: number,
) {
  const placeholders = Array.from({ length: count }, (_, i) => Symbol(`argument ${i}`))
  // Kysely passes parameters through untouched, so a symbol stands for any type until the query runs.
  const query = build(db, ...(placeholders as unknown as Args)).compile()
  return { query, slots: query.parameters.map((parameter) => placeholders.indexOf(parameter as symbol)) }
}
