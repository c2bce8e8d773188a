import { describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { isOnPostgres } from '../../support/database.ts'
import { type ServerProcess, serveProcess } from '../../support/process.ts'
import { childrenOf, eventually, isAlive } from '../../support/process-spawner.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { type Actor, createTestUsers } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const WORKERS = ['--workers', '2']

/** Lives of the server, each of which ends with a kill of the primary process. */
const LIVES = isLongTier ? 4 : 1

/** Acknowledged writes between two kills. */
const WRITES = 20

/** Ten starts of a server on a busy machine. */
const TIMEOUT_MS = 300_000

const { data } = await openProcessStory()

describe('worker processes of one SQLite database', () => {
  it.skipIf(isOnPostgres)(
    'keep all acknowledged writes when any process is killed (skipped on PostgreSQL)',
    async () => {
      const acknowledged = new Set<string>()
      let server = await serveProcess(data, WORKERS)
      const { bob } = await createTestUsers(server.url)
      await restAt(server.url)(bob, 'POST', '/user/repos', { name: 'kept', auto_init: true })
      for (let life = 0; life < LIVES; life++) {
        const writers = startWriters(server, bob, acknowledged)
        await writers.written(WRITES)
        const [worker = 0] = childrenOf(server.child.pid ?? 0).slice(life % 2)
        process.kill(worker, 'SIGKILL')
        await writers.written(WRITES)
        const workers = childrenOf(server.child.pid ?? 0)
        server.child.kill('SIGKILL')
        const stopped = writers.stop()
        await server.exited
        // The next server starts while the worker processes of this one finish their calls.
        server = await serveProcess(data, WORKERS)
        expect(workers.filter(isAlive)).toEqual([])
        await stopped
        const { body } = await restAt(server.url)(bob, 'GET', '/repos/bob/kept/contents')
        const found = new Set(body.map(({ name }: { name: string }) => name))
        expect([...acknowledged].filter((name) => !found.has(name))).toEqual([])
      }
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    },
    TIMEOUT_MS,
  )
})

/** Writes files until the writers are stopped. */
function startWriters({ url }: ServerProcess, bob: Actor, acknowledged: Set<string>) {
  let isOver = false
  const write = async (name: string) => {
    for (let number = 0; !isOver; number++) {
      const file = `${name}-${number}-${Math.random()}`
      const path = `/repos/bob/kept/contents/${file}`
      const body = { content: Buffer.from(file).toString('base64') }
      // What fails has not been acknowledged.
      const answer = await restAt(url)(bob, 'POST', path, body).catch(() => undefined)
      if (answer?.status === 201) acknowledged.add(file)
    }
  }
  const writers = ['tulip', 'rose', 'lily'].map(write)
  return {
    /** Resolves after some more acknowledged writes. */
    written(count: number) {
      const enough = acknowledged.size + count
      return eventually(() => expect(acknowledged.size).toBeGreaterThanOrEqual(enough))
    },
    async stop() {
      isOver = true
      await Promise.all(writers)
    },
  }
}
