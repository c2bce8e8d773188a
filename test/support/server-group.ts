import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from './commands.ts'
import { startPostgres } from './postgres-server.ts'
import { type ServerProcess, serveUnderLoad } from './process.ts'

/** One of several servers. */
export interface GroupServer {
  readonly url: string
  readonly child: { readonly pid?: number | undefined }
}

/** Several servers on one database and one data folder. */
export interface ServerGroup<Server extends GroupServer = ServerProcess> {
  readonly data: string
  readonly servers: readonly Server[]
  /** Returns the URL of a server, one after the other. */
  url(): string
  /** Kills a server. Resolves when another one serves in its place. */
  replace(index: number): Promise<void>
  /**
   * Stops a server by SIGSTOP for longer than others wait for its locks. Resolves when the server, or
   * another one in its place, serves.
   */
  suspend(index: number): Promise<void>
  /** Returns what all servers, those that are gone included, have logged about failures of their own. */
  failures(): string[]
  /** Returns what `doctor` prints. */
  doctor(...args: string[]): Promise<string>
  /** Stops the servers. The data stays. */
  halt(): Promise<void>
  stop(): Promise<void>
}

/** A PostgreSQL database, and the file with its password. */
export interface GroupDatabase {
  readonly url: string
  readonly passwordFile: string
}

/** A stop of a server that is longer than the lease of its session. */
const STOPPED_MS = 25_000

/** Starts PostgreSQL and some servers on it. */
export async function startServerGroup(
  count: number,
  args: readonly string[] = [],
): Promise<ServerGroup> {
  const postgres = await startPostgres()
  await postgres.createDatabase('forge')
  const { passwordFile } = postgres
  const group = await startServersOn(
    { url: postgres.url('forge'), passwordFile },
    count,
    args,
  ).catch(async (error: unknown) => {
    await postgres.remove()
    throw error
  })
  return {
    ...group,
    async stop() {
      await group.stop()
      await postgres.remove()
    },
  }
}

/** Starts some servers on an empty database, with a data folder of their own. */
export async function startServersOn(
  database: GroupDatabase,
  count: number,
  args: readonly string[] = [],
): Promise<ServerGroup> {
  const data = await mkdtemp(join(tmpdir(), 'branchline-'))
  const place = ['--database', database.url, '--database-password-file', database.passwordFile]
  const start = () => serveUnderLoad(data, [...place, ...args])
  // All at once: they agree on who creates the tables.
  const starts = await Promise.allSettled(Array.from({ length: count }, start))
  const servers = starts.flatMap((started) => (started.status === 'fulfilled' ? started.value : []))
  for (const started of starts) {
    if (started.status === 'fulfilled') continue
    for (const { child } of servers) child.kill('SIGKILL')
    throw started.reason
  }
  const halt = async () => {
    for (const { child, exited } of servers) {
      child.kill('SIGTERM')
      await exited
    }
  }
  let calls = 0
  const gone: string[] = []
  const failuresOf = (server: ServerProcess | undefined) =>
    server?.linesSoFar('"level":"error"') ?? []
  return {
    data,
    servers,
    url() {
      calls += 1
      return servers[calls % servers.length]?.url ?? ''
    },
    async replace(index) {
      servers[index]?.child.kill('SIGKILL')
      await servers[index]?.exited
      gone.push(...failuresOf(servers[index]))
      servers[index] = await start()
    },
    async suspend(index) {
      servers[index]?.child.kill('SIGSTOP')
      await sleep(STOPPED_MS)
      servers[index]?.child.kill('SIGCONT')
    },
    failures: () => [...gone, ...servers.flatMap(failuresOf)],
    doctor: async (...args) =>
      (await runCommand(['doctor', '--data', data, ...place, ...args])).stdout,
    halt,
    async stop() {
      await halt()
      await rm(data, { recursive: true })
    },
  }
}
