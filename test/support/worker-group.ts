import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { runCommand } from './commands.ts'
import { serveUnderLoad } from './process.ts'
import { childrenOf, eventually, isAlive } from './process-spawner.ts'
import type { GroupServer, ServerGroup } from './server-group.ts'
import { startForwarder, type TcpForwarder } from './tcp-forwarder.ts'

/** What the primary process logs when a worker process serves in the place of another one. */
const REPLACED = 'a worker process was replaced'

/** What the primary process logs about a worker process that a test has killed. */
const ENDED = 'a worker process has ended'

/**
 * Starts the worker processes of one server with SQLite. Each of them has an address of its own, by
 * which a client gets connections of its own: the primary process gives them to the worker processes
 * that have the fewest, so that most addresses lead to different ones.
 */
export async function startWorkerGroup(
  count: number,
  args: readonly string[] = [],
): Promise<ServerGroup<GroupServer>> {
  const data = await mkdtemp(join(tmpdir(), 'branchline-'))
  const primary = await serveUnderLoad(data, [...args, '--workers', String(count)])
  const port = Number(new URL(primary.url).port)
  const forwarders: TcpForwarder[] = []
  for (let i = 0; i < count; i++) forwarders.push(await startForwarder(port))
  const workers = () => childrenOf(primary.child.pid ?? 0)
  const pids = workers()
  const servers = forwarders.map((forwarder, index) => ({
    url: `http://127.0.0.1:${forwarder.port}`,
    child: {
      get pid() {
        return pids[index]
      },
    },
  }))
  /** Ends a worker process by a signal. Resolves when another one serves in its place. */
  const end = async (index: number, signal: NodeJS.Signals) => {
    const pid = pids[index] ?? 0
    const replaced = primary.linesSoFar(REPLACED).length
    process.kill(pid, signal)
    await eventually(() => expect(isAlive(pid)).toBe(false))
    await eventually(() => expect(primary.linesSoFar(REPLACED)).toHaveLength(replaced + 1))
    const next = workers().find((worker) => !pids.includes(worker))
    if (next !== undefined) pids[index] = next
  }
  let calls = 0
  const halt = async () => {
    primary.child.kill('SIGTERM')
    await primary.exited
  }
  return {
    data,
    servers,
    url() {
      calls += 1
      return servers[calls % count]?.url ?? ''
    },
    replace: (index) => end(index, 'SIGKILL'),
    // The primary process kills a worker process that does not answer.
    suspend: (index) => end(index, 'SIGSTOP'),
    failures: () => primary.linesSoFar('"level":"error"').filter((line) => !line.includes(ENDED)),
    doctor: async (...options) => (await runCommand(['doctor', '--data', data, ...options])).stdout,
    halt,
    async stop() {
      await halt()
      for (const forwarder of forwarders) await forwarder.stop()
      await rm(data, { recursive: true })
    },
  }
}
