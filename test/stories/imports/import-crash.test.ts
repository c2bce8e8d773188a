import { afterAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { runCommand } from '../../support/commands.ts'
import { startGitUpstream } from '../../support/git-upstream.ts'
import { apiOf, pageOf } from '../../support/imports.ts'
import { serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const TIMEOUT_MS = 300_000

const { data } = await openProcessStory()
const upstream = await startGitUpstream()
afterAll(upstream.stop)
const options = ['--webhook-allowed-hosts', '127.0.0.1']
const webhookAllowedHosts = parseAllowedHosts('127.0.0.1')

const NUMBERS = [1, 2, 3, 4, 5, 6]

/** The requests at which the server is killed, one after the other. */
const MOMENTS = isLongTier
  ? ['/info/refs', '/issues?', '/issues/2/reactions', 'page=2', '/issues/5/reactions']
  : ['/info/refs', '/issues/2/reactions', '/issues/5/reactions']

const issue = (number: number) => ({
  id: 100 + number,
  number,
  title: `Issue ${number}`,
  body: 'Text',
  state: 'open',
  user: { id: 7, login: 'uma', full_name: 'Uma' },
  comments: 0,
  created_at: '2024-01-02T03:04:05Z',
  updated_at: '2024-01-03T03:04:05Z',
})

const answer = apiOf('/api/v1', {
  '/repos/uma/engine': () => ({ body: { full_name: 'uma/engine' } }),
  '/repos/uma/engine/issues': (query) => pageOf(NUMBERS.map(issue), query, 3),
})

/** Answers requests up to one with a text, which never gets an answer. Resolves at that one. */
function stopAt(text: string): Promise<void> {
  return new Promise((resolve) => {
    upstream.intercept = (request, response) => {
      if (!request.url?.includes(text)) return answer(request, response)
      resolve()
      return true
    }
  })
}

describe('an import whose server is killed', () => {
  it(
    'has everything once after the next starts, wherever the import was',
    async () => {
      upstream.commit('main', 'first')
      let server = await serveProcess(data, options)
      const { bob } = await createTestUsers(server.url)
      const [first = '', ...others] = MOMENTS
      let reached = stopAt(first)
      // The response waits for the objects, which do not come.
      const started = restAt(server.url)(bob, 'POST', '/repos/migrate', {
        clone_addr: upstream.url,
        repo_name: 'engine',
        service: 'gitea',
        issues: true,
      }).catch(() => undefined)
      for (const next of others) {
        await reached
        server.child.kill('SIGKILL')
        await server.exited
        reached = stopAt(next)
        server = await serveProcess(data, options)
      }
      await started
      await reached
      server.child.kill('SIGKILL')
      await server.exited
      upstream.intercept = answer
      const last = await startTestServer({ data, webhookAllowedHosts })
      const watched = await fetch(`${last.url}/api/v1/repos/bob/engine/import:watch`, {
        headers: { authorization: bob.authorization },
      })
      // The stream ends with the import.
      expect(await watched.text()).toContain('SUCCEEDED')
      const { body } = await restAt(last.url)(bob, 'GET', '/repos/bob/engine/issues')
      const numbers = body.map(({ number }: { number: number }) => number)
      expect(numbers.sort()).toEqual(NUMBERS)
      await last.stop()
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    },
    TIMEOUT_MS,
  )
})
