import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
import { confirmBy, expectReadable, visitAs } from '../../support/web-visitors.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPGpp6f4VdVN4gAHAhFrgx5qNT7arkPkqPzoWdqRlYdO ci'

describe.skipIf(!hasChromium)(browserSuite('deploy keys, tag rules and Git hooks'), () => {
  let browser: Browser
  let forge: Forge
  let bob: Visitor

  beforeAll(async () => {
    forge = await startForge({ webFolder: WEB_FOLDER, settings: { gitHooks: true } })
    browser = await openBrowser()
    await forge.ask(forge.users.bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
    bob = await open('/bob/tools/settings/keys', 'bob')
  })
  afterAll(async () => {
    await closeWindows(browser)
    await forge?.stop()
  })

  const open = (path: string, who: string) => visitAs(browser, forge.server.url, path, who)

  it('add and delete a deploy key, and say why a key is refused', async () => {
    const { page, faults } = bob
    await page.getByText('No deploy keys.').waitFor()
    await expectReadable(page)
    await page.getByLabel('Name of the deploy key').fill('builder')
    await page.getByLabel('Public SSH key').fill(KEY)
    await page.getByLabel('The key may write').check()
    await page.getByRole('button', { name: 'Add the deploy key' }).click()
    const item = page.getByRole('listitem').filter({ hasText: 'builder' })
    await item.getByText('read and write', { exact: true }).waitFor()
    await expect.poll(() => page.getByLabel('Public SSH key').inputValue()).toBe('')
    await expectReadable(page)
    expect(faults).toEqual([])

    await page.getByLabel('Name of the deploy key').fill('another')
    await page.getByLabel('Public SSH key').fill(KEY)
    await page.getByRole('button', { name: 'Add the deploy key' }).click()
    await page.getByRole('alert').getByText('Reason: DEPLOY_KEY_EXISTS').waitFor()
    await expect.poll(() => page.getByLabel('Name of the deploy key').inputValue()).toBe('another')

    await item.getByRole('button', { name: 'Delete the deploy key builder' }).click()
    await item.getByRole('button', { name: 'Yes, delete the deploy key builder' }).click()
    await page.getByText('No deploy keys.').waitFor()
  })

  it('create, change and delete a tag rule, and keep what was typed after a refusal', async () => {
    const { page, faults, leave } = await open('/bob/tools/settings/tags', 'bob')
    await page.getByText('No rules.').waitFor()
    await expectReadable(page)
    const added = page.getByRole('form', { name: 'Add a rule' })
    await added.getByRole('textbox', { name: /^Tags/ }).fill('v*')
    await added.getByLabel('Users who may change the tags').fill('bob\ncarol')
    await added.getByRole('button').click()
    const rule = page.getByRole('listitem').filter({ hasText: 'v*' })
    await rule.getByText('for bob, carol').waitFor()
    await expectReadable(page)
    const changed = page.getByRole('form', { name: 'Change the rule v*' })
    await changed.getByLabel('Users who may change the tags').fill('carol')
    await changed.getByRole('button').click()
    await rule.getByText('for carol').waitFor()
    await changed.getByText('Saved.').waitFor()
    expect(await forge.ask(forge.users.bob, 'GET', '/repos/bob/tools/tag_protections')).toEqual([
      expect.objectContaining({ name_pattern: 'v*', whitelist_usernames: ['carol'] }),
    ])
    await confirmBy(page, 'Delete the rule v*', 'v*')
    await page.getByText('No rules.').waitFor()
    expect(faults).toEqual([])

    await added.getByRole('textbox', { name: /^Tags/ }).fill('w*')
    await added.getByLabel('Users who may change the tags').fill('nobody-here')
    await added.getByRole('button').click()
    await page.getByRole('alert').getByText('Reason: UNKNOWN_ALLOWLIST_NAME').waitFor()
    await expect.poll(() => added.getByRole('textbox', { name: /^Tags/ }).inputValue()).toBe('w*')
    await leave()
  })

  it('set and remove the script of a Git hook, which the next push meets', async () => {
    const { page, faults, leave } = await open('/bob/tools/settings', 'ada')
    await page.getByRole('link', { name: 'Git hooks' }).click()
    const hook = page.getByRole('region', { name: 'pre-receive' })
    const script = hook.getByLabel('Script of pre-receive')
    await script.fill('echo closed for today >&2\nexit 1\n')
    await hook.getByRole('button', { name: 'Save pre-receive' }).click()
    await hook.getByText('active').waitFor()
    await hook.getByText('Saved.').waitFor()
    await expectReadable(page)
    const branch = { new_branch_name: 'late', old_ref_name: 'main' }
    const refused = await forge.rest(forge.users.bob, 'POST', '/repos/bob/tools/branches', branch)
    expect(refused.body.message).toContain('closed for today')
    await page.reload()
    await script.waitFor()
    await expect.poll(() => script.inputValue()).toContain('closed for today')
    await hook.getByRole('button', { name: 'Remove the script of pre-receive' }).click()
    await hook.getByRole('button', { name: 'Yes, remove the script of pre-receive' }).click()
    await hook.getByText('active').first().waitFor({ state: 'detached' })
    await expect.poll(() => script.inputValue()).toBe('')
    await forge.ask(forge.users.bob, 'POST', '/repos/bob/tools/branches', branch)
    expect(faults).toEqual([])
    await leave()
  })

  it('show Git hooks to administrators of the server only', async () => {
    const { page, faults, leave } = await open('/bob/tools/settings/hooks/git', 'bob')
    await page.getByText('Git hooks are for administrators of the server').waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'Git hooks' }).count()).toBe(0)
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('say that a server has no Git hooks', async () => {
    const other = await startForge({ webFolder: WEB_FOLDER })
    try {
      await other.ask(other.users.ada, 'POST', '/user/repos', { name: 'plain', auto_init: true })
      const path = '/ada/plain/settings/hooks/git'
      const { page, faults, leave } = await visitAs(browser, other.server.url, path, 'ada')
      await page.getByText('Git hooks are for administrators of the server').waitFor()
      await expectAccessible(page)
      expect(faults).toEqual([])
      await leave()
    } finally {
      await other.stop()
    }
  })

  it('show an archived repository without forms', async () => {
    const { bob: owner } = forge.users
    await forge.ask(owner, 'POST', '/user/repos', { name: 'old', auto_init: true })
    await forge.ask(owner, 'POST', '/repos/bob/old/keys', { title: 'kept', key: KEY })
    await forge.ask(owner, 'PATCH', '/repos/bob/old', { archived: true })
    const { page, faults, leave } = await open('/bob/old/settings/keys', 'bob')
    await page.getByText('kept').waitFor()
    for (const part of ['Deploy keys', 'Tag rules']) {
      await page.getByRole('link', { name: part }).click()
      await page.getByText('The repository is archived.').waitFor()
      await page.getByText('Loading…').first().waitFor({ state: 'detached' })
      await expect.poll(() => page.getByRole('main').getByRole('button').count()).toBe(0)
      await expectReadable(page)
    }
    expect(faults).toEqual([])
    await leave()
  })
})
