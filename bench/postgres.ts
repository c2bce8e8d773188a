import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { postgresPrograms } from '../scripts/checks/postgres-programs.mjs'
import { startPostgres } from '../test/support/postgres-server.ts'
import { cpuMsOf } from './processes.ts'

/** A PostgreSQL server with the durability of its default settings. */
export interface BenchPostgres {
  /** Creates a database, and returns the options of `serve` for it. */
  createDatabase(name: string): Promise<readonly string[]>
  /** Runs statements in a database. Returns the rows of the last one. */
  query(database: string, ...statements: readonly string[]): Promise<Record<string, unknown>[]>
  /** CPU time of all its processes. */
  cpuMs(): number | undefined
  stop(): Promise<void>
}

/** Starts a server in a folder of its own. Returns undefined where PostgreSQL is not installed. */
export async function startBenchPostgres(): Promise<BenchPostgres | undefined> {
  if (postgresPrograms === undefined) return undefined
  const server = await startPostgres({ settings: ['fsync=on'] })
  const { passwordFile } = server
  // The first line is the process id (https://www.postgresql.org/docs/15/storage-file-layout.html).
  const pidFile = join(dirname(passwordFile), 'data', 'postmaster.pid')
  const pid = readFileSync(pidFile, 'utf8').split('\n', 1)[0] ?? ''
  const password = readFileSync(passwordFile, 'utf8').trim()
  return {
    async createDatabase(name) {
      await server.createDatabase(name)
      return ['--database', server.url(name), '--database-password-file', passwordFile]
    },
    async query(database, ...statements) {
      const url = new URL(server.url(database))
      url.password = password
      const client = new pg.Client({ connectionString: url.href })
      await client.connect()
      try {
        let rows: Record<string, unknown>[] = []
        for (const statement of statements) ({ rows } = await client.query(statement))
        return rows
      } finally {
        await client.end()
      }
    },
    cpuMs: () => cpuMsOf(pid),
    stop: () => server.remove(),
  }
}
