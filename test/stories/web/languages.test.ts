import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import { PASSWORD } from '../../support/server.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the language of the web pages'), () => {
  const web = openWebSuite(({ ask, users }) =>
    ask(users.bob, 'POST', '/user/repos', { name: 'tools', auto_init: true }),
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
    await page.waitForURL('**/bob/tools/issues/1')
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
    await page.getByRole('button', { name: 'Compte de bob' }).click()
    await page.getByLabel('Langue').selectOption('English')
    await page.getByRole('button', { name: 'Account of bob' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })
})
