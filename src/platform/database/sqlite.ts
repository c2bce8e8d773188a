import type BetterSqlite from 'better-sqlite3'
import { usesNodeApi } from './sqlite-choice.mjs'

export type Database = BetterSqlite.Database
export type Statement = BetterSqlite.Statement

/** The SQLite driver for this version of Node. `sqlite-choice.mjs` explains why there are two. */
export const { default: Sqlite } = usesNodeApi
  ? await import('better-sqlite3-napi')
  : await import('better-sqlite3')

/** Returns whether an error means that another connection has locked a database. */
export function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
