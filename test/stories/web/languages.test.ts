import { describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import { PASSWORD } from '../../support/server.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the language of the web pages'), () => {
  const web = openWebSuite(
    async ({ ask, users: { bob } }) => {
      const tools = '/repos/bob/tools'
      await ask(bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
      await ask(bob, 'PUT', `${tools}/collaborators/carol`, { permission: 'write' })
      const hook = {
        type: 'slack',
        active: false,
        config: { url: 'http://127.0.0.1/', channel: '#tools' },
      }
      await ask(bob, 'POST', `${tools}/hooks`, hook)
      const file = { content: '', new_branch: 'next' }
      const { commit } = await ask(bob, 'POST', `${tools}/contents/next`, file)
      const status = { context: 'ci', state: 'success' }
      await ask(bob, 'POST', `${tools}/statuses/${commit.sha}`, status)
      await ask(bob, 'POST', `${tools}/pulls`, { title: 'Next', head: 'next', base: 'main' })
    },
    { webhookAllowedHosts: parseAllowedHosts('127.0.0.1') },
  )

  it('is the one that the browser prefers, from the sign-in to an issue', async () => {
    const { page, faults, leave } = await web.open('/explore')
    await page.setExtraHTTPHeaders({ 'accept-language': 'de-CH,de;q=0.9,en;q=0.8' })
    await page.goto('/user/login?redirect_to=/bob/tools/issues/new')
    await expect.poll(() => page.title()).toBe('Anmelden · Branchline')
    await page.getByLabel('Benutzername').fill('bob')
    await page.getByLabel('Passwort', { exact: true }).fill('wrong password')
    await page.getByRole('main').getByRole('button', { name: 'Anmelden', exact: true }).click()
    await page.getByRole('alert').getByText('Prüfen Sie').waitFor()
    await page.getByLabel('Passwort', { exact: true }).fill(PASSWORD)
    await page.getByRole('main').getByRole('button', { name: 'Anmelden', exact: true }).click()
    await page.waitForURL('**/bob/tools/issues/new')
    await page.getByLabel('Titel').fill('Water the beds')
    await page.getByRole('button', { name: 'Issue eröffnen' }).click()
    await page.waitForURL('**/bob/tools/issues/2')
    await page.getByText('hat das Issue eröffnet').or(page.getByText('eröffnet')).first().waitFor()
    await page.getByRole('heading', { name: 'Water the beds' }).first().waitFor()
    await expectAccessible(page)
    const refused = faults.splice(0).filter((fault) => !fault.includes('SignIn'))
    expect(refused).toEqual([])
    await leave()
  })

  it('is what the reader chooses, in this browser from then on', async () => {
    const { page, faults, leave } = await web.open('/bob/tools', 'bob')
    await page.getByRole('button', { name: 'Account of bob' }).click()
    await page.getByLabel('Language').selectOption('Français')
    await page.getByRole('button', { name: 'Compte de bob' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('fr')
    await page.goto('/bob/tools/branches')
    await expect.poll(() => page.title()).toContain('Branches')
    await page.getByRole('link', { name: 'Paramètres' }).first().waitFor()
    // Values of the API have words.
    for (const [path, text] of [
      ['settings/collaborators', 'écriture'],
      ['settings/hooks', 'Message pour Slack'],
      ['pulls/1', 'réussie'],
    ]) {
      await page.goto(`/bob/tools/${path}`)
      await page.getByText(`${text}`, { exact: true }).first().waitFor()
    }
    await page.getByRole('button', { name: 'Compte de bob' }).click()
    await page.getByLabel('Langue').selectOption('English')
    await page.getByRole('button', { name: 'Account of bob' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })
})
