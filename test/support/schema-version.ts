import { join } from 'node:path'
import pg from 'pg'
import { Sqlite } from '../../src/platform/database/sqlite.ts'
import { databaseOf } from './database.ts'

/**
 * Makes the database of a data folder one of another version, without a migration, which programs of
 * earlier versions cannot use.
 */
export async function writeSchemaVersion(data: string, version: number): Promise<void> {
  const url = await databaseOf(data)
  if (url === undefined) {
    const sqlite = new Sqlite(join(data, 'branchline.db'))
    sqlite.pragma(`user_version = ${version}`)
    sqlite.pragma(`application_id = ${version}`)
    sqlite.close()
    return
  }
  const client = new pg.Client(url)
  await client.connect()
  await client.query('update schema_version set version = $1, oldest = $1', [version])
  await client.end()
}
