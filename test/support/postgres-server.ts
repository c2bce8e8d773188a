import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { promisify } from 'node:util'
import { postgresPrograms } from '../../scripts/checks/postgres-programs.mjs'

const run = promisify(execFile)

/** A PostgreSQL server of a test, which accepts one user with a password. */
export interface PostgresServer {
  /** URI of a database, without the password. */
  url(database: string): string
  readonly password: string
  readonly passwordFile: string
  createDatabase(name: string, options?: string): Promise<void>
  start(): Promise<void>
  /** Ends all connections and stops the server, as an operator does. */
  stop(): Promise<void>
  /** Stops the server and removes its files. */
  remove(): Promise<void>
}

/**
 * Starts a PostgreSQL server on a free port, with the data in a folder of its own.
 *
 * @param extraSettings such as `max_connections=500`.
 */
export async function startPostgres(
  extraSettings: readonly string[] = [],
): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-postgres-'))
  const [data, passwordFile] = [join(folder, 'data'), join(folder, 'password')]
  const password = randomBytes(16).toString('hex')
  await writeFile(passwordFile, `${password}\n`)
  await chmod(passwordFile, 0o644)
  await chmod(folder, 0o755)
  const guard = startGuard(folder)
  if (isRoot) await run('chown', ['postgres', folder])
  const program = (name: string) => join(postgresPrograms ?? '', name)
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  const access = ['--auth=scram-sha-256', '--username=branchline', `--pwfile=${passwordFile}`]
  await asUser(program('initdb'), '--pgdata', data, ...locale, ...access)
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'fsync=off', ...extraSettings]
  const options = `-p ${port} -k ${folder} ${settings.map((s) => `-c ${s}`).join(' ')}`
  const control = (...args: string[]) =>
    asUser(program('pg_ctl'), '--pgdata', data, '--wait', '--silent', ...args)
  const server: PostgresServer = {
    url: (database) => `postgres://branchline@127.0.0.1:${port}/${database}`,
    password,
    passwordFile,
    async createDatabase(name, options = '') {
      const query = `create database ${name} ${options}`
      await run(program('psql'), ['--quiet', '--command', query, server.url('postgres')], {
        env: { ...process.env, PGPASSWORD: password },
      })
    },
    start: () => control('--options', options, '--log', join(folder, 'log'), 'start'),
    stop: () => control('--mode=fast', 'stop'),
    async remove() {
      guard.ref()
      guard.stdin.end()
      await once(guard, 'exit')
    },
  }
  await server.start()
  return server
}

/**
 * Waits for the end of standard input, whose other end this process holds, so that the server ends
 * with this process, however that ends. Then stops the server at once, by SIGQUIT
 * (https://www.postgresql.org/docs/15/server-shutdown.html), and removes its files.
 */
const GUARD = `trap '' HUP INT TERM
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid")
kill -QUIT "$pid"
while kill -0 "$pid"; do sleep 0.05; done
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
