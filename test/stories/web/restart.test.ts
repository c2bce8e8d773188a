import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  browserSuite,
  closeWindows,
  expectAccessible,
  hasChromium,
  openBrowser,
} from '../../support/chromium.ts'
import { askBy } from '../../support/forge.ts'
import { freePort } from '../../support/free-port.ts'
import { MAIN, type ServerProcess, startServer } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { type Actor, createTestUsers, signIn } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'
import { awaitSignedIn, visitAs } from '../../support/web-visitors.ts'

/** A browser, and a server that starts twice, on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

/** The page waits between its attempts, while a busy machine takes time to start the server. */
const PATIENT = { timeout: 60_000 }

const PULL = '/bob/tools/pulls/1'

describe.skipIf(!hasChromium)(browserSuite('a page while the server restarts'), async () => {
  const { data } = await openProcessStory()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let browser: Browser
  let server: ServerProcess
  let bob: Actor

  const start = async () => {
    const listen = ['--listen', `127.0.0.1:${port}`]
    server = await startServer([process.execPath, MAIN, 'serve', '--data', data, ...listen], {})
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    server.child.kill(signal)
    await server.exited
  }
  const ask = (path: string, body: object, method = 'POST') =>
    askBy(restAt(url))(bob, method, path, body)
  const comment = (body: string) => ask('/repos/bob/tools/issues/1/comments', { body })

  beforeAll(async () => {
    await start()
    bob = (await createTestUsers(url)).bob
    await ask('/user/repos', { name: 'tools', auto_init: true })
    await ask('/repos/bob/tools/contents/a.txt', {
      content: Buffer.from('a\n').toString('base64'),
      message: 'Add a file',
      branch: 'main',
      new_branch: 'topic',
    })
    await ask('/repos/bob/tools/pulls', { title: 'A file', head: 'topic', base: 'main' })
    browser = await openBrowser()
  }, STORY_TIMEOUT_MS)
  afterAll(async () => {
    await closeWindows(browser)
    await end('SIGTERM')
  })

  beforeEach(async () => {
    // A test that failed may have left none.
    if (server.child.exitCode !== null || server.child.signalCode !== null) await start()
  })

  // The test after it has a server that is killed.
  it.each(isLongTier ? (['SIGTERM', 'SIGKILL'] as const) : (['SIGTERM'] as const))(
    'goes on after %s, with the typed text',
    {
      timeout: STORY_TIMEOUT_MS,
    },
    async (signal) => {
      bob = await signIn(url, 'bob')
      const { page, faults, leave } = await visitAs(browser, url, PULL, 'carol')
      await textOf(page).fill(`Mine, over ${signal}`)
      await comment(`Before ${signal}`)
      await page.getByText(`Before ${signal}`).waitFor()
      await end(signal)
      await page.getByText('Reconnecting.').waitFor()
      await expectAccessible(page)
      // A call fails, and the text stays.
      await page.getByRole('button', { name: 'Send the comment' }).click()
      await page.getByRole('alert').first().waitFor()
      await expect.poll(() => textOf(page).inputValue()).toBe(`Mine, over ${signal}`)
      await start()
      await page
        .getByText('Reconnecting.')
        .first()
        .waitFor({ state: 'detached', ...PATIENT })
      await comment(`After ${signal}`)
      await page.getByText(`After ${signal}`).waitFor()
      await expect.poll(() => textOf(page).inputValue()).toBe(`Mine, over ${signal}`)
      await page.getByRole('button', { name: 'Send the comment' }).click()
      await page.getByRole('article').getByText(`Mine, over ${signal}`).waitFor()
      await awaitSignedIn(page)
      expect(faults).toEqual([])
      await leave()
    },
  )

  it('signs nobody out whose access token ends meanwhile', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { page, faults, leave } = await visitAs(browser, url, '/memos', 'carol')
    await page.clock.install()
    await page.goto(PULL)
    await textOf(page).fill('An hour later')
    await end('SIGKILL')
    await page.clock.fastForward('01:00:00')
    await page.getByText('Reconnecting.').waitFor()
    await page.getByRole('button', { name: 'Send the comment' }).click()
    await page.getByRole('alert').first().waitFor()
    await awaitSignedIn(page)
    await start()
    await page
      .getByText('Reconnecting.')
      .first()
      .waitFor({ state: 'detached', ...PATIENT })
    await page.getByRole('button', { name: 'Send the comment' }).click()
    await page.getByRole('article').getByText('An hour later').waitFor()
    await awaitSignedIn(page)
    expect(faults).toEqual([])
    await leave()
  })
})

/** The field of a new comment. */
function textOf(page: Page): Locator {
  return page.getByRole('textbox', { name: 'Comment', exact: true })
}
