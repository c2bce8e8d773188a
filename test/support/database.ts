import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { openDatabase } from '../../src/storage/database/database.ts'
import { migrate } from '../../src/storage/database/migrate.ts'
import { openPostgres } from '../../src/storage/database/postgres.ts'
import { migrations } from '../../src/storage/migrations/index.ts'
import type { Db } from '../../src/storage/schema/schema.ts'

/** The URI of a PostgreSQL server for the tests. They use SQLite without it. */
export const postgresUrl = process.env.BRANCHLINE_TEST_POSTGRES

/**
 * Whether the tests run on PostgreSQL: only for tests of what SQLite alone has, which say in their
 * names why they are skipped.
 */
export const isOnPostgres = postgresUrl !== undefined

/** Opens an empty database of the current version. */
export async function openTestDatabase(): Promise<Db> {
  if (postgresUrl === undefined) {
    const db = openDatabase(':memory:')
    await migrate(db)
    return db
  }
  const name = `test_${randomUUID().replaceAll('-', '')}`
  return openPostgres({ url: await createPostgres(postgresUrl, name), onError: () => {} })
}

/**
 * Returns the URI of the database that belongs to a data folder, and creates the database when it is
 * missing. Undefined for SQLite, whose database is in the folder.
 */
export async function databaseOf(folder: string): Promise<string | undefined> {
  if (postgresUrl === undefined) return undefined
  const name = `data_${createHash('sha256').update(folder).digest('hex').slice(0, 40)}`
  return createPostgres(postgresUrl, name)
}

/** The number of the advisory lock for the creation of the template. */
const TEMPLATE_LOCK = 7

/**
 * Creates a database from a template, which is faster than to migrate it, unless the database exists.
 * Returns its URI.
 */
async function createPostgres(server: string, name: string): Promise<string> {
  const template = `template_${migrations.length}`
  const admin = new pg.Client(server)
  await admin.connect()
  try {
    await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
    if (!(await exists(admin, template))) await createTemplate(admin, server, template)
    await admin.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
    if (!(await exists(admin, name)))
      await admin.query(`create database ${name} template ${template}`)
  } finally {
    await admin.end()
  }
  return urlOf(server, name)
}

async function exists(admin: pg.Client, database: string): Promise<boolean> {
  const query = 'select 1 from pg_database where datname = $1'
  return (await admin.query(query, [database])).rowCount === 1
}

async function createTemplate(admin: pg.Client, server: string, template: string): Promise<void> {
  const draft = `${template}_draft`
  await admin.query(`drop database if exists ${draft}`)
  await admin.query(`create database ${draft}`)
  const db = openPostgres({ url: urlOf(server, draft), onError: () => {} })
  await migrate(db).finally(() => db.destroy())
  await admin.query(`alter database ${draft} rename to ${template}`)
}

function urlOf(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
