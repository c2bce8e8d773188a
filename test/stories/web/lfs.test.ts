import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { lfsAt, lfsObject, pointerOf } from '../../support/lfs.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

const TIMEOUT_MS = 120_000

const DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"></svg>'
const PLAY = 'Two in a room. One goes.'
const LARGE = 'a line\n'.repeat(200_000)
const FILES: Readonly<Record<string, string>> = {
  'play.txt': 'Two in a room.',
  'drawing.svg': DRAWING,
  'large.txt': LARGE,
}

describe.skipIf(!hasChromium)(browserSuite('files in Git LFS'), () => {
  const web = openWebSuite(prepare, { settings: { lfsPushCheck: false } })

  it('look like files of their size', { timeout: TIMEOUT_MS }, async () => {
    const { page, faults, leave } = await web.open('/bob/films/src/branch/main/play.txt', 'bob')
    await page.getByText(PLAY).waitFor()
    await page.getByText('LFS', { exact: true }).waitFor()
    await page.getByText(lfsObject(PLAY).oid).waitFor()
    await page.getByRole('button', { name: 'Download' }).waitFor()
    await expectAccessible(page)
    await page.goto('/bob/films/src/branch/main/drawing.svg')
    await expect
      .poll(() => page.getByRole('img', { name: 'drawing.svg' }).evaluate(isDrawn))
      .toBe(true)
    await page.goto('/bob/films/src/branch/main/large.txt')
    await page.getByText('The file is too large to show here.').waitFor()
    await page.getByText('1.4 MB').first().waitFor()
    await page.goto('/bob/films/src/branch/main/lost.txt')
    await page.getByText('The server does not have the content of this file.').waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('show their sizes in place of changes', { timeout: TIMEOUT_MS }, async () => {
    const [{ sha }] = await web.forge.ask(
      web.forge.users.bob,
      'GET',
      '/repos/bob/films/commits?limit=1',
    )
    const { page, faults, leave } = await web.open(`/bob/films/commit/${sha}`, 'bob')
    await page.getByText('LFS: 14 bytes → 24 bytes').waitFor()
    await expect.poll(() => page.getByText('oid sha256').count()).toBe(0)
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })
})

/** Runs in the browser. */
function isDrawn(element: unknown): boolean {
  return (element as { naturalWidth: number }).naturalWidth === 7
}

async function prepare({ server, users: { bob }, ask }: Forge): Promise<void> {
  await ask(bob, 'POST', '/user/repos', { name: 'films', auto_init: true })
  const films = lfsAt(`${server.url}/bob/films`)
  for (const content of Object.values(FILES)) await films.upload(bob, content)
  const pointer = (content: string) => Buffer.from(pointerOf(lfsObject(content))).toString('base64')
  const files = Object.entries({ ...FILES, 'lost.txt': 'nobody has this' })
  await ask(bob, 'POST', '/repos/bob/films/contents', {
    message: 'Begin',
    branch: 'main',
    files: files.map(([path, content]) => ({
      operation: 'create',
      path,
      content: pointer(content),
    })),
  })
  const { sha } = await ask(bob, 'GET', '/repos/bob/films/contents/play.txt')
  await films.upload(bob, PLAY)
  await ask(bob, 'PUT', '/repos/bob/films/contents/play.txt', {
    message: 'Go',
    content: pointer(PLAY),
    sha,
  })
}
