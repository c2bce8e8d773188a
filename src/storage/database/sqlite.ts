import type BetterSqlite from 'better-sqlite3'
import { usesNodeApi } from './sqlite-choice.mjs'

export type Database = BetterSqlite.Database
export type Statement = BetterSqlite.Statement

/** The driver of SQLite that fits this Node; `sqlite-choice.mjs` says why there are two. */
export const { default: Sqlite } = usesNodeApi
  ? await import('better-sqlite3-napi')
  : await import('better-sqlite3')
