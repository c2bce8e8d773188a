import { sql } from 'kysely'
import type { Db, Tx } from '../schema.ts'
import { isPostgres } from './dialects.ts'
import { createTrigger, dropTrigger } from './triggers.ts'

/**
 * The index of the trigrams of files, whose rows are in `code_files`.
 *
 * SQLite: an FTS5 table without the texts and without places, which says only which files have a token.
 * PostgreSQL: vectors without places, in a GIN index.
 */
export async function createCodeIndex(tx: Tx): Promise<void> {
  if (isPostgres(tx)) {
    await sql`alter table code_files add column tokens tsvector`.execute(tx)
    await sql`create index code_files_tokens on code_files using gin (tokens)`.execute(tx)
    return
  }
  await sql`create virtual table code_trigrams using fts5(tokens, content = '',
    contentless_delete = 1, detail = none, tokenize = 'ascii')`.execute(tx)
  await createTrigger(
    tx,
    `${REMOVAL} after delete on code_files begin
      delete from code_trigrams where rowid = old.id; end`,
  )
}

/** Drops the index, before `code_files` is dropped. */
export async function dropCodeIndex(tx: Tx): Promise<void> {
  // PostgreSQL drops the column with its table.
  if (isPostgres(tx)) return
  await dropTrigger(tx, REMOVAL)
  await sql`drop table code_trigrams`.execute(tx)
}

const REMOVAL = 'code_file_removed'

/** Writes the tokens of a new file to the index. */
export async function writeTrigrams(tx: Tx, id: number, tokens: readonly string[]): Promise<void> {
  // Tokens are letters and digits, so they need no escapes.
  const text = tokens.join(' ')
  await (isPostgres(tx)
    ? sql`update code_files set tokens = ${text}::tsvector where id = ${id}`
    : sql`insert into code_trigrams (rowid, tokens) values (${id}, ${text})`
  ).execute(tx)
}

/** Returns the ids below `before` of files that have all of some tokens, in descending order. */
export async function listIdsWithTrigrams(
  db: Db,
  tokens: readonly string[],
  before: number,
  limit: number,
): Promise<readonly { readonly id: number }[]> {
  const match = tokens.map((token) => `"${token}"`).join(' AND ')
  const query = tokens.map((token) => `'${token}'`).join(' & ')
  const { rows } = await (isPostgres(db)
    ? // Materialized, since a walk through the ids from the end would read all files for a rare text.
      sql<{ id: number }>`with hits as materialized (
        select id from code_files where tokens @@ ${query}::tsquery
      ) select id from hits where id < ${before} order by id desc limit ${limit}`
    : sql<{ id: number }>`select rowid as id from code_trigrams
        where code_trigrams match ${match} and rowid < ${before} order by rowid desc limit ${limit}`
  ).execute(db)
  return rows
}
