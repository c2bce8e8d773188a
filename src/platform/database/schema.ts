import type { Kysely, Transaction } from 'kysely'

/** All tables. The `schema.ts` of each subject adds its own. */
export interface Schema {
  data_folders: DataFoldersTable
}

/** A handle for queries. Can also be a transaction. */
export type Db = Kysely<Schema>

/**
 * A handle that exists only inside a transaction. Functions with several statements that belong
 * together require this type.
 */
export type Tx = Transaction<Schema>

/** The data folder that belongs to a PostgreSQL database, which has one row. SQLite has none. */
export interface DataFoldersTable {
  /** The content of the file `postgresql` in the folder. */
  id: string
}
