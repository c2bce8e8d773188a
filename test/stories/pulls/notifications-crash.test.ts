import { describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** Lives of the server, each ended by SIGKILL. */
const LIVES = isLongTier ? 6 : 1
/** Pull requests on which bob comments in each life. */
const PULLS = 6
const TIMEOUT_MS = 240_000

describe('a server that is killed between a comment and its notifications', () => {
  it(
    'tells of every acknowledged comment after its next start',
    async () => {
      await withFolder(async (data) => {
        const first = await startTestServer({ data })
        const { bob, carol } = await createTestUsers(first.url)
        const prepare = restAt(first.url)
        await prepare(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
        await prepare(carol, 'PUT', '/repos/bob/engine/subscription')
        for (let number = 1; number <= PULLS; number += 1) {
          const head = `topic-${number}`
          await prepare(bob, 'POST', `/repos/bob/engine/contents/${head}.txt`, {
            content: Buffer.from(head).toString('base64'),
            new_branch: head,
          })
          const draft = { head, base: 'main', title: head }
          expect((await prepare(bob, 'POST', '/repos/bob/engine/pulls', draft)).status).toBe(201)
        }
        await first.stop()
        for (let life = 0; life < LIVES; life += 1) {
          const killed = await serveProcess(data)
          const rest = restAt(killed.url)
          await rest(carol, 'PUT', '/notifications?all=true')
          /** The last comment on each pull request, by its number. */
          const said = new Map<number, number>()
          const comments = Array.from({ length: PULLS }, async (_, index) => {
            const path = `/repos/bob/engine/issues/${index + 1}/comments`
            const { status, body } = await rest(bob, 'POST', path, { body: `Life ${life}.` })
            if (status === 201) said.set(index + 1, body.id)
          })
          await Promise.race(comments)
          killed.child.kill('SIGKILL')
          await Promise.allSettled(comments)
          await killed.exited
          const following = await startTestServer({ data })
          const next = restAt(following.url)
          expect(said.size).toBeGreaterThan(0)
          await expect
            .poll(
              async () => {
                const path = '/repos/bob/engine/notifications?all=true&limit=50'
                const { body } = await next(carol, 'GET', path)
                const urls = body.map(
                  ({ subject }: { subject: { latest_comment_url: string } }) =>
                    subject.latest_comment_url,
                )
                return [...said.values()].every((id) =>
                  urls.some((url: string) => url.endsWith(`/comments/${id}`)),
                )
              },
              { timeout: 60_000 },
            )
            .toBe(true)
          // One thread for a pull request, however often the server was killed.
          const { body } = await next(carol, 'GET', '/notifications?all=true&limit=50')
          const pulls = body.map(({ subject }: { subject: { url: string } }) => subject.url)
          expect(new Set(pulls).size).toBe(pulls.length)
          await following.stop()
        }
        expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
      })
    },
    TIMEOUT_MS,
  )
})
