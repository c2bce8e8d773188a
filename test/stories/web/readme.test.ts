import { Buffer } from 'node:buffer'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  browserSuite,
  closeWindows,
  expectAccessible,
  hasChromium,
  openBrowser,
  type Visitor,
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { PASSWORD } from '../../support/server.ts'

const README = `# Plans

- [x] Write the **first** page
- [ ] Write the [second](second.ts) page
  - [ ] its beginning

- \`[ ]\` is no task

1. [X] A numbered task

![a dot](images/dot.png) ![a drawing](drawing.svg) ![a lie](lie.png)
`

/** One pixel. */
const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A drawing that would script, and ask another server. */
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7" onload="alert(1)">
  <script>alert(2)</script>
  <image href="https://evil.example/pixel.png" width="1" height="1"/>
  <foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="javascript:alert(3)"/></foreignObject>
</svg>`

const FILES: Readonly<Record<string, string>> = {
  'README.md': base64(README),
  'images/dot.png': DOT,
  'drawing.svg': base64(SVG),
  'lie.png': base64(SVG),
  'second.ts': base64('export const second = 2\n'),
  'large.ts': base64('export const many = 1\n'.repeat(10_000)),
}

describe.skipIf(!hasChromium)(browserSuite('the files of a private repository'), () => {
  let browser: Browser
  let forge: Forge
  let bob: Visitor
  /** The servers that the pages have asked. */
  const asked: string[] = []

  beforeAll(async () => {
    forge = await startForge({ webFolder: WEB_FOLDER })
    const { ask, users } = forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'plans', private: true })
    await ask(users.bob, 'POST', '/repos/bob/plans/contents', {
      message: 'Begin',
      branch: 'main',
      files: Object.entries(FILES).map(([path, content]) => ({
        operation: 'create',
        path,
        content,
      })),
    })
    browser = await openBrowser()
    bob = await visit(browser, forge.server.url)
    bob.page.on('request', (request) => asked.push(new URL(request.url()).host))
    await bob.page.goto('/user/login?redirect_to=/bob/plans')
    await bob.page.getByLabel('Username').fill('bob')
    await bob.page.getByLabel('Password').fill(PASSWORD)
    await bob.page.getByRole('button', { name: 'Sign in' }).click()
  })
  afterAll(async () => {
    await bob?.leave()
    await closeWindows(browser)
    await forge?.stop()
  })

  it('show the tasks of a README as check boxes that nobody can change', async () => {
    const { page } = bob
    const done = page.getByRole('checkbox', { name: 'Completed task' })
    const open = page.getByRole('checkbox', { name: 'Open task' })
    await done.first().waitFor()
    expect([await done.count(), await open.count()]).toEqual([2, 2])
    await expect.poll(() => done.first().isChecked()).toBe(true)
    await expect.poll(() => open.first().isChecked()).toBe(false)
    await expect.poll(() => open.first().isDisabled()).toBe(true)
    await page.getByText('[ ]', { exact: true }).waitFor()
    await expectAccessible(page)
    expect(bob.faults).toEqual([])
  })

  it('show the pictures of a README, and run nothing that is in them', async () => {
    const { page } = bob
    await expect.poll(() => widthOf(page, 'a dot')).toBe(1)
    expect(await addressOf(page, 'a dot')).toMatch(/^blob:/)
    await expect.poll(() => widthOf(page, 'a drawing')).toBe(7)
    // No page of the server has the origin of such an address.
    expect(await addressOf(page, 'a drawing')).toMatch(/^data:image\/svg\+xml;base64,/)
    // Its bytes have the type that its name says.
    await expect.poll(() => addressOf(page, 'a lie')).toMatch(/^blob:/)
    expect(await widthOf(page, 'a lie')).toBe(0)
    expect(asked).not.toContain('evil.example')
    expect(bob.dialogs).toEqual([])
    expect(bob.faults).toEqual([])
  })

  it('have colours from a worker, unless they are large', async () => {
    const { page } = bob
    const worker = page.waitForEvent('worker')
    await page.getByRole('link', { name: 'second.ts', exact: true }).click()
    await worker
    const source = page.getByRole('region', { name: 'Content of second.ts' })
    await expect.poll(() => source.innerHTML()).toContain('hljs-keyword')
    await expect.poll(() => source.textContent()).toContain('export const second = 2')
    await page.goBack()
    await page.getByRole('link', { name: 'large.ts' }).click()
    const large = page.getByRole('region', { name: 'Content of large.ts' })
    await large.waitFor()
    expect(await large.innerHTML()).not.toContain('hljs-')
    expect(bob.faults).toEqual([])
  })

  it('have drawings to which no link leads, and whose address has no origin', async () => {
    const { page, dialogs } = bob
    await page.goBack()
    await page.getByRole('img', { name: 'a drawing' }).waitFor()
    // The page shows the picture without an address until the bytes have arrived.
    await expect.poll(() => addressOf(page, 'a drawing')).toMatch(/^data:/)
    const outcome = await page.evaluate<string>(`(() => {
      const link = document.createElement('a')
      link.href = document.querySelector('img[alt="a drawing"]').src
      const { origin } = new URL(link.href)
      document.body.append(link)
      link.click()
      link.remove()
      return origin
    })()`)
    expect(outcome).toBe('null')
    await page.getByRole('heading', { name: 'bob / plans' }).waitFor()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/bob/plans')
    expect(dialogs).toEqual([])
  })
})

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function widthOf(page: Page, alt: string): Promise<number> {
  return page.evaluate(`document.querySelector('img[alt="${alt}"]').naturalWidth`)
}

function addressOf(page: Page, alt: string): Promise<string> {
  return page.evaluate(`document.querySelector('img[alt="${alt}"]').src`)
}
