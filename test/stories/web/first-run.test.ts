import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  browserSuite,
  closeWindows,
  expectAccessible,
  hasChromium,
  openBrowser,
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

describe.skipIf(!hasChromium)(browserSuite('the first run'), () => {
  let browser: Browser
  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer({ webFolder: WEB_FOLDER })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closeWindows(browser)
    await server?.stop()
  })

  it('creates the administrator and a repository, and shows the commands that come next', async () => {
    const { page, faults, leave } = await visit(browser, server.url)
    await page.goto('/')
    await page.getByRole('heading', { name: 'Welcome to Branchline' }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Username').fill('ada')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create the administrator' }).click()
    await page.getByRole('heading', { name: 'Your repositories' }).waitFor()
    const push = page.getByRole('region', { name: 'Commands that push a repository' })
    await expect.poll(() => push.textContent()).toContain(`${server.url}/ada/NAME.git`)
    await expectAccessible(page)
    await page.getByText('New repository').click()
    await page.getByLabel('Name', { exact: true }).fill('hello')
    // The form offers what the server knows.
    await page.locator('#licenses option[value="MIT"]').waitFor({ state: 'attached' })
    await page.locator('#gitignores option[value="Node"]').waitFor({ state: 'attached' })
    await page.getByLabel('Licence (optional)').fill('MIT')
    await page.getByLabel('Files that Git ignores').fill('Node, Go')
    await page.getByRole('button', { name: 'Create the repository' }).click()
    for (const name of ['README.md', 'LICENSE', '.gitignore'])
      await page.getByRole('link', { name, exact: true }).waitFor()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/ada/hello')
    expect(faults).toEqual([])
    await leave()
  })

  it('is over for later visitors', async () => {
    const { page, faults, leave } = await visit(browser, server.url)
    await page.goto('/')
    await page.getByRole('heading', { name: 'Branchline' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })
})

it('tells a visitor on another machine to create the administrator on the machine itself', async () => {
  const server = await startTestServer({ webFolder: WEB_FOLDER })
  const accept = { accept: 'text/html' }
  const here = await fetch(server.url, { headers: accept })
  expect(await here.text()).toContain('data-first-run="here"')
  const elsewhere = { ...accept, 'x-forwarded-for': '203.0.113.7' }
  const proxied = await fetch(server.url, { headers: elsewhere })
  expect(await proxied.text()).toContain('data-first-run="elsewhere"')
  await server.stop()
})
