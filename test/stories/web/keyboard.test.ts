import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** A name that would run as HTML. */
const HOSTILE = 'docs/<img src=x onerror=alert(1)>.md'

describe.skipIf(!hasChromium)(browserSuite('the keys of the web pages'), () => {
  const web = openWebSuite(prepare)

  it('find a file by letters of its path', async () => {
    const { page, faults, leave } = await web.open('/bob/tools')
    await page.getByRole('link', { name: 'Branches' }).waitFor()
    await page.keyboard.press('t')
    const field = page.getByRole('combobox', { name: 'Find a file' })
    await field.fill('srapp')
    await page.getByRole('option', { name: 'src/app.ts' }).waitFor()
    await expectAccessible(page)
    await expect
      .poll(() => page.getByRole('option').first().locator('mark').allTextContents())
      .toEqual(['sr', 'app'])
    await page.keyboard.press('Enter')
    await page.waitForURL('**/bob/tools/src/branch/main/src/app.ts')
    expect(faults).toEqual([])
    await leave()
  })

  it('go to lines, to the blame and to the address of the commit', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/src/branch/main/src/app.ts')
    await page.getByRole('link', { name: 'Blame' }).waitFor()
    await page.keyboard.press('l')
    await page.getByLabel('Line, or lines').fill('3-5')
    await page.keyboard.press('Enter')
    await expect.poll(() => new URL(page.url()).hash).toBe('#L3-L5')
    await page.keyboard.press('y')
    await page.waitForURL(/src\/commit\/[0-9a-f]{40}\/src\/app\.ts#L3-L5$/)
    await page.getByText('The address names commit').waitFor()
    // The page reads the file of the commit anew, and a key has no effect before its link is there.
    await page.locator('a[data-key="b"][href*="/blame/commit/"]').waitFor()
    await page.keyboard.press('b')
    await page.waitForURL(/blame\/commit\/[0-9a-f]{40}\/src\/app\.ts/)
    expect(faults).toEqual([])
    await leave()
  })

  it('go to the tabs, and leave fields alone', async () => {
    const { page, faults, leave } = await web.open('/bob/tools', 'bob')
    await page.getByRole('link', { name: 'Branches' }).waitFor()
    // The letter has an effect soon after the g only, for which a busy machine may be too slow.
    const branches = async () => {
      await page.keyboard.press('g')
      await page.keyboard.press('b')
      return new URL(page.url()).pathname
    }
    await expect.poll(branches).toBe('/bob/tools/branches')
    await page.getByRole('link', { name: 'Branches' }).waitFor()
    await page.getByRole('searchbox', { name: 'Find a repository' }).fill('')
    await page.keyboard.type('tgb?')
    await expect
      .poll(() => page.getByRole('searchbox', { name: 'Find a repository' }).inputValue())
      .toBe('tgb?')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    expect(faults).toEqual([])
    await leave()
  })

  it('have a list, which switches those of one letter off', async () => {
    const { page, faults, leave } = await web.open('/bob/tools')
    await page.getByRole('link', { name: 'Branches' }).waitFor()
    await page.keyboard.press('?')
    const list = page.getByRole('dialog', { name: 'Keys' })
    await list.getByText('Find a file').waitFor()
    await expectAccessible(page)
    await list.getByLabel('Keys of one letter').uncheck()
    await list.getByRole('button', { name: 'Close' }).click()
    await list.first().waitFor({ state: 'detached' })
    await page.keyboard.press('t')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Find anything' }).waitFor()
    await expect.poll(() => page.getByRole('combobox', { name: 'Find a file' }).count()).toBe(0)
    await page.keyboard.type('keys')
    await page.getByRole('option', { name: 'Keys list' }).click()
    await list.getByLabel('Keys of one letter').check()
    await page.keyboard.press('Escape')
    // At once, before the page has heard that the dialog is closed.
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Find anything' }).waitFor()
    await list.first().waitFor({ state: 'detached' })
    expect(faults).toEqual([])
    await leave()
  })

  it('find pages, repositories, people, issues and files in one field', async () => {
    const { page, faults, leave } = await web.open('/bob/tools', 'bob')
    await page.getByRole('link', { name: 'Branches' }).waitFor()
    const field = page.getByRole('combobox', { name: 'Find anything' })
    const options = page.getByRole('option')
    await page.keyboard.press('Control+k')
    await field.fill('tools')
    await options.filter({ hasText: 'bob/tools' }).filter({ hasText: 'repository' }).waitFor()
    await field.fill('carol')
    await options.filter({ hasText: 'account' }).waitFor()
    await field.fill('onerror')
    await options.filter({ hasText: HOSTILE }).waitFor()
    await field.fill('rotten')
    await options.filter({ hasText: 'A rotten plank bob/tools#1' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/bob/tools/issues/1')
    await page.getByRole('heading', { name: 'A rotten plank #1' }).waitFor()
    await page.keyboard.press('Control+k')
    await field.fill('wet')
    await options.filter({ hasText: 'Wet things' }).filter({ hasText: 'view of issues' }).waitFor()
    await field.fill('timber')
    await options.filter({ hasText: 'timber' }).filter({ hasText: 'label' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/bob/tools/issues?labels=timber')
    await page.keyboard.press('Control+k')
    await field.fill('planks')
    await options.filter({ hasText: 'All planks' }).filter({ hasText: 'your view' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/issues?q=plank')
    await page.getByText('Results of').waitFor()
    await page.getByRole('link', { name: 'A rotten plank bob/tools#1' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })
})

async function prepare({ ask, users: { bob } }: Forge): Promise<void> {
  await ask(bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
  await ask(bob, 'POST', '/repos/bob/tools/issues', { title: 'A rotten plank' })
  await ask(bob, 'POST', '/repos/bob/tools/labels', { name: 'timber', color: '885500' })
  const view = { name: 'Wet things', query: 'is:open rain' }
  await ask(bob, 'POST', '/repos/bob/tools/issue_views', view)
  await ask(bob, 'POST', '/user/issue_views', { name: 'All planks', query: 'plank' })
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`).join('\n')
  await ask(bob, 'POST', '/repos/bob/tools/contents', {
    files: Object.entries({ 'src/app.ts': lines, [HOSTILE]: 'Nothing.\n' }).map(([path, text]) => ({
      operation: 'create',
      path,
      content: Buffer.from(text).toString('base64'),
    })),
  })
}
