import { describe, expect, it } from 'vitest'
import { askBy } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { branchline, serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD } from '../../support/server.ts'

/** Lives of the server, each ended by SIGKILL. */
const LIVES = 3
/** Issues that the commits of each life close or reopen, one each. */
const ISSUES = 30
const TIMEOUT_MS = 240_000

const { data, client } = await openProcessStory()

describe('a server that is killed after a push', () => {
  it(
    'closes and reopens every issue once after its next start',
    async () => {
      let server = await serveProcess(data)
      const { bob } = await createTestUsers(server.url)
      const prepare = askBy(restAt(server.url))
      await prepare(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
      for (let i = 1; i <= ISSUES; i++)
        await prepare(bob, 'POST', '/repos/bob/engine/issues', { title: `issue ${i}` })
      const remote = () => remoteOf(server.url, 'bob/engine', 'bob', PASSWORD)
      await client.git('.', 'clone', '-q', remote(), 'engine')
      for (let life = 0; life < LIVES; life += 1) {
        const word = life % 2 === 0 ? 'closes' : 'reopens'
        for (let i = 1; i <= ISSUES; i++)
          await client.commit('engine', `Life ${life} ${word} nothing, and ${word} #${i}`)
        await client.git('engine', 'push', '-q', remote(), 'HEAD:main')
        server.child.kill('SIGKILL')
        await server.exited
        server = await serveProcess(data)
        const ask = askBy(restAt(server.url))
        const state = life % 2 === 0 ? 'closed' : 'open'
        const list = `/repos/bob/engine/issues?state=${state}&limit=50`
        await expect
          .poll(async () => (await ask(bob, 'GET', list)).length, { timeout: 60_000 })
          .toBe(ISSUES)
        for (let i = 1; i <= ISSUES; i++) {
          const entries = await ask(bob, 'GET', `/repos/bob/engine/issues/${i}/timeline`)
          const types = entries.map(({ type }: { type: string }) => type).toSorted()
          const expected = Array.from({ length: life + 1 }, (_, l) => [
            l % 2 === 0 ? 'close' : 'reopen',
            'commit_ref',
          ])
          expect(types).toEqual(expected.flat().toSorted())
        }
      }
      server.child.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      expect((await branchline(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    },
    TIMEOUT_MS,
  )
})
