import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** Git and a browser on a busy machine. */
const TIMEOUT_MS = 120_000

const BEFORE = 'export function area(width) {\n  return width + "<img src=x onerror=alert(1)>"\n}\n'
const AFTER = `${BEFORE.replace('width +', 'length +')}\n// done\nexport const unit = 1\n`

/** Files that all have the word `export`, so that coloured ones can be counted. */
const FILES = 600
const MAX_COLOURED = 100

/** More than the page colours. */
const LONG = 'export const x = 1\n'.repeat(2001)

describe.skipIf(!hasChromium)(browserSuite('the colours of changes'), () => {
  const web = openWebSuite(prepare)

  it.each([
    ['a commit', '/bob/geometry/commit/area'],
    ['a comparison', '/bob/geometry/compare/main...area'],
    ['a pull request', '/bob/geometry/pulls/1/files'],
  ])('are those of files, with marked words: %s', { timeout: TIMEOUT_MS }, async (_, path) => {
    const { page, faults, dialogs, leave } = await web.open(path)
    const changes = page.getByRole('region', { name: 'Changes of src/area.ts' })
    for (const layout of ['Unified', 'Side by side']) {
      await page.getByLabel('Layout').selectOption(layout)
      // Only a word with a colour of its own is an element.
      const keyword = changes.getByText('export', { exact: true }).first()
      await keyword.waitFor()
      expect(await colourOf(keyword)).not.toBe(await colourOf(changes))
      expect(await colourOf(changes.getByText('// done', { exact: true }))).not.toBe(
        await colourOf(keyword),
      )
      // A mark has no role in this version of the tests' library.
      await expect
        .poll(() => changes.locator('mark').allTextContents())
        .toEqual(['width', 'length'])
      await changes.getByText('"<img src=x onerror=alert(1)>"', { exact: true }).first().waitFor()
      await expectAccessible(page)
      await page.emulateMedia({ colorScheme: 'dark' })
      await expectAccessible(page)
      await page.emulateMedia({ colorScheme: 'light' })
    }
    await page.getByLabel('White space').selectOption('Ignore all white space')
    await changes.getByText('export', { exact: true }).first().waitFor()
    expect([faults, dialogs]).toEqual([[], []])
    await leave()
  })

  it('appear where the reader comes, and long changes are plain', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { page, faults, leave } = await web.open('/bob/geometry/compare/main...many')
    await page.getByText(`${FILES + 1} changed files`, { exact: true }).waitFor()
    const keywords = page.getByText('export', { exact: true })
    await keywords.first().waitFor()
    await expect.poll(() => keywords.count()).toBeLessThan(MAX_COLOURED)

    await choose(page, 'many/file-555.ts')
    const chosen = page.getByRole('region', { name: 'Changes of many/file-555.ts' })
    await chosen.getByText('export', { exact: true }).waitFor()
    await expect.poll(() => keywords.count()).toBeLessThan(MAX_COLOURED)

    await choose(page, 'long.ts')
    await page.getByText('+2,001').click()
    const long = page.getByRole('region', { name: 'Changes of long.ts' })
    await long.getByText('export const x = 1', { exact: true }).first().waitFor()
    // A file that comes later has its colours, and the long one has none.
    await choose(page, 'many/file-300.ts')
    await page
      .getByRole('region', { name: 'Changes of many/file-300.ts' })
      .getByText('export', { exact: true })
      .waitFor()
    await expect.poll(() => long.getByText('export', { exact: true }).count()).toBe(0)
    expect(faults).toEqual([])
    await leave()
  })

  it('are those of a file on its page', { timeout: TIMEOUT_MS }, async () => {
    const { page, faults, leave } = await web.open('/bob/geometry/src/branch/area/src/area.ts')
    const content = page.getByRole('region', { name: 'Content of src/area.ts' })
    await content.getByText('export', { exact: true }).first().waitFor()
    await expect.poll(() => content.locator('code').textContent()).toBe(AFTER)
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })
})

function colourOf(element: Locator): Promise<string> {
  return element.evaluate(computedColour)
}

/** Runs in the browser. */
function computedColour(element: {
  computedStyleMap(): { get(name: string): { toString(): string } }
}): string {
  return element.computedStyleMap().get('color').toString()
}

async function choose(page: Page, path: string): Promise<void> {
  const list = page.getByRole('navigation', { name: 'Changed files' })
  if (!(await list.isVisible())) await page.getByText('List of files').click()
  await list.getByLabel('Filter by path').fill(path)
  await list.getByRole('link', { name: path, exact: true }).click()
}

async function prepare({ server, client, users: { bob }, ask }: Forge): Promise<void> {
  await ask(bob, 'POST', '/user/repos', { name: 'geometry' })
  await client.git('.', 'init', '-q', '-b', 'main', 'geometry')
  const git = (...args: string[]) => client.git('geometry', ...args)
  const commit = async (message: string, files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) {
      const path = join(client.home, 'geometry', name)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    }
    await git('add', '.')
    await git('commit', '-q', '-m', message)
  }
  await commit('Begin', { 'src/area.ts': BEFORE })
  await git('checkout', '-q', '-b', 'area')
  await commit('Measure', { 'src/area.ts': AFTER })
  await git('checkout', '-q', '-b', 'many', 'main')
  const many = Array.from({ length: FILES }, (_, i) => [
    `many/file-${i}.ts`,
    `export const x${i} = ${i}\n`,
  ])
  await commit('Grow', { ...Object.fromEntries(many), 'long.ts': LONG })
  await git('push', '-q', '--all', remoteOf(server.url, 'bob/geometry', 'bob', PASSWORD))
  const pull = { title: 'Measure', head: 'area', base: 'main' }
  await ask(bob, 'POST', '/repos/bob/geometry/pulls', pull)
}
