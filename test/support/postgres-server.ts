import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Where Debian's packages put the programs of each version. */
const VERSIONS = '/usr/lib/postgresql'

/** The folder of the newest PostgreSQL programs; undefined where none are installed. */
export const postgresPrograms = findPrograms()

function findPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined
  const [newest] = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a))
  const folder = join(VERSIONS, newest ?? '', 'bin')
  return existsSync(join(folder, 'initdb')) ? folder : undefined
}

/** A PostgreSQL server of a test, which accepts one user with a password. */
export interface PostgresServer {
  readonly port: number
  /** URI of a database, without the password. */
  url(database: string): string
  readonly passwordFile: string
  createDatabase(name: string, options?: string): Promise<void>
  start(): Promise<void>
  /** Ends all connections and stops the server, as an operator does. */
  stop(): Promise<void>
  /** Stops the server as a power failure does. */
  crash(): Promise<void>
  /**
   * Copies the server to a standby, which starts and follows. From then on, a commit waits until the
   * standby has it.
   */
  startStandby(): Promise<Standby>
  /** Stops the server and removes its files. */
  remove(): Promise<void>
}

/** A server that follows another one until it takes its place. */
export interface Standby extends PostgresServer {
  promote(): Promise<void>
}

/** Starts a PostgreSQL server on a free port, with the data in a folder of its own. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await makeFolder()
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  const password = `--pwfile=${passwordFileIn(folder)}`
  const access = ['--auth=scram-sha-256', '--username=branchline', password]
  await asUser(program('initdb'), '--pgdata', join(folder, 'data'), ...locale, ...access)
  const server = await serverIn(folder)
  await server.start()
  return server
}

/** The password of the user. */
export const POSTGRES_PASSWORD = 'tulip'

const program = (name: string) => join(postgresPrograms ?? '', name)

const passwordFileIn = (folder: string) => join(folder, 'password')

/** Creates a folder for a server, with a file that has the password. */
async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-postgres-'))
  await writeFile(passwordFileIn(folder), `${POSTGRES_PASSWORD}\n`)
  await chmod(passwordFileIn(folder), 0o644)
  await chmod(folder, 0o755)
  if (isRoot) await run('chown', ['postgres', folder])
  return folder
}

/** Returns the server of a folder, on a port of its own. */
async function serverIn(folder: string): Promise<Standby> {
  const data = join(folder, 'data')
  const port = await freePort()
  const settings = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=off`
  const control = (...args: string[]) =>
    asUser(program('pg_ctl'), '--pgdata', data, '--wait', '--silent', ...args)
  const server: Standby = {
    port,
    url: (database) => `postgres://branchline@127.0.0.1:${port}/${database}`,
    passwordFile: passwordFileIn(folder),
    async createDatabase(name, options = '') {
      await query(server, `create database ${name} ${options}`)
    },
    start: () => control('--options', settings, '--log', join(folder, 'log'), 'start'),
    stop: () => control('--mode=fast', 'stop'),
    crash: () => control('--mode=immediate', 'stop'),
    async startStandby() {
      const copy = await makeFolder()
      const from = ['--host=127.0.0.1', `--port=${port}`, '--username=branchline']
      const to = ['--pgdata', join(copy, 'data'), '--write-recovery-conf', '--no-sync']
      const password = `PGPASSWORD=${POSTGRES_PASSWORD}`
      await asUser('env', password, program('pg_basebackup'), ...from, ...to, '--checkpoint=fast')
      const standby = await serverIn(copy)
      await standby.start()
      await query(server, "alter system set synchronous_standby_names = '*'")
      await query(server, 'select pg_reload_conf()')
      return standby
    },
    promote: () => control('promote'),
    async remove() {
      await control('--mode=immediate', 'stop').catch(() => {})
      await rm(folder, { recursive: true })
    },
  }
  return server
}

async function query(server: PostgresServer, text: string): Promise<void> {
  const args = ['--quiet', '--command', text, server.url('postgres')]
  await run(program('psql'), args, { env: { ...process.env, PGPASSWORD: POSTGRES_PASSWORD } })
}

const isRoot = userInfo().uid === 0

/** Runs a program as a user that PostgreSQL accepts: not as root. */
async function asUser(program: string, ...args: string[]): Promise<void> {
  const [command, prefix] = isRoot ? ['runuser', ['-u', 'postgres', '--', program]] : [program, []]
  await run(command, [...prefix, ...args], { cwd: tmpdir() })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
