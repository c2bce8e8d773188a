import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  browserSuite,
  closeWindows,
  expectAccessible,
  expectFits,
  hasChromium,
  openBrowser,
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { PASSWORD, type TestServerOptions } from '../../support/server.ts'
import { awaitSignedIn } from '../../support/web-visitors.ts'

const PHONE = { width: 360, height: 740 }

describe.skipIf(!hasChromium)(browserSuite('the page that creates an account'), () => {
  let browser: Browser
  const started: Forge[] = []

  const start = async (options: TestServerOptions) => {
    const forge = await startForge({ webFolder: WEB_FOLDER, ...options })
    started.push(forge)
    return forge
  }
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closeWindows(browser)
    for (const forge of started) await forge.stop()
  })

  it('takes a new user to the page where the user wanted to go', async () => {
    const { ask, users, server } = await start({ settings: { registration: 'open' } })
    await ask(users.bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
    const { page, faults, leave } = await visit(browser, server.url)
    await page.goto('/')
    await page.getByRole('link', { name: 'Create an account' }).waitFor()
    await page.goto('/bob/tools/branches')
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Create an account' }).click()
    await page.getByRole('heading', { name: 'Create an account' }).waitFor()
    await expect.poll(() => page.title()).toContain('Create an account')
    await expectAccessible(page)
    await page.setViewportSize(PHONE)
    await expectFits(page)
    await page.getByLabel('Username').fill('bob')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByRole('alert').getByText('Reason: USERNAME_TAKEN').waitFor()
    await page.getByLabel('Username').fill('erin')
    await page.getByLabel('E-mail address').fill('erin@example.org')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await awaitSignedIn(page)
    await expect.poll(() => new URL(page.url()).pathname).toBe('/bob/tools/branches')
    expect(faults).toEqual(['409 POST /branchline.v1.UserService/CreateUser'])
    await leave()
  })

  it('offers nothing where only administrators create accounts', async () => {
    const { server } = await start({ settings: { registration: 'closed' } })
    const { page, faults, leave } = await visit(browser, server.url)
    await page.goto('/user/login')
    await page.getByRole('link', { name: 'Forgotten password' }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'Create an account' }).count()).toBe(0)
    await page.goto('/user/sign_up')
    await page.getByText('Ask one of them.').waitFor()
    await expect
      .poll(() => page.getByRole('button', { name: 'Create the account' }).count())
      .toBe(0)
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })
})
