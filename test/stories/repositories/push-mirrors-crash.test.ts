import { afterAll, describe, expect, it, vi } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { runCommand } from '../../support/commands.ts'
import { remoteOf } from '../../support/git-client.ts'
import { acceptPushes, isPush, receive, sendAnswer } from '../../support/git-mirror.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../support/server.ts'

const TIMEOUT_MS = 300_000

/** Moments at which a server is killed. The other server has received this much of a push. */
const MOMENTS = ['no request', 'a request without an answer', 'a push without an answer'] as const
type Moment = (typeof MOMENTS)[number]

const { data, client } = await openProcessStory()
const upstream = await startGitUpstream()
afterAll(upstream.stop)
const options = ['--webhook-allowed-hosts', '127.0.0.1']
const webhookAllowedHosts = parseAllowedHosts('127.0.0.1')

describe('a push mirror whose server is killed', () => {
  it(
    'has everything after the next start, wherever the push was',
    async () => {
      const first = await startTestServer({ data, webhookAllowedHosts })
      let { url } = first
      const { bob } = await createTestUsers(url)
      const rest = (...request: [method: string, path: string, body?: object]) =>
        restAt(url)(bob, ...request)
      await rest('POST', '/user/repos', { name: 'garden', auto_init: true })
      acceptPushes(upstream)
      await rest('POST', '/repos/bob/garden/push_mirrors', {
        remote_address: upstream.url,
        interval: '0',
        sync_on_commit: true,
      })
      await isMirrored(url)
      await first.stop()
      for (const moment of MOMENTS) {
        const killed = await serveProcess(data, options)
        url = killed.url
        const reached = stopAt(upstream, moment)
        const branch = moment.replaceAll(' ', '-')
        const made = await rest('POST', `/repos/bob/garden/contents/${branch}.txt`, {
          content: Buffer.from(moment).toString('base64'),
          new_branch: branch,
        })
        expect(made.status).toBe(201)
        await reached
        killed.child.kill('SIGKILL')
        await killed.exited
        expect(hasRef(upstream, branch)).toBe(moment === 'a push without an answer')
        acceptPushes(upstream)
        const next = await startTestServer({ data, webhookAllowedHosts })
        url = next.url
        await isMirrored(url)
        expect(upstream.git('rev-parse', branch)).toBe(made.body.commit.sha)
        await vi.waitFor(
          async () => {
            const { body } = await rest('GET', '/repos/bob/garden/push_mirrors')
            expect(body).toMatchObject([{ last_error: '', last_update: expect.any(String) }])
          },
          { timeout: 60_000 },
        )
        if (moment === MOMENTS.at(-1)) {
          await rest('DELETE', '/repos/bob/garden/branches/no-request')
          await isMirrored(url)
          expect(hasRef(upstream, 'no-request')).toBe(false)
        }
        await next.stop()
      }
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    },
    TIMEOUT_MS,
  )

  /** Waits until the mirror has the branches of the repository. */
  async function isMirrored(url: string): Promise<void> {
    await vi.waitFor(
      async () => {
        const listed = await client.git('.', 'ls-remote', '--heads', remoteOf(url, 'bob/garden'))
        expect(upstream.git('for-each-ref', '--format=%(objectname)\t%(refname)')).toBe(listed)
      },
      { timeout: 60_000, interval: 100 },
    )
  }
})

/** Resolves once a push has come to a moment, from which on it does not continue. */
function stopAt(to: GitUpstream, moment: Moment): Promise<void> {
  return new Promise((resolve) => {
    if (moment === 'no request') resolve()
    to.intercept = (request, response) => {
      if (!isPush(request)) return false
      if (moment === 'a request without an answer') resolve()
      else if (moment === 'a push without an answer')
        void receive(to, request).then((answer) => {
          if (request.method === 'POST') resolve()
          else sendAnswer(request, response, answer)
        })
      return true
    }
  })
}

function hasRef(to: GitUpstream, branch: string): boolean {
  return to.git('for-each-ref', `refs/heads/${branch}`) !== ''
}
