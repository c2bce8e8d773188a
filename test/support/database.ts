import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { openDatabase } from '../../src/storage/database/database.ts'
import { migrate } from '../../src/storage/database/migrate.ts'
import { openPostgres } from '../../src/storage/database/postgres.ts'
import { migrations } from '../../src/storage/migrations/index.ts'
import type { Db } from '../../src/storage/schema/schema.ts'

/** The URI of a PostgreSQL server for the tests. They use SQLite without it. */
const postgresUrl = process.env.BRANCHLINE_TEST_POSTGRES

/**
 * Whether the tests run on PostgreSQL: only for tests of what SQLite alone has, which say in their
 * names why they are skipped.
 */
export const isOnPostgres = postgresUrl !== undefined

/** The databases on PostgreSQL that this file of tests has opened, in their order. */
const opened = new Set<string>()

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
  return postgresUrl && createPostgres(postgresUrl, nameOf(folder))
}

/** Drops the database of a data folder that is about to be removed. */
export async function dropDatabaseOf(folder: string): Promise<void> {
  await dropPostgres([nameOf(folder)].filter((name) => opened.has(name)))
}

/** Returns the databases on PostgreSQL that are not in data folders. */
export function listTestDatabases(): string[] {
  return [...opened].filter((name) => name.startsWith('test_'))
}

/** Drops databases on PostgreSQL, by default all that this file of tests has opened. */
export async function dropPostgres(names: readonly string[] = [...opened]): Promise<void> {
  if (postgresUrl === undefined || names.length === 0) return
  const admin = new pg.Client(postgresUrl)
  await admin.connect()
  try {
    for (const name of names) {
      await admin.query(`drop database if exists ${name} with (force)`)
      opened.delete(name)
    }
  } finally {
    await admin.end()
  }
}

function nameOf(folder: string): string {
  return `data_${createHash('sha256').update(folder).digest('hex').slice(0, 40)}`
}

/** The number of the advisory lock for the creation of the template. */
const TEMPLATE_LOCK = 7

/**
 * Creates a database from a template, which is faster than to migrate it, unless the database exists.
 * Returns its URI.
 */
async function createPostgres(server: string, name: string): Promise<string> {
  if (opened.has(name)) return urlOf(server, name)
  const template = `template_${migrations.length}`
  const admin = new pg.Client(server)
  await admin.connect()
  try {
    await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
    if (!(await exists(admin, template))) await createTemplate(admin, server, template)
    await admin.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
    // A copy of the files takes half the time of a copy through the log.
    if (!(await exists(admin, name)))
      await admin.query(`create database ${name} template ${template} strategy file_copy`)
  } finally {
    await admin.end()
  }
  opened.add(name)
  return urlOf(server, name)
}

async function exists(admin: pg.Client, database: string): Promise<boolean> {
  const query = 'select 1 from pg_database where datname = $1'
  return (await admin.query(query, [database])).rowCount === 1
}

/** The template has rules for sorting that differ from those of SQLite, as many installations have. */
async function createTemplate(admin: pg.Client, server: string, template: string): Promise<void> {
  const draft = `${template}_draft`
  await admin.query(`drop database if exists ${draft}`)
  await admin.query(
    `create database ${draft} template template0 locale_provider icu icu_locale 'en'`,
  )
  const db = openPostgres({ url: urlOf(server, draft), onError: () => {} })
  await migrate(db).finally(() => db.destroy())
  await admin.query(`alter database ${draft} rename to ${template}`)
}

function urlOf(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
