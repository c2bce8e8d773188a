import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the page of the components'), () => {
  const web = openWebSuite()

  it('shows all of them accessibly in all colours, on a phone too', async () => {
    const { page, faults, leave } = await web.open('/-/components')
    for (const theme of ['light', 'dark', 'contrast']) {
      await page.getByRole('main').getByRole('combobox', { name: 'Colours' }).selectOption(theme)
      await expectAccessible(page)
    }
    await page.setViewportSize({ width: 360, height: 740 })
    await expectAccessible(page)
    await expectFits(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('says what has happened until the reader closes the toast', async () => {
    const { page, faults, leave } = await web.open('/-/components')
    await page.getByRole('button', { name: 'Show a toast' }).click()
    const toast = page.getByRole('status').filter({ hasText: 'Something has happened.' })
    await toast.waitFor()
    // The text stays while the focus is on the toast, and on the next page.
    await toast.getByRole('button', { name: 'Close' }).focus()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Explore' }).click()
    await page.getByRole('heading', { level: 1, name: 'Explore' }).waitFor()
    await toast.getByRole('button', { name: 'Close' }).click()
    await toast.first().waitFor({ state: 'detached' })
    expect(faults).toEqual([])
    await leave()
  })

  it('asks before a loss in a dialog that Escape closes', async () => {
    const { page, faults, leave } = await web.open('/-/components')
    const opener = page.getByRole('button', { name: 'Delete', exact: true })
    await opener.click()
    const dialog = page.getByRole('dialog', { name: 'Delete' })
    const focused = page.locator(':focus')
    await expect.poll(() => focused.textContent()).toBe('No, keep it')
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await dialog.first().waitFor({ state: 'detached' })
    await expect.poll(() => focused.textContent()).toContain('Delete')
    await opener.click()
    await dialog.getByRole('button', { name: 'Yes, delete' }).click()
    await dialog.first().waitFor({ state: 'detached' })
    expect(faults).toEqual([])
    await leave()
  })
})
