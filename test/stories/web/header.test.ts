import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import { accountMenu, openWebSuite } from '../../support/web-visitors.ts'

const PHONE = { width: 360, height: 740 }

describe.skipIf(!hasChromium)(browserSuite('the header of the web pages'), () => {
  const web = openWebSuite(({ ask, users }) =>
    ask(users.bob, 'POST', '/user/repos', { name: 'tools', auto_init: true }),
  )

  it('has menus for the keyboard', async () => {
    const { page, faults, leave } = await web.open('/explore', 'bob')
    const focused = page.locator(':focus')
    await accountMenu(page).focus()
    await page.keyboard.press('ArrowDown')
    const profile = page.getByRole('link', { name: 'bob', exact: true })
    await profile.waitFor()
    await expect.poll(() => focused.textContent()).toContain('bob')
    await expectAccessible(page)
    await page.keyboard.press('ArrowUp')
    const last = page.getByRole('button', { name: 'Sign out' })
    await expect.poll(() => focused.textContent()).toContain('Sign out')
    await page.keyboard.press('Escape')
    await last.first().waitFor({ state: 'hidden' })
    await expect.poll(() => focused.getAttribute('aria-label')).toBe('Account of bob')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('link', { name: 'Access token' }).click()
    await page.waitForURL('**/user/settings/tokens')
    await page
      .getByRole('link', { name: 'Access token', exact: true })
      .first()
      .waitFor({ state: 'hidden' })
    expect(faults).toEqual([])
    await leave()
  })

  it('finds repositories from every page', async () => {
    const { page, faults, leave } = await web.open('/bob')
    await page.getByRole('searchbox', { name: 'Find a repository' }).fill('tools')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/explore?q=tools')
    await page.getByRole('link', { name: 'bob/tools' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  it('has one menu for all places on a phone', async () => {
    const { page, faults, leave } = await web.open('/bob', 'bob')
    await page.setViewportSize(PHONE)
    await page.getByRole('button', { name: 'Places' }).click()
    await page.getByRole('link', { name: 'Memos' }).waitFor()
    await expectAccessible(page)
    await expectFits(page)
    await page.getByRole('link', { name: 'Explore' }).click()
    await page.getByRole('heading', { name: 'Explore' }).waitFor()
    await page.getByRole('button', { name: 'Places' }).click()
    await page.getByRole('searchbox', { name: 'Find a repository' }).fill('tools')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'bob/tools' }).waitFor()
    await page.getByRole('link', { name: 'Memos' }).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('link', { name: 'Import of a repository' }).waitFor()
    await expectFits(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('has the present tab in view on a phone', async () => {
    const { page, faults, leave } = await web.open('/explore', 'bob')
    await page.setViewportSize(PHONE)
    await page.goto('/bob/tools/settings')
    for (const [tabs, name] of [
      ['Repository', 'Settings'],
      ['Settings', 'General'],
    ] as const) {
      const tab = page.getByRole('navigation', { name: tabs }).getByRole('link', { name })
      const edge = async (side: 'left' | 'right') => {
        const { x = -1, width = 0 } = (await tab.boundingBox()) ?? {}
        return side === 'left' ? x : x + width
      }
      await expect.poll(() => edge('left')).toBeGreaterThanOrEqual(0)
      await expect.poll(() => edge('right')).toBeLessThanOrEqual(PHONE.width)
    }
    await expectFits(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('is not on paper, where the text is dark on white', async () => {
    const { page, faults, leave } = await web.open('/bob/tools')
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    await page.getByRole('link', { name: 'README.md', exact: true }).waitFor()
    await page.getByRole('navigation', { name: 'Site' }).first().waitFor({ state: 'hidden' })
    await expect
      .poll(() => page.evaluate<string>('getComputedStyle(document.body).color'))
      .toBe('rgb(27, 28, 36)')
    expect(faults).toEqual([])
    await leave()
  })

  it('lets strangers choose the colours, which the browser remembers', async () => {
    const { page, faults, leave } = await web.open('/bob/tools')
    const background = () =>
      page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    await page.getByRole('link', { name: 'README.md', exact: true }).waitFor()
    const light = await background()
    const choose = async (theme: string) => {
      await page.getByRole('button', { name: 'Display' }).click()
      await page.getByLabel('Colours').selectOption(theme)
      await page.keyboard.press('Escape')
    }
    await choose('dark')
    await expect.poll(() => background()).not.toBe(light)
    await page.reload()
    await page.getByRole('link', { name: 'README.md', exact: true }).waitFor()
    await expect.poll(() => background()).not.toBe(light)
    await choose('contrast')
    await expectAccessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectAccessible(page)
    await choose('system')
    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(() => background()).toBe(light)
    expect(faults).toEqual([])
    await leave()
  })
})
