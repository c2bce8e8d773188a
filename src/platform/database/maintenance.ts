import { sql } from 'kysely'
import { isPostgres } from './dialects/dialects.ts'
import type { Db, Tx } from './schema.ts'

/**
 * Returns the problems of the database itself, one sentence each. With SQLite: of the file, which is
 * read as a whole, and of its foreign keys.
 */
export async function databaseProblems(db: Db): Promise<string[]> {
  if (isPostgres(db)) return postgresProblems(db)
  const { rows: integrity } = await sql<{
    integrity_check: string
  }>`pragma integrity_check`.execute(db)
  const { rows: references } = await sql<{ table: string; rowid: number; parent: string }>`
    pragma foreign_key_check`.execute(db)
  return [
    ...integrity.map((row) => row.integrity_check).filter((text) => text !== 'ok'),
    ...references.map(
      ({ table, rowid, parent }) =>
        `row ${rowid} of ${table} refers to a row of ${parent} that is missing`,
    ),
  ]
}

/** Returns what is left out of the check of a database; undefined for nothing. */
export async function uncheckedParts(db: Db): Promise<string | undefined> {
  if (!isPostgres(db) || (await canCheckIndexes(db))) return undefined
  return 'the indexes of PostgreSQL are not compared with the rows: that needs its extension amcheck'
}

/** Returns the size of the database in bytes. With SQLite: of the file, without its log. */
export async function databaseBytes(db: Db): Promise<number> {
  const { rows } = await (isPostgres(db)
    ? sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
    : sql<{ bytes: number }>`
          select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
  ).execute(db)
  return Number(rows[0]?.bytes ?? 0)
}

/** Returns the ids of all repositories, in ascending order. */
export async function allRepositoryIds(db: Db): Promise<number[]> {
  const rows = await db.selectFrom('repositories').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/**
 * Records a pending update for every repository, so that its refs, including those of pull
 * requests, are read from Git again.
 */
export async function markAllRepositoriesPending(tx: Tx): Promise<void> {
  await tx
    .insertInto('pending_ref_updates')
    .columns(['repository_id'])
    .expression((eb) => eb.selectFrom('repositories').select('id'))
    .execute()
  await tx.updateTable('issues').set({ head_ref_commit: null }).where('is_pull', '=', 1).execute()
}

/**
 * Returns what PostgreSQL says against a database, one sentence each. Foreign keys and checks hold,
 * unless a constraint is not valid (https://www.postgresql.org/docs/15/catalog-pg-constraint.html).
 */
async function postgresProblems(db: Db): Promise<string[]> {
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
async function canCheckIndexes(db: Db): Promise<boolean> {
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
