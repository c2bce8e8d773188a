import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { openDatabase } from '../../src/storage/database/database.ts'
import { migrate } from '../../src/storage/database/migrate.ts'
import { openPostgres } from '../../src/storage/database/postgres.ts'
import { migrations } from '../../src/storage/migrations/index.ts'
import type { Db } from '../../src/storage/schema/schema.ts'

/** The URI of a PostgreSQL server for the tests. They use SQLite without it. */
export const postgresUrl = process.env.BRANCHLINE_TEST_POSTGRES

/** Opens an empty database of the current version. */
export async function openTestDatabase(): Promise<Db> {
  if (postgresUrl === undefined) {
    const db = openDatabase(':memory:')
    await migrate(db)
    return db
  }
  return openPostgres({ url: await createPostgres(postgresUrl), onError: () => {} })
}

/** The number of the advisory lock for the creation of the template. */
const TEMPLATE_LOCK = 7

/** Creates a database from a template, which is faster than to migrate it. Returns its URI. */
async function createPostgres(server: string): Promise<string> {
  const template = `template_${migrations.length}`
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const admin = new pg.Client(server)
  await admin.connect()
  try {
    await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
    const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [
      template,
    ])
    if (rowCount === 0) await createTemplate(admin, server, template)
    await admin.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
    await admin.query(`create database ${name} template ${template}`)
  } finally {
    await admin.end()
  }
  return urlOf(server, name)
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
