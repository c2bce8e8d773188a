import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** Git and a browser on a busy machine. */
const TIMEOUT_MS = 120_000

const FILES = 3000
const LONG = Array.from({ length: 3000 }, (_, i) => `Line ${i}\n`).join('')

describe.skipIf(!hasChromium)(browserSuite('a pull request with thousands of files'), () => {
  const web = openWebSuite(prepare)

  it('draws the files that the reader comes to, and leads to the others', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { page, faults, leave } = await web.open('/bob/many/pulls/1/files')
    await page.getByText('3,001 changed files', { exact: true }).waitFor()
    const drawn = page.getByRole('region', { name: /^Changes of / })
    await drawn.first().waitFor()
    await expect.poll(() => drawn.count()).toBeLessThan(200)
    await expectAccessible(page)

    await page.getByText('List of files').click()
    const list = page.getByRole('navigation', { name: 'Changed files' })
    await list.getByText('2,901 more. Filter to see them.').waitFor()
    await list.getByLabel('Filter by path').fill('file-2321')
    await list.getByRole('link', { name: 'folder-2/file-2321.txt' }).click()
    const chosen = page.getByRole('region', { name: 'Changes of folder-2/file-2321.txt' })
    await chosen.waitFor()
    await expect.poll(() => chosen.evaluate(isInView)).toBe(true)
    await expect.poll(() => drawn.count()).toBeLessThan(400)
    await expectAccessible(page)
    await page.reload()
    await chosen.waitFor()

    await list.first().waitFor({ state: 'detached' })
    await page.getByText('List of files').click()
    await list.getByLabel('Filter by path').fill('long')
    await list.getByRole('link', { name: 'long.txt' }).click()
    // Large files are closed at first.
    const large = page.getByRole('region', { name: 'Changes of long.txt' })
    await page.getByText('+3,000').waitFor()
    await expect.poll(() => large.count()).toBe(0)
    await page.getByText('+3,000').click()
    await large.waitFor()
    expect(faults).toEqual([])
    await leave()
  })
})

/** Runs in the browser. */
function isInView(element: { getBoundingClientRect(): { top: number; bottom: number } }): boolean {
  const { top, bottom } = element.getBoundingClientRect()
  return bottom > 0 && top < 800
}

async function prepare({ server, client, users, ask }: Forge): Promise<void> {
  await ask(users.bob, 'POST', '/user/repos', { name: 'many' })
  await client.git('.', 'init', '-q', '-b', 'main', 'many')
  const git = (...args: string[]) => client.git('many', ...args)
  await git('commit', '-q', '--allow-empty', '-m', 'Begin')
  await git('checkout', '-q', '-b', 'topic')
  for (let i = 0; i < FILES; i++) {
    const folder = join(client.home, 'many', `folder-${Math.floor(i / 1000)}`)
    if (i % 1000 === 0) await mkdir(folder)
    await writeFile(join(folder, `file-${i}.txt`), `File ${i}\n`)
  }
  await writeFile(join(client.home, 'many/long.txt'), LONG)
  await git('add', '.')
  await git('commit', '-q', '-m', 'Add many files')
  await git('push', '-q', '--all', remoteOf(server.url, 'bob/many', 'bob', PASSWORD))
  const pull = { title: 'Many files', head: 'topic', base: 'main' }
  await ask(users.bob, 'POST', '/repos/bob/many/pulls', pull)
}
