import { sql } from 'kysely'
import type { Db } from './schema.ts'

/**
 * Returns what PostgreSQL says against a database, one sentence each. Foreign keys and checks hold,
 * unless a constraint is not valid (https://www.postgresql.org/docs/15/catalog-pg-constraint.html).
 */
export async function postgresProblems(db: Db): Promise<string[]> {
  const { rows: constraints } = await sql<{ table: string; name: string }>`
    select conrelid::regclass::text as "table", conname::text as name from pg_constraint
    where not convalidated and connamespace = current_schema()::regnamespace order by 1, 2`.execute(
    db,
  )
  const { rows: indexes } = await sql<{ name: string }>`
    select indexrelid::regclass::text as name from pg_index join pg_class on pg_class.oid = indexrelid
    where relnamespace = current_schema()::regnamespace
      and not (indisvalid and indisready and indislive) order by 1`.execute(db)
  const { rows: triggers } = await sql<{ table: string; name: string }>`
    select tgrelid::regclass::text as "table", tgname::text as name
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = current_schema()::regnamespace and tgenabled = 'D' order by 1, 2`.execute(
    db,
  )
  return [
    ...constraints.map(({ table, name }) => `the constraint ${name} of ${table} is not validated`),
    ...indexes.map(({ name }) => `the index ${name} is not valid`),
    ...triggers.map(({ table, name }) => `the trigger ${name} of ${table} is switched off`),
    ...((await canCheckIndexes(db)) ? await indexProblems(db) : []),
  ]
}

/**
 * Returns whether the indexes are compared with the rows: if the extension amcheck is installed, and
 * the role may use it (https://www.postgresql.org/docs/15/amcheck.html).
 */
export async function canCheckIndexes(db: Db): Promise<boolean> {
  const { rows } = await sql<{ can: number | null }>`
    select has_function_privilege(to_regprocedure('bt_index_check(regclass, boolean)')::oid, 'execute')
      as can`.execute(db)
  return rows[0]?.can === 1
}

async function indexProblems(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: number; name: string }>`
    select indexrelid::bigint as id, indexrelid::regclass::text as name
    from pg_index join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam
    where relnamespace = current_schema()::regnamespace and amname = 'btree' and indisvalid
    order by 2`.execute(db)
  const problems: string[] = []
  for (const { id, name } of rows) {
    try {
      await sql`select bt_index_check(${id}::bigint::oid::regclass, true)`.execute(db)
    } catch (error) {
      problems.push(
        `the index ${name} is damaged: ${error instanceof Error ? error.message : error}`,
      )
    }
  }
  return problems
}
