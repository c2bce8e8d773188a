import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import { settleCodeIndexes } from '../../support/code-indexes.ts'
import type { Forge } from '../../support/forge.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

const HOSTILE = '<img src=x onerror=alert(1)> needle <b>'

describe.skipIf(!hasChromium)(browserSuite('the search in the files of a repository'), () => {
  const web = openWebSuite(prepare)

  it('finds lines, marks what matches, and leads to the line', async () => {
    const { page, faults, leave } = await web.open('/bob/tools')
    await page.getByRole('link', { name: 'Search code' }).click()
    await page.getByRole('searchbox', { name: 'Search code' }).fill('NEEDLE')
    await page.keyboard.press('Enter')
    await page.getByText('2 files.').waitFor()
    const found = page.getByRole('region', { name: 'src/app.ts', exact: true })
    await expect.poll(() => found.locator('mark').allTextContents()).toEqual(['needle', 'needle'])
    await expect.poll(() => found.locator('code').textContent()).toContain(HOSTILE)
    await expectReadable(page)
    await found.getByRole('link', { name: 'Line 31 of src/app.ts', exact: true }).click()
    await expect.poll(() => new URL(page.url()).hash).toBe('#L31')
    await page.locator('#L31.marked').waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  it('finds lines in all repositories', async () => {
    const { page, faults, leave } = await web.open('/explore/code?q=needle')
    const found = page.getByRole('region', { name: 'bob/tools: src/app.ts', exact: true })
    await found.waitFor()
    await expect.poll(() => found.locator('mark').allTextContents()).toEqual(['needle', 'needle'])
    await expect.poll(() => found.locator('code').textContent()).toContain(HOSTILE)
    await expectReadable(page)
    await page.getByLabel('Owner').fill('carol')
    await page.keyboard.press('Enter')
    await page.getByText('No file has such a line.').waitFor()
    await page.goBack()
    await found.getByRole('link', { name: 'Line 31 of src/app.ts', exact: true }).click()
    await page.locator('#L31.marked').waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  it('is used on a phone, by fingers and by keys', async () => {
    const { forge, browser } = web
    for (const path of ['/bob/tools/search', '/explore/code']) {
      const context = await browser.newContext({
        baseURL: forge.server.url,
        viewport: { width: 390, height: 844 },
        hasTouch: true,
        isMobile: true,
        reducedMotion: 'reduce',
      })
      const page = await context.newPage()
      await page.goto(path)
      await page.getByRole('searchbox', { name: 'Search code' }).tap()
      await page.keyboard.type('needle')
      await page.getByRole('button', { name: 'Search', exact: true }).tap()
      await page.getByText('2 files.').waitFor()
      await expectReadable(page)
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      expect(await page.locator('a:focus').textContent()).toBe('src/app.ts')
      const line = page.getByRole('link', { name: 'Line 1 of src/app.ts', exact: true })
      const { width = 0, height = 0 } = (await line.boundingBox()) ?? {}
      expect(Math.min(width, height)).toBeGreaterThanOrEqual(24)
      await line.tap()
      await page.locator('#L1.marked').waitFor()
      await context.close()
    }
  })

  it('keeps the query in the address, with paths and an expression', async () => {
    const query = new URLSearchParams({ q: 'ne+dle <', path: '*.md !src', regexp: 'true' })
    const { page, faults, leave } = await web.open(`/bob/tools/search?${query}`)
    await page.getByText('No file has such a line.').waitFor()
    await expect
      .poll(() => page.getByRole('checkbox', { name: 'Regular expression' }).isChecked())
      .toBe(true)
    await page.getByLabel('Paths').fill('')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByText('1 file.').waitFor()
    await page.goBack()
    await page.getByText('No file has such a line.').waitFor()
    await expect.poll(() => page.getByLabel('Paths').inputValue()).toBe('*.md !src')
    await page.getByRole('searchbox', { name: 'Search code' }).fill('(')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByRole('alert').getByText('INVALID_SEARCH_EXPRESSION').waitFor()
    // A refusal that the page shows.
    expect(faults).toEqual(['400 POST /branchline.v1.CodeSearchService/SearchCode'])
    await leave()
  })

  it('has nothing of a private repository for strangers', async () => {
    const { page, leave } = await web.open('/bob/secret/search?q=needle')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await leave()
  })
})

async function prepare({ server, ask, users: { bob } }: Forge): Promise<void> {
  await ask(bob, 'POST', '/user/repos', { name: 'secret', auto_init: true, private: true })
  await ask(bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
  const lines = [HOSTILE, ...Array.from({ length: 29 }, (_, i) => `line ${i}`), 'a needle']
  await ask(bob, 'POST', '/repos/bob/tools/contents', {
    files: Object.entries({ 'src/app.ts': lines.join('\n'), 'notes.md': 'The Needle.\n' }).map(
      ([path, text]) => ({
        operation: 'create',
        path,
        content: Buffer.from(text).toString('base64'),
      }),
    ),
  })
  // The index waits some seconds after a push.
  await settleCodeIndexes(server.app)
}
