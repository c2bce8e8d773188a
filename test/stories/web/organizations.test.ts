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
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { confirmBy, expectReadable, visitAs } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the pages of organisations'), () => {
  let browser: Browser
  let forge: Forge
  let bob: Visitor

  beforeAll(async () => {
    forge = await startForge({
      webFolder: WEB_FOLDER,
      webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    })
    await forge.ask(forge.users.bob, 'POST', '/orgs', { username: 'acme' })
    browser = await openBrowser()
    bob = await visitAs(browser, forge.server.url, '/-/organizations', 'bob')
  })
  afterAll(async () => {
    await closeWindows(browser)
    await forge?.stop()
  })

  it.each([
    ['/-/organizations', 'acme'],
    ['/acme', 'Owners'],
    ['/-/organizations/acme', 'Display name'],
    ['/-/organizations/acme/members', 'Remove bob'],
    ['/-/organizations/acme/teams', 'Owners'],
    ['/-/organizations/acme/teams/new', 'Create the team'],
    ['/-/organizations/acme/hooks', 'No webhooks.'],
    ['/-/organizations/acme/hooks/new', 'Create the webhook'],
  ])('are accessible and fit a phone: %s', async (path, text) => {
    const { page, faults } = bob
    await page.goto(path)
    await page
      .getByText(text)
      .or(page.getByRole('button', { name: text }))
      .first()
      .waitFor()
    await expectReadable(page)
    expect(faults).toEqual([])
  })

  it('create an organisation, a repository, a team and its members', async () => {
    const { page, faults } = bob
    await page.goto('/-/organizations')
    await page.getByText('New organisation').click()
    await page.getByLabel('Name', { exact: true }).fill('works')
    await page.getByLabel('Display name').fill('The Works')
    await page.getByRole('button', { name: 'Create the organisation' }).click()
    await page.getByText('The Works').waitFor()
    await page.getByText('New repository').click()
    await page.getByLabel('Name', { exact: true }).fill('engine')
    await page.getByRole('button', { name: 'Create the repository' }).click()
    await page.getByRole('heading', { name: 'works / engine' }).waitFor()
    await page.getByRole('link', { name: 'works', exact: true }).click()
    await page.getByRole('link', { name: 'Settings of the organisation' }).click()
    await page.getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('link', { name: 'New team' }).click()
    await page.getByLabel('Name').fill('builders')
    await page.getByRole('button', { name: 'Create the team' }).click()
    await page.getByLabel('Username').fill('carol')
    await page.getByRole('button', { name: 'Add the member' }).click()
    await page.getByRole('button', { name: 'Remove carol' }).waitFor()
    await page.getByLabel('Repository of the organisation').fill('engine')
    await page.getByRole('button', { name: 'Add the repository' }).click()
    await page.getByRole('button', { name: 'Remove engine' }).waitFor()
    await page.getByLabel('Access to its repositories').selectOption('admin')
    await page.getByRole('button', { name: 'Save the team' }).click()
    await page.getByText('Saved.').waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])

    const carol = await visitAs(browser, forge.server.url, '/works/engine', 'carol')
    await carol.page.getByRole('navigation', { name: 'Repository' }).getByText('Settings').waitFor()
    await carol.page.goto('/-/organizations/works')
    await carol.page.getByText('Only owners of the organisation').waitFor()
    await expectAccessible(carol.page)
    expect(carol.faults).toEqual([])
    await carol.leave()

    await confirmBy(page, 'Delete the team', 'builders')
    await page.getByRole('link', { name: 'New team' }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'builders' }).count()).toBe(0)
    expect(faults).toEqual([])
  })

  it('let a team push to a protected branch', async () => {
    const { page, faults } = bob
    await page.goto('/works/engine/settings/branches/new')
    await page.getByLabel('Branches').fill('main')
    await page.getByRole('combobox', { name: 'Who may push' }).selectOption('some')
    await page.getByLabel('Teams who may push').fill('Owners')
    await page.getByLabel('Teams who may merge').fill('Owners')
    await page.getByRole('button', { name: 'Create the rule' }).click()
    await page.getByText('pushes by some, merges by some').waitFor()
    await page.getByRole('link', { name: 'main', exact: true }).click()
    await expect.poll(() => page.getByLabel('Teams who may push').inputValue()).toBe('Owners')
    await page.getByLabel('Teams who may merge').fill('')
    await page.getByRole('button', { name: 'Save the rule' }).click()
    await page.getByText('pushes by some', { exact: true }).waitFor()
    expect(faults).toEqual([])
  })

  it('change an organisation, and say why it cannot be deleted', async () => {
    const { page, leave } = await visitAs(
      browser,
      forge.server.url,
      '/-/organizations/works',
      'bob',
    )
    await page.getByRole('textbox', { name: 'Description' }).fill('We work.')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await confirmBy(page, 'Delete the organisation', 'works')
    await page.getByRole('alert').getByText('Reason: ORGANIZATION_HAS_REPOSITORIES').waitFor()
    await expectAccessible(page)
    await forge.ask(forge.users.bob, 'DELETE', '/repos/works/engine')
    await page.getByRole('button', { name: 'Delete the organisation' }).click()
    await page.getByRole('heading', { name: 'Your organisations' }).waitFor()
    await leave()
  })

  it('create and delete a webhook of an organisation', async () => {
    const { page, faults } = bob
    await page.goto('/-/organizations/acme/hooks/new')
    await page.getByLabel('Address').fill('http://127.0.0.1:9/in')
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.getByText('No deliveries.').waitFor()
    await expectAccessible(page)
    await confirmBy(page, 'Delete the webhook', 'http://127.0.0.1:9/in')
    await page.getByText('No webhooks.').waitFor()
    expect(faults).toEqual([])
  })

  it('show a stranger what is public, and ask a stranger to sign in for the rest', async () => {
    const { page, faults, leave } = await visit(browser, forge.server.url)
    await page.goto('/acme')
    await page.getByText('No member is public.').waitFor()
    await expectAccessible(page)
    await page.goto('/-/organizations/acme')
    await page.getByText('Settings are for signed-in users').waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })
})
