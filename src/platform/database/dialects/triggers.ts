import { sql } from 'kysely'
import type { Tx } from '../schema.ts'
import { isPostgres } from './dialects.ts'

/** A trigger as SQLite defines it (https://sqlite.org/lang_createtrigger.html). */
const TRIGGER =
  /^(?<name>\w+) (?<time>before|after) (?<event>[\w\s,]+? on \w+)(?:\s+when (?<condition>.+?))?\s+begin\s(?<body>.+)\bend$/s

/**
 * Creates a trigger for each row.
 *
 * @param text the definition as SQLite reads it, from the name on. Conditions and statements must
 *   be such as both databases understand.
 */
export async function createTrigger(tx: Tx, text: string): Promise<void> {
  await sql.raw(isPostgres(tx) ? postgresTrigger(text) : `create trigger ${text}`).execute(tx)
}

/** A trigger of PostgreSQL that runs once for all rows that a statement has changed. */
export interface StatementTrigger {
  readonly name: string
  readonly event: 'insert' | 'update' | 'delete'
  readonly table: string
  /** In PL/pgSQL. The rows are in the tables `new_rows` and `old_rows`, where the event has such. */
  readonly body: string
}

/** Creates a trigger for each statement, and its function. */
export async function createStatementTrigger(tx: Tx, trigger: StatementTrigger): Promise<void> {
  const { name, event, table, body } = trigger
  const rows = [
    ...(event === 'insert' ? [] : ['old table as old_rows']),
    ...(event === 'delete' ? [] : ['new table as new_rows']),
  ].join(' ')
  await sql
    .raw(
      `create function ${name}() returns trigger language plpgsql as
        $trigger$ ${body} $trigger$;
        create trigger ${name} after ${event} on ${table} referencing ${rows}
          for each statement execute function ${name}()`,
    )
    .execute(tx)
}

/** Drops a trigger, and on PostgreSQL its function. */
export async function dropTrigger(tx: Tx, name: string): Promise<void> {
  const trigger = sql.id(name)
  await (isPostgres(tx)
    ? sql`drop function ${trigger}() cascade`
    : sql`drop trigger ${trigger}`
  ).execute(tx)
}

/**
 * Returns the statements that create a trigger of PostgreSQL with a function of the same name. The
 * function tests the condition, because the condition of a trigger cannot contain a query
 * (https://www.postgresql.org/docs/15/sql-createtrigger.html).
 */
function postgresTrigger(text: string): string {
  const parts = TRIGGER.exec(text.trim())?.groups
  if (!parts) throw new Error(`this is no definition of a trigger: ${text}`)
  const { name, time, event = '', condition, body } = parts
  const work = condition === undefined ? body : `if ${condition} then ${body} end if;`
  // A trigger before a change returns the row with which PostgreSQL goes on.
  const result = time === 'after' ? 'null' : event.startsWith('delete') ? 'old' : 'new'
  return `create or replace function ${name}() returns trigger language plpgsql as
    $trigger$ begin ${work} return ${result}; end $trigger$;
    create trigger ${name} ${time} ${event} for each row execute function ${name}()`
}
