import { describe, expect, it } from 'vitest'
import { clientOf } from '../../../src/web/accounts/browsers.ts'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import { PASSWORD, signIn } from '../../support/server.ts'
import { expectReadable, openWebSuite, signOut } from '../../support/web-visitors.ts'

const PATH = '/user/settings/sessions'

describe.skipIf(!hasChromium)(browserSuite('the sessions of a user'), () => {
  const web = openWebSuite()

  it('are listed, and ended one by one', async () => {
    const other = await web.open('/memos', 'bob')
    const { page, faults, leave } = await web.open(PATH, 'bob')
    const items = page.getByRole('main').getByRole('listitem')
    const here = items.filter({ hasText: 'this browser' })
    await here.getByText('Chrome on Linux').waitFor()
    await here.getByText('Signed in from 127.0.0.1').waitFor()
    await expect.poll(() => here.count()).toBe(1)
    await expect.poll(() => here.getByRole('button').count()).toBe(0)
    // The tests have signed bob in by a program.
    await expect.poll(() => items.count()).toBe(3)
    const browserOfBob = items.filter({ hasText: 'Chrome on Linux' }).filter({ hasNotText: 'this' })
    await browserOfBob.getByRole('button', { name: 'End the session of Chrome on Linux' }).click()
    await expectReadable(page)
    await browserOfBob.getByRole('button', { name: 'Yes, end the session of Chrome' }).click()
    await browserOfBob.first().waitFor({ state: 'detached' })
    await other.page.goto('/user/settings')
    await other.page.getByText('Settings are for signed-in users').waitFor()
    expect(faults).toEqual([])
    await Promise.all([leave(), other.leave()])
  })

  it('say on an open page that the session has ended, until the next sign-in', async () => {
    const other = await web.open('/explore', 'carol')
    const { page, leave } = await web.open(PATH, 'carol')
    await page.getByRole('button', { name: 'End all other sessions' }).click()
    await page.getByRole('button', { name: 'Yes, end all other sessions' }).click()
    await page.getByText('There are no other sessions.').waitFor()
    await other.page.getByRole('link', { name: 'Memos' }).click()
    await other.page.getByText('You are signed out.').waitFor()
    await other.page.getByRole('alert').getByRole('link', { name: 'Sign in' }).click()
    await other.page.getByLabel('Username').fill('carol')
    await other.page.getByLabel('Password').fill(PASSWORD)
    await other.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await other.page.getByLabel('New memo').waitFor()
    await expect.poll(() => other.page.getByText('You are signed out.').count()).toBe(0)
    // Who leaves by the button needs no explanation.
    await signOut(other.page)
    await other.page.getByRole('main').getByRole('link', { name: 'Sign in' }).waitFor()
    await expect.poll(() => other.page.getByText('You are signed out.').count()).toBe(0)
    await Promise.all([leave(), other.leave()])
  })

  it('are ended all at once, except for this one', async () => {
    const { url } = web.forge.server
    await Promise.all([signIn(url, 'carol'), signIn(url, 'carol')])
    const other = await web.open('/memos', 'carol')
    const { page, faults, leave } = await web.open(PATH, 'carol')
    await page.getByRole('button', { name: 'End all other sessions' }).click()
    await page.getByRole('button', { name: 'Yes, end all other sessions' }).click()
    await page.getByText('There are no other sessions.').waitFor()
    await expectReadable(page)
    await expect.poll(() => page.getByRole('main').getByRole('listitem').count()).toBe(1)
    await other.page.goto('/user/settings')
    await other.page.getByText('Settings are for signed-in users').waitFor()
    await other.page.getByText('You are signed out.').waitFor()
    await expectReadable(other.page)
    // The cookie is gone, and a new visitor has no session that ended.
    await other.page.reload()
    await other.page.getByText('Settings are for signed-in users').waitFor()
    await expect.poll(() => other.page.getByText('You are signed out.').count()).toBe(0)
    await page.getByRole('link', { name: 'Access tokens' }).click()
    await page.getByText('You have no tokens.').waitFor()
    expect(faults).toEqual([])
    await Promise.all([leave(), other.leave()])
  })
})

describe('the client of a session', () => {
  it.each([
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox', 'Linux'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
      'Edge',
      'Windows',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
      'Safari',
      'iOS',
    ],
    [
      'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
      'Chrome',
      'Android',
    ],
    ['curl/8.14.1', 'curl', ''],
    ['', '', ''],
  ])('%s', (userAgent, program, system) => {
    expect(clientOf(userAgent)).toEqual({ program, system })
  })
})
