import type { Page, Route } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

const SCRIPTS = '**/-/assets/*.js'

const missing = (route: Route) => route.fulfill({ status: 404, body: 'no such file' })

describe.skipIf(!hasChromium)(browserSuite('a page whose script does not load'), () => {
  const web = openWebSuite(prepare)

  it('is loaded anew by itself, once, when the server has another version', async () => {
    const { page, leave } = await web.open('/bob/tools', 'bob')
    let loads = 0
    page.on('request', (request) => {
      if (!request.isNavigationRequest()) return
      loads += 1
      void page.unroute(SCRIPTS, missing)
    })
    // An upgrade: the scripts of the page that is open are gone.
    await page.route(SCRIPTS, missing)
    await page.getByRole('link', { name: 'Branches' }).click()
    await page.getByRole('link', { name: 'Compare topic' }).waitFor()
    expect(loads).toBe(1)
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
    await leave()
  })

  it('says that it is out of date, without an end of loads, and other pages go on', async () => {
    const { page, leave } = await web.open('/bob/tools')
    await page.route(SCRIPTS, (route) =>
      route.request().method() === 'HEAD' ? missing(route) : route.fallback(),
    )
    await page.route('**/-/assets/branches.page-*.js', missing)
    let loads = 0
    page.on('request', (request) => {
      if (request.isNavigationRequest()) loads += 1
    })
    const reloaded = page.waitForEvent('load')
    await page.getByRole('link', { name: 'Branches' }).click()
    await reloaded
    const note = page.getByRole('alert')
    await note.getByText('This page is out of date.').waitFor()
    await note.getByRole('button', { name: 'Reload the page' }).waitFor()
    await expect.poll(() => page.getByRole('heading', { name: 'bob / tools' }).count()).toBe(0)
    expect(loads).toBe(1)
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Explore' }).click()
    await page.getByRole('link', { name: 'bob/tools' }).waitFor()
    await expect.poll(() => note.count()).toBe(0)
    await leave()
  })

  it('says that the server does not answer, and comes when the server is back', async () => {
    const { page, leave } = await web.open('/bob/tools', 'bob')
    await page.getByRole('button', { name: 'Star' }).waitFor()
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Star' }).click()
    await expectNoAnswer(page)
    await page.getByRole('link', { name: 'Branches' }).click()
    await expectNoAnswer(page)
    await expect.poll(() => page.getByRole('heading', { name: 'bob / tools' }).count()).toBe(0)
    await expectAccessible(page)
    await page.context().setOffline(false)
    await page.getByRole('link', { name: 'Compare topic' }).waitFor()
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
    await leave()
  })

  it('keeps what is there when a part does not load', async () => {
    const { page, leave } = await web.open('/explore', 'bob')
    await page.route('**/-/assets/pull.later-*.js', missing)
    await page.goto('/bob/tools/pulls/1')
    await page.getByText('A part of this page has not loaded.').first().waitFor()
    await page.getByLabel('Comment').fill('Typed')
    await page.unroute('**/-/assets/pull.later-*.js')
    await page.getByRole('button', { name: 'Reload the page' }).first().click()
    await page.getByRole('heading', { name: 'Details' }).waitFor()
    await expect.poll(() => page.getByLabel('Comment').inputValue()).toBe('Typed')
    await leave()
  })

  it('shows Markdown as plain text', async () => {
    const { page, leave } = await web.open('/explore')
    await page.route('**/-/assets/markdown-*.js', missing)
    await page.goto('/bob/tools')
    await page.locator('.markup.plain[aria-busy=false]').getByText('# tools').waitFor()
    await leave()
  })
})

async function expectNoAnswer(page: Page): Promise<void> {
  const note = page.getByRole('alert')
  await note.getByText('The server does not answer.').waitFor()
  await expect.poll(() => note.textContent()).not.toContain('fetch')
}

async function prepare({ ask, users: { bob } }: Forge): Promise<void> {
  await ask(bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
  await ask(bob, 'POST', '/repos/bob/tools/contents/a.txt', {
    content: Buffer.from('a\n').toString('base64'),
    message: 'Add a file',
    branch: 'main',
    new_branch: 'topic',
  })
  await ask(bob, 'POST', '/repos/bob/tools/pulls', { title: 'A', head: 'topic', base: 'main' })
}
