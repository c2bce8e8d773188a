import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { postgresPrograms } from '../../scripts/checks/postgres-programs.mjs'
import { freePort } from './free-port.ts'
import { execFile } from './programs.ts'

/** A PostgreSQL server of a test, which accepts one user with a password. */
export interface PostgresServer {
  readonly port: number
  /** URI of a database, without the password. */
  url(database: string): string
  readonly password: string
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

export interface PostgresServerOptions {
  /** The name of the user. */
  readonly user?: string
  /** Settings such as `max_connections=500`. By default, commits do not wait for the disk. */
  readonly settings?: readonly string[]
}

/** What a server and its standbys have in common. */
interface Installation {
  readonly user: string
  readonly password: string
  readonly settings: readonly string[]
}

/** Starts a PostgreSQL server on a free port, with the data in a folder of its own. */
export async function startPostgres({
  user = 'branchline',
  settings = [],
}: PostgresServerOptions = {}): Promise<PostgresServer> {
  const installation = { user, password: randomBytes(16).toString('hex'), settings }
  const folder = await makeFolder(installation)
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  const passwordFile = `--pwfile=${passwordFileIn(folder)}`
  const access = ['--auth=scram-sha-256', `--username=${user}`, passwordFile]
  await asUser(program('initdb'), '--pgdata', join(folder, 'data'), ...locale, ...access)
  const server = await serverIn(folder, installation)
  await server.start()
  return server
}

const program = (name: string) => join(postgresPrograms ?? '', name)

const passwordFileIn = (folder: string) => join(folder, 'password')

/** Creates a folder for a server, with a file that has the password. */
async function makeFolder({ password }: Installation): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-postgres-'))
  await writeFile(passwordFileIn(folder), `${password}\n`)
  await chmod(passwordFileIn(folder), 0o644)
  await chmod(folder, 0o755)
  if (isRoot) await execFile('chown', ['postgres', folder])
  return folder
}

/** Returns the server of a folder, on a port of its own. */
async function serverIn(folder: string, installation: Installation): Promise<Standby> {
  const { user, password } = installation
  const data = join(folder, 'data')
  const guard = startGuard(folder)
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'fsync=off', ...installation.settings]
  const options = `-p ${port} -k ${folder} ${settings.map((s) => `-c ${s}`).join(' ')}`
  const control = (...args: string[]) =>
    asUser(program('pg_ctl'), '--pgdata', data, '--wait', '--silent', ...args)
  const server: Standby = {
    port,
    url: (database) => `postgres://${user}@127.0.0.1:${port}/${database}`,
    password,
    passwordFile: passwordFileIn(folder),
    createDatabase: (name, more = '') => query(server, `create database ${name} ${more}`),
    start: () => control('--options', options, '--log', join(folder, 'log'), 'start'),
    stop: () => control('--mode=fast', 'stop'),
    crash: () => control('--mode=immediate', 'stop'),
    async startStandby() {
      const copy = await makeFolder(installation)
      const from = ['--host=127.0.0.1', `--port=${port}`, `--username=${user}`]
      const to = ['--pgdata', join(copy, 'data'), '--write-recovery-conf', '--no-sync']
      const environment = `PGPASSWORD=${password}`
      await asUser(
        'env',
        environment,
        program('pg_basebackup'),
        ...from,
        ...to,
        '--checkpoint=fast',
      )
      const standby = await serverIn(copy, installation)
      await standby.start()
      await query(server, "alter system set synchronous_standby_names = '*'")
      await query(server, 'select pg_reload_conf()')
      return standby
    },
    promote: () => control('promote'),
    async remove() {
      guard.ref()
      guard.stdin.end()
      await once(guard, 'exit')
    },
  }
  return server
}

/**
 * Waits for the end of standard input, whose other end this process holds, so that the server ends
 * with this process, however that ends. Then stops the server at once, by SIGQUIT
 * (https://www.postgresql.org/docs/15/server-shutdown.html), and removes its files.
 */
const GUARD = `trap '' HUP INT TERM
cat >/dev/null
if pid=$(head -n 1 "$1/data/postmaster.pid"); then
  kill -QUIT "$pid"
  while kill -0 "$pid"; do sleep 0.05; done
fi
rm -rf "$1"`

function startGuard(folder: string): ChildProcessByStdio<Writable, null, null> {
  const guard = spawn('sh', ['-c', GUARD, 'sh', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  ;(guard.stdin as Socket).unref()
  return guard
}

async function query({ url, password }: PostgresServer, text: string): Promise<void> {
  const args = ['--quiet', '--command', text, url('postgres')]
  await execFile(program('psql'), args, { env: { ...process.env, PGPASSWORD: password } })
}

const isRoot = userInfo().uid === 0

/** Runs a program as a user that PostgreSQL accepts: not as root. */
async function asUser(program: string, ...args: string[]): Promise<void> {
  const [command, prefix] = isRoot ? ['runuser', ['-u', 'postgres', '--', program]] : [program, []]
  await execFile(command, [...prefix, ...args], { cwd: tmpdir() })
}
