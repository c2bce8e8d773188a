import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { migrate, migrations } from '../../src/forge/migrations/index.ts'
import { openPostgres } from '../../src/platform/database/postgres.ts'

/** The number of the advisory lock for the creation of the template. */
const TEMPLATE_LOCK = 7

/** After so many uses, the deleted rows of a database would slow its queries down. */
const MAX_USES = 50

/** A database that tests use one after the other. */
interface PooledDatabase {
  readonly name: string
  uses: number
}

/** What a database without the traces of a test has. */
interface CleanState {
  /** The queries whose result is the tables with rows. */
  readonly findRows: string
  /** The rows of a new instance, as JSON by table. */
  readonly rows: ReadonlyMap<string, string>
  /** The last values of the sequences that were used, by name. */
  readonly sequences: ReadonlyMap<string, string>
  /** Differs once a test has changed the schema, or the statistics that plans follow. */
  readonly shape: string
}

/**
 * Empty databases of the current version on a PostgreSQL server, for the tests of one worker. A test
 * gets one that another test has used: to delete the few rows that a test leaves takes a fraction of
 * the time of a new database.
 */
export class PostgresPool {
  readonly #server: string
  readonly #idle: PooledDatabase[] = []
  readonly #inUse = new Map<string, PooledDatabase>()
  #clean: CleanState | undefined

  /** @param server the URI of any database of the server, of a user who may create databases. */
  constructor(server: string) {
    this.#server = server
  }

  /** Returns the name of an empty database. */
  async acquire(): Promise<string> {
    const database = this.#idle.pop() ?? (await this.#create())
    database.uses += 1
    this.#inUse.set(database.name, database)
    return database.name
  }

  /** Ends all connections of a database, and makes it available again. */
  async release(name: string): Promise<void> {
    const database = this.#inUse.get(name)
    if (!database) return
    this.#inUse.delete(name)
    if (database.uses < MAX_USES && (await this.#reset(name))) this.#idle.push(database)
    else await withClient(this.#server, (admin) => drop(admin, name))
  }

  /** Returns the URI of a database. */
  urlOf(name: string): string {
    const url = new URL(this.#server)
    url.pathname = `/${name}`
    return url.href
  }

  async #create(): Promise<PooledDatabase> {
    const name = `test_${randomUUID().replaceAll('-', '')}`
    const template = `template_${migrations.length}`
    await withClient(this.#server, async (admin) => {
      await admin.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
      if (!(await exists(admin, template))) await this.#createTemplate(admin, template)
      await admin.query('select pg_advisory_unlock($1)', [TEMPLATE_LOCK])
      // A copy of the files takes half the time of a copy through the log.
      await admin.query(`create database ${name} template ${template} strategy file_copy`)
    })
    this.#clean ??= await withClient(this.urlOf(name), readCleanState)
    return { name, uses: 0 }
  }

  /** The template has rules for sorting that differ from those of SQLite, as many installations have. */
  async #createTemplate(admin: pg.Client, template: string): Promise<void> {
    const draft = `${template}_draft`
    await admin.query(`drop database if exists ${draft}`)
    await admin.query(
      `create database ${draft} template template0 locale_provider icu icu_locale 'en'`,
    )
    const db = openPostgres({ url: this.urlOf(draft), onError: () => {} })
    await migrate(db).finally(() => db.destroy())
    await admin.query(`alter database ${draft} rename to ${template}`)
  }

  /** Returns false where a test has changed more than rows, or has removed the database. */
  async #reset(name: string): Promise<boolean> {
    const clean = this.#clean
    const isThere = await withClient(this.#server, (admin) => exists(admin, name))
    if (!clean || !isThere) return false
    return withClient(this.urlOf(name), async (client) => {
      await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`)
      if ((await readShape(client)) !== clean.shape) return false
      // Neither triggers nor foreign keys run.
      await client.query('set session_replication_role = replica')
      const used = (await client.query<{ name: string }>(clean.findRows)).rows
      const tables = new Set([...used.map((row) => row.name), ...clean.rows.keys()])
      const sequences = await usedSequences(client)
      await client.query(
        [
          ...[...tables].map((table) => `delete from "${table}"`),
          ...[...clean.rows].map(([table, rows]) => insertSql(table, rows)),
          ...[...sequences.keys()].map((sequence) =>
            restartSql(sequence, clean.sequences.get(sequence)),
          ),
        ].join(';\n'),
      )
      return true
    })
  }
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function exists(admin: pg.Client, database: string): Promise<boolean> {
  const query = 'select 1 from pg_database where datname = $1'
  return (await admin.query(query, [database])).rowCount === 1
}

async function drop(admin: pg.Client, name: string): Promise<void> {
  await admin.query(`drop database if exists ${name} with (force)`)
}

async function readCleanState(client: pg.Client): Promise<CleanState> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  const findRows = tables
    .map(({ name }) => `select '${name}' as name where exists (select from "${name}")`)
    .join(' union all ')
  const filled = (await client.query<{ name: string }>(findRows)).rows
  const rows = new Map<string, string>()
  for (const { name } of filled) {
    const all = `select jsonb_agg(t)::text as rows from "${name}" t`
    rows.set(name, (await client.query<{ rows: string }>(all)).rows[0]?.rows ?? '[]')
  }
  return {
    findRows,
    rows,
    sequences: await usedSequences(client),
    shape: await readShape(client),
  }
}

async function usedSequences(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; value: string }>(
    'select sequencename as name, last_value::text as value from pg_sequences where last_value is not null',
  )
  return new Map(rows.map(({ name, value }) => [name, value]))
}

async function readShape(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ shape: string }>(`
    select concat_ws(' ', count(*), sum(relnatts), sum(relchecks), max(reltuples),
      (select count(*) from pg_trigger)) as shape
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'i')`)
  return rows[0]?.shape ?? ''
}

function insertSql(table: string, rows: string): string {
  const json = pg.escapeLiteral(rows)
  return `insert into "${table}" overriding system value select * from jsonb_populate_recordset(null::"${table}", ${json})`
}

function restartSql(sequence: string, value: string | undefined): string {
  return value === undefined
    ? `alter sequence "${sequence}" restart`
    : `select setval('"${sequence}"', ${value})`
}
