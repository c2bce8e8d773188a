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
  /** URI of a database, without the password. */
  url(database: string): string
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
 * @param options isDurable: whether commits wait for the disk, as a measurement needs.
 */
export async function startPostgres({ isDurable = false } = {}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'branchline-postgres-'))
  const [data, passwordFile] = [join(folder, 'data'), join(folder, 'password')]
  await writeFile(passwordFile, 'tulip\n')
  await chmod(passwordFile, 0o644)
  await chmod(folder, 0o755)
  if (isRoot) await run('chown', ['postgres', folder])
  const program = (name: string) => join(postgresPrograms ?? '', name)
  const locale = ['--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
  const access = ['--auth=scram-sha-256', '--username=branchline', `--pwfile=${passwordFile}`]
  await asUser(program('initdb'), '--pgdata', data, ...locale, ...access)
  const port = await freePort()
  const settings = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=${isDurable ? 'on' : 'off'}`
  const control = (...args: string[]) =>
    asUser(program('pg_ctl'), '--pgdata', data, '--wait', '--silent', ...args)
  const server: PostgresServer = {
    url: (database) => `postgres://branchline@127.0.0.1:${port}/${database}`,
    passwordFile,
    async createDatabase(name, options = '') {
      const query = `create database ${name} ${options}`
      await run(program('psql'), ['--quiet', '--command', query, server.url('postgres')], {
        env: { ...process.env, PGPASSWORD: 'tulip' },
      })
    },
    start: () => control('--options', settings, '--log', join(folder, 'log'), 'start'),
    stop: () => control('--mode=fast', 'stop'),
    async remove() {
      await control('--mode=immediate', 'stop').catch(() => {})
      await rm(folder, { recursive: true })
    },
  }
  await server.start()
  return server
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
