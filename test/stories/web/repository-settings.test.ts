import type { Browser, Locator } from 'playwright-core'
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
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { awaitSignedIn, confirmBy, expectReadable, visitAs } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the settings of a repository'), () => {
  let browser: Browser
  let forge: Forge
  let receiver: Receiver
  let bob: Visitor

  beforeAll(async () => {
    forge = await startForge({
      webFolder: WEB_FOLDER,
      webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    })
    receiver = await startReceiver((response) => response.writeHead(200).end('Thank you'))
    browser = await openBrowser()
    for (const name of ['tools', 'quiet', 'moving', 'gift'])
      await forge.ask(forge.users.bob, 'POST', '/user/repos', { name, auto_init: true })
    bob = await open('/', 'bob')
    await bob.page.getByRole('heading', { name: 'Your repositories' }).waitFor()
  })
  afterAll(async () => {
    await closeWindows(browser)
    await receiver?.stop()
    await forge?.stop()
  })

  const open = (path: string, who: string) => visitAs(browser, forge.server.url, path, who)

  it.each([
    ['/bob/tools/settings', 'General', 'Save the topics'],
    ['/bob/tools/settings/branches', 'Branch rules', undefined],
    ['/bob/tools/settings/branches/new', 'Branch rules', 'Create the rule'],
    ['/bob/tools/settings/collaborators', 'Collaborators', 'Add the collaborator'],
    ['/bob/tools/settings/hooks', 'Webhooks', undefined],
    ['/bob/tools/settings/maintenance', 'Maintenance', 'Run now'],
    ['/bob/tools/settings/hooks/new', 'Webhooks', 'Create the webhook'],
  ])('are accessible and fit a phone: %s', async (path, heading, button) => {
    const { page, faults } = bob
    await page.goto(path)
    await page.getByRole('heading', { name: heading }).waitFor()
    if (button) await page.getByRole('button', { name: button }).waitFor()
    await expectReadable(page)
    expect(faults).toEqual([])
  })

  it('show the steps of maintenance, and run them', async () => {
    const { page, faults } = await open('/bob/tools/settings/maintenance', 'bob')
    await page.getByText('No step has run.').waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('The server has the request.').waitFor()
    const path = '/repos/bob/tools/maintenance'
    await expect
      .poll(async () => (await forge.ask(forge.users.bob, 'GET', path)).requested, {
        timeout: 60_000,
      })
      .toEqual([])
    await page.reload()
    await page.getByRole('cell', { name: 'geometric' }).waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('less than an hour ago').waitFor()
    expect(faults).toEqual([expect.stringContaining('429')])
    const ada = await open('/-/admin/maintenance', 'ada')
    await ada.page.getByText('No repository waits for a step').waitFor()
    await expectReadable(ada.page)
  })

  it('are for administrators of the repository', async () => {
    const carol = await open('/bob/tools', 'carol')
    await carol.page.getByRole('heading', { name: 'bob / tools' }).waitFor()
    await awaitSignedIn(carol.page)
    await expect.poll(() => carol.page.getByRole('link', { name: 'Settings' }).count()).toBe(0)
    await carol.page.goto('/bob/tools/settings/hooks')
    await carol.page.getByText('Only administrators of the repository').waitFor()
    expect(carol.faults).toEqual([])
    await carol.leave()
  })

  it('change the description, the topics, the features and how to merge', async () => {
    const { page, faults, leave } = await open('/bob/quiet/settings', 'bob')
    const description = page.getByRole('form', { name: 'Description' })
    await description.getByLabel('Description').fill('Tools for work')
    await description.getByLabel('Website').fill('https://tools.example/')
    await description.getByLabel('Visibility').selectOption('private')
    await save(description)
    // The heading of the page follows.
    await page.getByRole('heading', { level: 1 }).getByText('private').waitFor()
    const topics = page.getByRole('form', { name: 'Topics' })
    await topics.getByLabel('Topics').fill('git\nforge')
    await save(topics)
    const merging = page.getByRole('form', { name: 'Merging' })
    await merging.getByLabel('Rebase', { exact: true }).uncheck()
    await merging.getByLabel('Style that is chosen at first').selectOption('squash')
    await save(merging)
    const features = page.getByRole('form', { name: 'Features' })
    await features.getByLabel('Releases').uncheck()
    await save(features)
    const issues = page.getByRole('form', { name: 'Issues' })
    await issues.getByLabel('Who may open issues').selectOption('contributors')
    await issues.getByLabel('Closing words').check()
    await save(issues)
    expect(await forge.ask(forge.users.bob, 'GET', '/repos/bob/quiet')).toMatchObject({
      issue_access: 'contributors',
      close_issues_via_commit_in_any_branch: true,
    })
    await page.reload()
    await page.getByText('Tools for work').waitFor()
    await expect.poll(() => topics.getByLabel('Topics').inputValue()).toBe('forge\ngit')
    expect(await forge.ask(forge.users.bob, 'GET', '/repos/bob/quiet')).toMatchObject({
      website: 'https://tools.example/',
      private: true,
      has_releases: false,
      allow_rebase: false,
      default_merge_style: 'squash',
    })
    // The navigation to a repository that is private now.
    expect(faults).toEqual(['404 GET /bob/quiet/settings'])
    await leave()
  })

  it('keep what was typed when the server refuses', async () => {
    const { page, leave } = await open('/bob/tools/settings', 'bob')
    const description = page.getByRole('form', { name: 'Description' })
    await description.getByLabel('Default branch').fill('missing')
    await description.getByRole('button').click()
    await page.getByRole('alert').getByText('Reason: INVALID_DEFAULT_BRANCH').waitFor()
    await expect.poll(() => description.getByLabel('Default branch').inputValue()).toBe('missing')
    await expectAccessible(page)
    await leave()
  })

  it('add, change and remove a collaborator', async () => {
    const { page, faults } = bob
    await page.goto('/bob/tools/settings/collaborators')
    await page.getByText('No collaborators.').waitFor()
    const form = page.getByRole('form', { name: 'Add a collaborator' })
    await form.getByLabel('Username').fill('carol')
    await form.getByLabel('Access').selectOption('read')
    await form.getByRole('button').click()
    const carol = page.getByRole('listitem').filter({ hasText: 'carol' })
    await carol.getByText('read', { exact: true }).waitFor()
    await expectAccessible(page)
    await carol.getByRole('combobox', { name: 'Access of carol' }).selectOption('write')
    await carol.getByRole('button', { name: 'Change' }).click()
    await carol.getByText('write', { exact: true }).waitFor()
    await carol.getByRole('button', { name: 'Remove carol' }).click()
    await page.getByText('No collaborators.').waitFor()
    expect(faults).toEqual([])
  })

  it('create, change and delete a branch rule', async () => {
    const { page, faults } = bob
    await page.goto('/bob/tools/settings/branches')
    await page.getByText('No rules.').waitFor()
    await page.getByRole('link', { name: 'New rule' }).click()
    await page.getByLabel('Branches', { exact: false }).fill('release/*')
    await page.getByRole('combobox', { name: 'Who may push' }).selectOption('some')
    await page.getByLabel('Users who may push').fill('bob')
    await page.getByLabel('Approvals that a pull request needs').fill('2')
    await page.getByLabel('Checks that must succeed').fill('ci/*')
    await page.getByLabel('Messages of commits match').fill('#[0-9]+')
    await page.getByLabel('Largest file, in bytes').fill('1000000')
    await page.getByRole('button', { name: 'Create the rule' }).click()
    await page.getByText('pushes by some, 2 approvals, checks, texts of commits').waitFor()
    await page.getByRole('link', { name: 'release/*' }).click()
    await expect
      .poll(() => page.getByLabel('Messages of commits match').inputValue())
      .toBe('#[0-9]+')
    await page.getByLabel('Messages of commits match').fill('')
    await page.getByLabel('Largest file, in bytes').fill('0')
    await expect.poll(() => page.getByLabel('Users who may push').inputValue()).toBe('bob')
    await page.getByRole('combobox', { name: 'Who may push' }).selectOption('nobody')
    await page.getByLabel('Checks that must succeed').fill('')
    await page.getByLabel('Each commit needs a verified signature').check()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save the rule' }).click()
    await page.getByText('no pushes, 2 approvals, signed commits').waitFor()
    await page.getByRole('link', { name: 'release/*' }).click()
    await confirmBy(page, 'Delete the rule', 'release/*')
    await page.getByText('No rules.').waitFor()
    expect(faults).toEqual([])
  })

  it('create a webhook, send a test, show the delivery and deliver again', async () => {
    const { page, faults } = bob
    await page.goto('/bob/tools/settings/hooks')
    await page.getByText('No webhooks.').waitFor()
    await page.getByRole('link', { name: 'New webhook' }).click()
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByLabel('Secret for signatures').fill('a secret')
    await page.getByLabel('Everything about pull requests').check()
    await page.getByRole('button', { name: 'Create the webhook' }).click()
    await page.getByText('No deliveries.').waitFor()
    await page.getByRole('button', { name: 'Send a test' }).click()
    const delivery = page.getByRole('group').filter({ hasText: 'delivered' })
    await delivery.getByText('delivered').click()
    await delivery.getByText('Status 200').waitFor()
    await delivery.getByText('Thank you').waitFor()
    await delivery.getByText('"full_name": "bob/tools"').first().waitFor()
    await expectAccessible(page)
    const before = receiver.received.length
    await delivery.getByRole('button', { name: 'Deliver again push' }).click()
    await expect.poll(() => receiver.received.length).toBeGreaterThan(before)
    await page.getByText('Change the webhook').click()
    await page.getByLabel('Active').uncheck()
    await page.getByRole('button', { name: 'Save the webhook' }).click()
    await page.getByRole('button', { name: 'Send a test' }).first().waitFor({ state: 'detached' })
    await confirmBy(page, 'Delete the webhook', receiver.url)
    await page.getByText('No webhooks.').waitFor()
    expect(receiver.received[0]?.headers['x-gitea-signature']).toMatch(/^[0-9a-f]{64}$/)
    expect(faults).toEqual([])
  })

  it('rename, transfer, archive and delete with the typed name', async () => {
    const { page, faults } = bob
    await page.goto('/bob/moving/settings')
    await page.getByText('Rename the repository').first().click()
    const renaming = page.getByRole('form', { name: 'Rename the repository' })
    await renaming.getByLabel('New name').fill('moved')
    await confirmBy(page, 'Rename the repository', 'bob/moving')
    await page.getByRole('heading', { name: 'bob / moved' }).waitFor()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/bob/moved/settings')

    await confirmBy(page, 'Archive the repository', 'bob/moved')
    await page.getByRole('button', { name: 'Restore the repository' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Restore the repository' }).click()
    await page.getByText('Archive the repository').first().waitFor()

    await confirmBy(page, 'Delete the repository', 'bob/moved')
    await page.getByRole('heading', { name: 'Your repositories' }).waitFor()
    expect((await forge.rest(forge.users.bob, 'GET', '/repos/bob/moved')).status).toBe(404)
    expect(faults).toEqual([])
  })

  it('star, watch and fork a repository', async () => {
    const { page, faults, leave } = await open('/bob/tools', 'carol')
    await page.getByRole('button', { name: 'Star (0)' }).click()
    await page.getByRole('button', { name: 'Unstar (1)' }).waitFor()
    const watching = page.getByRole('button', { name: /^(Watch|Unwatch) / })
    const before = (await watching.textContent()) ?? ''
    await watching.click()
    await page
      .getByRole('button', { name: before.startsWith('Watch') ? /^Unwatch / : /^Watch / })
      .waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Unstar (1)' }).click()
    await page.getByRole('button', { name: 'Star (0)' }).waitFor()
    await page.getByText('Fork (0)').click()
    await page.getByLabel('Name of the fork').fill('my-tools')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Create the fork' }).click()
    await page.getByRole('heading', { name: 'carol / my-tools' }).waitFor()
    await page.getByRole('heading', { level: 1 }).getByText('fork', { exact: true }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  it('ask the new owner before a transfer', async () => {
    const { page, faults } = bob
    await page.goto('/bob/gift/settings')
    await page.getByText('Transfer the repository').first().click()
    const transfer = page.getByRole('form', { name: 'Transfer the repository' })
    await transfer.getByLabel('New owner').fill('carol')
    await confirmBy(page, 'Transfer the repository', 'bob/gift')
    await page.getByText('carol has been asked to take the repository.').waitFor()
    await expectAccessible(page)
    const carol = await open('/bob/gift', 'carol')
    await carol.page.getByText('bob offers you this repository.').waitFor()
    await expectAccessible(carol.page)
    await carol.page.getByRole('button', { name: 'Take the repository' }).click()
    await carol.page.getByRole('heading', { name: 'carol / gift' }).waitFor()
    expect([...faults, ...carol.faults]).toEqual([])
    await carol.leave()
  })
})

/** Sends a form that stays, and waits for the answer. */
async function save(form: Locator): Promise<void> {
  await form.getByRole('button').click()
  await form.getByText('Saved.').waitFor()
}
