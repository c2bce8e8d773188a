import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** A browser on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const PATH = '/repos/bob/garden'

/** The document, a style sheet, scripts, and three calls. */
const MAX_REQUESTS = 15

describe.skipIf(!hasChromium)(browserSuite('the first view of a page'), () => {
  const web = openWebSuite(prepare)

  it.each([
    ['/bob/garden/pulls/1', 'A word', ['GetConversation']],
    ['/bob/garden/pulls/1/commits', 'beans.txt', ['GetConversation']],
    ['/bob/garden/pulls/1/files', 'Why beans?', ['GetConversation', 'GetPullRequestDiff']],
    ['/bob/garden/issues/2', 'Another word', ['GetConversation']],
    ['/bob/garden/issues', 'Weeds', ['GetRepository']],
    ['/bob/garden/branches', 'beans', ['GetRepository']],
  ])(
    '%s has the answers to the calls that the document has begun, and sends none twice',
    {
      timeout: STORY_TIMEOUT_MS,
    },
    async (path, text, calls) => {
      const { page, faults, leave } = await web.open('/', 'bob')
      const asked: string[] = []
      page.on('request', (request) => {
        // What the page before still asks for does not count.
        if (request.isNavigationRequest()) asked.length = 0
        asked.push(new URL(request.url()).pathname)
      })
      const answer = await page.goto(path)
      await page.getByText(text).first().waitFor()
      const begun = await page.evaluate('document.begunCalls.size')
      expect(begun).toBe(0)
      for (const method of ['RefreshToken', ...calls])
        expect(asked.filter((one) => one.endsWith(`/${method}`))).toHaveLength(1)
      const document = (await answer?.text()) ?? ''
      const files = [...document.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(
        ([, file]) => file,
      )
      expect(files).toContainEqual(expect.stringMatching(/\/begin-[A-Z0-9]+\.js$/))
      // The document, its files, the session and the calls.
      const needed = 1 + new Set(files).size + 1 + calls.length
      expect(needed).toBeLessThanOrEqual(MAX_REQUESTS)
      for (const file of files) expect(asked).toContain(file)
      expect(faults).toEqual([])
      await leave()
    },
  )

  it('of a stranger begins no call where there is nothing for strangers', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { page, leave } = await web.open('/bob/missing/pulls/1')
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    expect(await page.evaluate('document.begunCalls?.size ?? 0')).toBe(0)
    await leave()
  })
})

/** A pull request with a comment on a line, and an issue. */
async function prepare({ ask, users }: Forge): Promise<void> {
  const { bob } = users
  await ask(bob, 'POST', '/user/repos', { name: 'garden', auto_init: true })
  const content = Buffer.from('beans\n').toString('base64')
  const change = { content, message: 'Add beans.txt', branch: 'main', new_branch: 'beans' }
  await ask(bob, 'POST', `${PATH}/contents/beans.txt`, change)
  await ask(bob, 'POST', `${PATH}/pulls`, { title: 'Beans', head: 'beans', base: 'main' })
  await ask(bob, 'POST', `${PATH}/issues/1/comments`, { body: 'A word' })
  const comments = [{ path: 'beans.txt', body: 'Why beans?', new_position: 1 }]
  await ask(bob, 'POST', `${PATH}/pulls/1/reviews`, { event: 'COMMENT', comments })
  await ask(bob, 'POST', `${PATH}/issues`, { title: 'Weeds' })
  await ask(bob, 'POST', `${PATH}/issues/2/comments`, { body: 'Another word' })
}
