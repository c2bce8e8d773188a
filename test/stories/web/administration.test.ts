import type { ServerResponse } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import {
  browserSuite,
  closeWindows,
  expectAccessible,
  hasChromium,
  openBrowser,
  type Visitor,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { accountMenu, confirmBy, expectReadable, visitAs } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the pages of administrators'), () => {
  let browser: Browser
  let forge: Forge
  let ada: Visitor

  beforeAll(async () => {
    forge = await startForge({
      webFolder: WEB_FOLDER,
      webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    })
    browser = await openBrowser()
    ada = await visitAs(browser, forge.server.url, '/-/admin', 'ada')
  })
  afterAll(async () => {
    await closeWindows(browser)
    await forge?.stop()
  })

  it.each([
    ['/-/admin', 'Largest file of a release'],
    ['/-/admin/accounts/bob', 'Set the password'],
    ['/-/admin/accounts/ada', 'Another administrator can'],
    ['/-/admin/identity-providers', 'No identity providers.'],
    ['/-/import', 'Import the repository'],
  ])('are accessible and fit a phone: %s', async (path, text) => {
    const { page, faults } = ada
    await page.goto(path)
    await page
      .getByText(text)
      .or(page.getByRole('button', { name: text }))
      .first()
      .waitFor()
    await expectReadable(page)
    expect(faults).toEqual([])
  })

  it('create an account, give and take rights, rename and delete the account', async () => {
    const { page, faults } = ada
    await page.goto('/')
    await accountMenu(page).click()
    await page.getByRole('link', { name: 'Administration' }).click()
    await page.getByText('New account').click()
    await page.getByLabel('Username').fill('dora')
    await page.getByLabel('E-mail address').fill('dora@example.org')
    await page.getByLabel('Password').fill('a long password of dora')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByRole('heading', { name: 'Account dora' }).waitFor()
    await page.getByLabel('Administrator of the server').check()
    await page.getByLabel('Active').uncheck()
    await page.getByRole('button', { name: 'Save the account' }).click()
    await page.getByText('Saved.').waitFor()
    await page.getByRole('link', { name: 'All accounts' }).click()
    const dora = page.getByRole('listitem').filter({ hasText: 'dora' })
    await dora.getByText('administrator').waitFor()
    await dora.getByText('archived').waitFor()
    await dora.getByRole('link', { name: 'dora' }).click()
    await page.getByText('Rename the account').first().click()
    await page.getByLabel('New name').fill('dorothea')
    await confirmBy(page, 'Rename the account', 'dora')
    await page.getByRole('heading', { name: 'Account dorothea' }).waitFor()
    await confirmBy(page, 'Delete the account', 'dorothea')
    await page.getByRole('link', { name: 'bob' }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'dorothea' }).count()).toBe(0)
    expect(faults).toEqual([])
  })

  it('say why a weak password is refused', async () => {
    const { page, leave } = await visitAs(browser, forge.server.url, '/-/admin/accounts/bob', 'ada')
    await page.getByLabel('New password').fill('bob')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByRole('alert').getByText('Reason: WEAK_PASSWORD').waitFor()
    await expect.poll(() => page.getByLabel('New password').inputValue()).toBe('bob')
    await leave()
  })

  const storedSecret = async () => {
    const { db } = forge.server.app
    const query = db.selectFrom('identity_providers').select('client_secret')
    return (await query.executeTakeFirstOrThrow()).client_secret
  }

  it('create, change and delete an identity provider, whose secret is never shown', async () => {
    const { page, faults } = ada
    await page.goto('/-/admin')
    await page.getByRole('link', { name: 'Identity providers' }).click()
    await page.getByText('No identity providers.').waitFor()
    await page.getByText('New identity provider').first().click()
    const added = page.getByRole('form', { name: 'New identity provider' })
    await added.getByLabel('Title').fill('Works')
    await added.getByLabel('Id (optional)').fill('works')
    await added.getByLabel('Client id').fill('branchline')
    await added.getByLabel('Client secret').fill('a secret')
    await added.getByLabel('Address of the sign-in page').fill('https://id.example/authorize')
    await added.getByLabel('Address that exchanges codes').fill('https://id.example/token')
    await added.getByLabel('Address of the user info').fill('https://id.example/userinfo')
    await added.getByRole('button', { name: 'Create the provider' }).click()
    const works = page.getByRole('article', { name: 'Works' })
    await works.getByText('identity-providers/works, client branchline').waitFor()
    await works.getByText('Change Works').click()
    const changed = works.getByRole('form', { name: 'Change Works' })
    await expect.poll(() => changed.getByLabel('Client secret').inputValue()).toBe('')
    await expect
      .poll(() => changed.getByLabel('Member with the identifier').inputValue())
      .toBe('sub')
    await changed.getByLabel('Pattern of the identifiers').fill('@works\\.example$')
    await changed.getByRole('button', { name: 'Save the provider' }).click()
    await works.getByText('for identifiers that match').waitFor()
    await changed.getByText('Saved.').waitFor()
    await expectReadable(page)
    // The empty field has kept the secret.
    expect(await storedSecret()).not.toBeNull()
    await confirmBy(page, 'Delete Works', 'Works')
    await page.getByText('No identity providers.').waitFor()
    expect(faults).toEqual([])
  })

  it('draw charts of what the server measures', async () => {
    const { page, faults, leave } = await visitAs(
      browser,
      forge.server.url,
      '/-/admin/metrics',
      'ada',
    )
    await page.getByRole('img', { name: /^Curves: Calls, from 0 to/ }).waitFor()
    await page.getByRole('img', { name: /^Curves: Calls by protocol/ }).waitFor()
    // The page itself calls by Connect, and the database has a size.
    await page.getByText(/Connect: [\d.]*[1-9]/).waitFor()
    await page.getByText(/size: [\d.]*[1-9]/).waitFor()
    await page.getByRole('img', { name: /^Curves: Memory/ }).waitFor()
    const methods = page.getByRole('region', { name: 'Table of methods' })
    await methods
      .getByText(/^\w+Service\/\w+$/)
      .first()
      .waitFor()
    await page.getByText('Values: Memory').click()
    const values = page.getByRole('region', { name: 'Table: Memory' }).getByRole('row')
    // A row for the names, one for each measurement, and one more when the next arrives.
    await values.nth(2).waitFor()
    await page.getByText('Values: Memory').click()
    await expectReadable(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('show nothing to other users', async () => {
    const { page, faults, leave } = await visitAs(browser, forge.server.url, '/-/admin', 'bob')
    await page.getByText('This page is for administrators').waitFor()
    await accountMenu(page).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'Administration' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })

  describe('and the import of a repository', () => {
    let upstream: GitUpstream

    beforeAll(async () => {
      upstream = await startGitUpstream()
      upstream.commit('main', 'The first commit')
    })
    afterAll(() => upstream?.stop())

    it('show that the import runs, cancel it, and import', async () => {
      const { page, faults, leave } = await visitAs(browser, forge.server.url, '/', 'bob')
      await page.getByRole('link', { name: 'Import a repository' }).click()
      await page.getByLabel('Address').fill(upstream.url)
      await page.getByLabel('Name of the new repository').fill('engine')
      const held: ServerResponse[] = []
      upstream.intercept = (_, response) => held.push(response) > 0
      const send = page.getByRole('button', { name: 'Import the repository' })
      await send.click()
      await page.getByRole('progressbar').waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Cancel the import' }).click()
      await page.getByRole('progressbar').first().waitFor({ state: 'detached' })
      upstream.intercept = undefined
      for (const response of held) response.destroy()
      await send.click()
      await page.getByRole('heading', { name: 'bob / engine' }).waitFor()
      await page.getByRole('link', { name: 'Commits' }).click()
      await page.getByText('The first commit').waitFor()
      expect(faults).toEqual([])
      await leave()
    })

    it('say why an import fails, and keep the form', async () => {
      const { page, leave } = await visitAs(browser, forge.server.url, '/-/import', 'bob')
      upstream.intercept = (_, response) => response.writeHead(404).end() === response
      await page.getByLabel('Address').fill(upstream.url)
      await page.getByLabel('Name of the new repository').fill('missing')
      await page.getByRole('button', { name: 'Import the repository' }).click()
      await page.getByRole('alert').getByText('Reason: CLONE_FAILED').waitFor()
      await expect
        .poll(() => page.getByLabel('Name of the new repository').inputValue())
        .toBe('missing')
      await expectAccessible(page)
      await leave()
    })
  })
})
