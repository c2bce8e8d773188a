import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { finishMeasuring } from '../../../src/forge/repositories/refs/repository-size.ts'
import { NO_QUOTAS } from '../../support/app.ts'
import {
  browserSuite,
  closeWindows,
  hasChromium,
  openBrowser,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { expectReadable, visitAs } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the pages of storage'), () => {
  let browser: Browser
  let forge: Forge

  beforeAll(async () => {
    const quotas = { ...NO_QUOTAS, account: 10_000_000, organization: 20_000_000 }
    forge = await startForge({ webFolder: WEB_FOLDER, settings: { quotas } })
    browser = await openBrowser()
    const { ask, users } = forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
    await ask(users.bob, 'POST', '/repos/bob/engine/tags', { tag_name: 'v1' })
    const release = { tag_name: 'v1' }
    const { id } = await ask(users.bob, 'POST', '/repos/bob/engine/releases', release)
    const form = new FormData()
    form.set('attachment', new Blob([new Uint8Array(2_000_000)]), 'engine.zip')
    const { authorization } = users.bob
    await fetch(`${forge.server.url}/api/v1/repos/bob/engine/releases/${id}/assets`, {
      method: 'POST',
      headers: { authorization },
      body: form,
    })
    await ask(users.bob, 'POST', '/orgs', { username: 'works' })
    await finishMeasuring(forge.server.app)
  })
  afterAll(async () => {
    await closeWindows(browser)
    await forge?.stop()
  })

  it('show users and owners of organisations what they have stored, and the limits', async () => {
    const { page, faults, leave } = await visitAs(
      browser,
      forge.server.url,
      '/user/settings/storage',
      'bob',
    )
    await page.getByText('2 MB of 10 MB for everything').waitFor()
    await page.getByRole('meter', { name: '2 MB of 10 MB' }).waitFor()
    const file = page.getByRole('link', { name: 'engine.zip' })
    await expect.poll(() => file.getAttribute('href')).toContain('/bob/engine/releases/tag/v1')
    await expectReadable(page)
    await page.goto('/-/organizations/works/storage')
    await page.getByText('of 20 MB for everything').waitFor()
    await page.getByText('No files.').waitFor()
    await expectReadable(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('let administrators see the largest owners, and set rules and groups', async () => {
    const { page, faults, leave } = await visitAs(browser, forge.server.url, '/-/admin', 'ada')
    await page.getByRole('link', { name: 'Storage' }).click()
    await page.getByRole('row', { name: 'bob/engine' }).getByText('2 MB').first().waitFor()
    await page.getByLabel('Name of the rule').fill('small')
    await page.getByRole('textbox', { name: 'Limit' }).fill('5MiB')
    await page.getByLabel('repositories and Git LFS').check()
    await page.getByRole('button', { name: 'Create the rule' }).click()
    await page.getByText('5.2 MB for repositories and Git LFS').waitFor()
    await page.getByLabel('Name of the group').fill('guests')
    await page.getByRole('button', { name: 'Create the group' }).click()
    await page.getByText('guests').first().click()
    await page.getByRole('button', { name: 'Add small' }).click()
    await page.getByRole('button', { name: 'Remove the rule small from guests' }).waitFor()
    await page.getByLabel('User or organisation').fill('carol')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Remove carol from guests' }).waitFor()
    await expectReadable(page)
    const { groups } = await forge.ask(forge.users.carol, 'GET', '/user/quota')
    expect(groups).toEqual([{ rules: [{ limit: 5 * 2 ** 20, subjects: ['size:git:all'] }] }])
    await page.getByRole('button', { name: 'Delete the rule small' }).click()
    await page.getByRole('button', { name: 'Yes, delete the rule small' }).click()
    const ofRule = page.getByRole('button', { name: 'rule small' })
    await expect.poll(() => ofRule.count()).toBe(0)
    expect(faults).toEqual([])
    await leave()
  })
})
