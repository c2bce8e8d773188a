import { Buffer } from 'node:buffer'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  browserSuite,
  expectAccessible,
  hasChromium,
  openBrowser,
  type Visitor,
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { PASSWORD } from '../../support/server.ts'

describe.skipIf(!hasChromium)(browserSuite('the page of a release'), () => {
  let browser: Browser
  let forge: Forge
  let bob: Visitor

  beforeAll(async () => {
    forge = await startForge({ webFolder: WEB_FOLDER })
    const { ask, users } = forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
    await ask(users.bob, 'POST', '/repos/bob/tools/releases', { tag_name: 'v1', name: 'First' })
    browser = await openBrowser()
    bob = await visit(browser, forge.server.url)
    await bob.page.goto('/user/login?redirect_to=/bob/tools/releases')
    await bob.page.getByLabel('Username').fill('bob')
    await bob.page.getByLabel('Password').fill(PASSWORD)
    await bob.page.getByRole('button', { name: 'Sign in' }).click()
  })
  afterAll(async () => {
    await bob?.leave()
    await browser?.close()
    await forge?.stop()
  })

  it('takes a file with its progress, says why it refuses one, and offers nothing to strangers', async () => {
    const { page } = bob
    const input = page.getByLabel('Add a file to First')
    const file = { mimeType: 'text/plain', buffer: Buffer.alloc(3_000_000, 'x') }
    await input.setInputFiles({ name: 'tools.txt', ...file })
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Upload to First' }).click()
    await page.getByRole('link', { name: 'tools.txt' }).waitFor()
    await page.getByText('3 MB').waitFor()
    expect(bob.faults).toEqual([])

    const stranger = await visit(browser, forge.server.url)
    await stranger.page.goto('/bob/tools/releases/tag/v1')
    await stranger.page.getByRole('link', { name: 'tools.txt' }).waitFor()
    expect(await stranger.page.getByRole('button', { name: 'Upload' }).count()).toBe(0)
    expect(stranger.faults).toEqual([])
    await stranger.leave()

    // Somebody deletes the release. The request stays on its way until its progress is shown.
    const { id } = await forge.ask(forge.users.bob, 'GET', '/repos/bob/tools/releases/tags/v1')
    await forge.ask(forge.users.bob, 'DELETE', `/repos/bob/tools/releases/${id}`)
    await page.route('**/assets?*', async (route) => {
      await page.getByRole('progressbar').waitFor()
      await expectAccessible(page)
      await route.continue()
    })
    await input.setInputFiles({ name: 'other.txt', ...file })
    await page.getByRole('button', { name: 'Upload to First' }).click()
    await page.getByRole('alert').getByText('Check the address').waitFor()
    await expectAccessible(page)
    expect(bob.faults).toEqual([`404 POST /api/v1/repos/bob/tools/releases/${id}/assets`])
  })
})
