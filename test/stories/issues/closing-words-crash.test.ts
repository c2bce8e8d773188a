import { describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { askBy } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** Lives of the server, each ended by SIGKILL. */
const LIVES = isLongTier ? 6 : 2
/** Issues that the commits of each life close or reopen, one each. */
const ISSUES = isLongTier ? 30 : 10
const TIMEOUT_MS = 240_000

const { data, client } = await openProcessStory()

describe('a server that is killed after a push', () => {
  it(
    'closes and reopens every issue once after its next start',
    async () => {
      const first = await startTestServer({ data })
      const { bob } = await createTestUsers(first.url)
      const prepare = askBy(restAt(first.url))
      await prepare(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
      for (let i = 1; i <= ISSUES; i++)
        await prepare(bob, 'POST', '/repos/bob/engine/issues', { title: `issue ${i}` })
      const remoteAt = (url: string) => remoteOf(url, 'bob/engine', 'bob', PASSWORD)
      await client.git('.', 'clone', '-q', remoteAt(first.url), 'engine')
      await first.stop()
      for (let life = 0; life < LIVES; life += 1) {
        const killed = await serveProcess(data)
        const word = life % 2 === 0 ? 'closes' : 'reopens'
        for (let i = 1; i <= ISSUES; i++)
          await client.commit('engine', `Life ${life} ${word} nothing, and ${word} #${i}`)
        await client.git('engine', 'push', '-q', remoteAt(killed.url), 'HEAD:main')
        killed.child.kill('SIGKILL')
        await killed.exited
        const next = await startTestServer({ data })
        const ask = askBy(restAt(next.url))
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
        await next.stop()
      }
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    },
    TIMEOUT_MS,
  )
})
