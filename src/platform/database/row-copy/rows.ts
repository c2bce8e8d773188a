import type { RowText } from './row-text.ts'

/** A table with the columns whose values its rows have, in order. */
export interface RowTable {
  readonly name: string
  readonly columns: readonly string[]
}

/** The highest id that each table has given out, so that no id is given out twice. */
export type LastIds = Readonly<Record<string, number>>

/** Reads a database as it was at one moment. */
export interface RowReader {
  /** The version of the schema. */
  readonly schema: number
  tables(): Promise<readonly RowTable[]>
  /** Yields the rows of a table in groups of about a mebibyte, in any order. */
  rows(table: RowTable): AsyncIterable<readonly RowText[]>
  /** Returns the ids of the rows of a table, in ascending order. */
  ids(table: 'repositories' | 'release_assets' | 'issue_attachments'): Promise<number[]>
  lastIds(): Promise<LastIds>
}

/** Replaces the rows of a database. Triggers do not run, since the rows have their results. */
export interface RowLoader extends Pick<RowReader, 'tables' | 'rows'> {
  /** @throws RowsRefusedError when a row does not fit into the table. */
  insert(table: RowTable, rows: readonly RowText[]): Promise<void>
  /** Lets new ids continue after these, and after the ids of the rows. */
  continueAfter(lastIds: LastIds): Promise<void>
}

/**
 * Tables whose rows do not move: PostgreSQL's number of the schema, for which SQLite has a place of
 * its own, the data folder that the database belongs to, and the index of texts, which is made again
 * from the texts.
 */
export const STAYING_TABLES: ReadonlySet<string> = new Set([
  'schema_version',
  'data_folders',
  'search_texts',
  'search_words',
  'code_files',
  'code_indexes',
  ...['', '_config', '_data', '_docsize', '_idx'].flatMap((end) => [
    `search_index${end}`,
    `code_trigrams${end}`,
  ]),
])

/** The size of a group of rows, in characters, after which no row is added. */
export const GROUP_CHARACTERS = 1 << 20
/** The maximum number of rows in a group. */
export const GROUP_ROWS = 2_000
