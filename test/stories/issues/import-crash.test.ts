import { describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { askBy } from '../../support/forge.ts'
import { serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** Numbers of stored issues at which the server is ended by SIGKILL. */
const KILLS_AT = isLongTier ? [1, 30, 60] : [1, 30]
const RECORDS = 100
const TIMEOUT_MS = 240_000

const { data } = await openProcessStory()

describe('a server that is killed during an import', () => {
  it(
    'stores each record once when the request is repeated',
    async () => {
      const first = await startTestServer({ data })
      const { bob } = await createTestUsers(first.url)
      await askBy(restAt(first.url))(bob, 'POST', '/user/repos', { name: 'engine' })
      await first.stop()
      const path = '/repos/bob/engine'
      const records = Array.from({ length: RECORDS }, (_, i) => ({
        kind: 'issue',
        number: i + 1,
        title: `issue ${i + 1}`,
        body: `before #${i + 2}`,
        user: { login: 'mole' },
        comments: [1, 2, 3].map((n) => ({ author: { login: 'rat' }, body: `comment ${n}` })),
      }))
      const request = { records, request_id: 'import' }
      const bringTo = (url: string) => restAt(url)(bob, 'POST', `${path}/issue_import`, request)
      for (const count of KILLS_AT) {
        const { url, child, exited } = await serveProcess(data)
        const ask = askBy(restAt(url))
        // The answer is cut, or was sent before the signal.
        const cut = bringTo(url).catch(() => undefined)
        await expect
          .poll(async () => (await ask(bob, 'GET', path)).open_issues_count, { interval: 1 })
          .toBeGreaterThanOrEqual(count)
        child.kill('SIGKILL')
        await Promise.all([exited, cut])
      }
      const last = await startTestServer({ data })
      const { status, body } = await bringTo(last.url)
      expect(status).toBe(202)
      const ask = askBy(restAt(last.url))
      expect(await ask(bob, 'GET', `${path}/issue_import/${body.id}`)).toMatchObject({
        state: 'done',
        done: RECORDS,
      })
      const list = `${path}/issues?sort=oldest&limit=50&page=`
      const issues = [
        ...(await ask(bob, 'GET', `${list}1`)),
        ...(await ask(bob, 'GET', `${list}2`)),
        ...(await ask(bob, 'GET', `${list}3`)),
      ]
      const numbers = issues.map(({ number }) => number).sort((a, b) => a - b)
      expect(numbers).toEqual(records.map(({ number }) => number))
      expect(issues.every(({ comments }) => comments === 3)).toBe(true)
      for (const number of [2, 50, 100]) {
        const entries = await ask(bob, 'GET', `${path}/issues/${number}/timeline`)
        const types = entries.map(({ type }: { type: string }) => type).toSorted()
        expect(types).toEqual(['comment', 'comment', 'comment', 'issue_ref'])
      }
      await last.stop()
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    },
    TIMEOUT_MS,
  )
})
