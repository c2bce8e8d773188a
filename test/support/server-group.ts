import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from './postgres-server.ts'
import { branchline, type ServerProcess, serveProcess } from './process.ts'

/** Several servers on one PostgreSQL database and one data folder. */
export interface ServerGroup {
  readonly data: string
  readonly servers: readonly ServerProcess[]
  /** Returns the URL of a server, one after the other. */
  url(): string
  /** Kills a server and starts another one in its place. */
  replace(index: number): Promise<void>
  /** Returns what `doctor` prints. */
  doctor(): Promise<string>
  stop(): Promise<void>
}

/** Starts PostgreSQL and some servers on it. */
export async function startServerGroup(
  count: number,
  args: readonly string[] = [],
): Promise<ServerGroup> {
  const postgres = await startPostgres()
  await postgres.createDatabase('forge')
  const data = await mkdtemp(join(tmpdir(), 'branchline-'))
  const place = [
    '--database',
    postgres.url('forge'),
    '--database-password-file',
    postgres.passwordFile,
  ]
  const start = () => serveProcess(data, [...place, ...args])
  // All at once: they agree on who creates the tables.
  const servers = await Promise.all(Array.from({ length: count }, start))
  let calls = 0
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
      servers[index] = await start()
    },
    doctor: async () => (await branchline(['doctor', '--data', data, ...place])).stdout,
    async stop() {
      for (const { child, exited } of servers) {
        child.kill('SIGTERM')
        await exited
      }
      await postgres.remove()
      await rm(data, { recursive: true })
    },
  }
}
