import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { PASSWORD } from '../../support/server.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

const FILE = '/bob/places/src/branch/main/application.js'

const PHONE = { width: 360, height: 740 }

const SECTIONS = ['Install', 'Use it', 'Use it', 'What’s *next*?']

const README = [
  '# Places\n\nSee [next](#whats-next), [twice](#use-it-1) and [old](#old-name).\n',
  ...SECTIONS.map((title) => `## ${title}\n\n${'Much text.\n\n'.repeat(60)}`),
  '<a name="old-name"></a>The end\n',
].join('\n')

describe.skipIf(!hasChromium)(browserSuite('links to a part of a page'), () => {
  const web = openWebSuite(prepare)

  it('go to lines of a file and mark them, also after a reload', async () => {
    const { page, faults, leave } = await web.open(`${FILE}#L200-L203`)
    const expectMarked = async (numbers: string) => {
      await expectAtTop(page, `#L${numbers.split(',')[0]}`)
      await expect.poll(() => markedNumbers(page)).toBe(numbers)
    }
    await expectMarked('200,201,202,203')
    await page.reload()
    await expectMarked('200,201,202,203')
    // Another fragment of the same page, as in the address bar.
    await page.goto(`${FILE}#L210-205`)
    await expectMarked('205,206,207,208,209,210')
    await page.goto(`${FILE}#L200`)
    await expectMarked('200')
    await page.goto('/bob/places/src/branch/main/huge.txt#L11000-L11001')
    await expectMarked('11000,11001')
    await page.goto('/bob/places/src/branch/main/README.md#L150')
    await expectMarked('150')
    expect(faults).toEqual([])
    await leave()
  })

  it('go to lines of a blame', async () => {
    const { page, faults, leave } = await web.open(
      '/bob/places/blame/branch/main/application.js#L200-L201',
    )
    await expectAtTop(page, '#L200')
    await expect
      .poll(() => page.getByText('const line200').textContent())
      .toBe('const line200 = 200\nconst line201 = 201\n')
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('go from line to line, and back to each', async () => {
    const { page, faults, leave } = await web.open(`${FILE}#L300`)
    await expectAtTop(page, '#L300')
    await page.locator('#L310').click()
    await expect.poll(() => markedNumbers(page)).toBe('310')
    await expectAtTop(page, '#L310')
    await page.mouse.wheel(0, -2000)
    await expect.poll(() => topOf(page, '#L310')).toBeGreaterThan(500)
    // The same link once more.
    await page.locator('#L310').dispatchEvent('click')
    await expectAtTop(page, '#L310')
    await page.goBack()
    await expectAtTop(page, '#L300')
    await page.getByRole('link', { name: 'Blame' }).dispatchEvent('click')
    await page.getByRole('link', { name: 'Without authors' }).waitFor()
    await expect.poll(() => page.evaluate('scrollY')).toBe(0)
    await page.goBack()
    await expectAtTop(page, '#L300')
    await page.setViewportSize(PHONE)
    await expectFits(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('go to a heading of a README, and lead inside, also a second time', async () => {
    const { page, faults, leave } = await web.open('/bob/places#whats-next')
    await expectInView(page, '#user-content-whats-next')
    await page.evaluate('scrollTo(0, 0)')
    await page.goto('/bob/places#install')
    await expectInView(page, '#user-content-install')
    await page.evaluate('scrollTo(0, 0)')
    await page.getByRole('link', { name: 'twice' }).click()
    await expectInView(page, '#user-content-use-it-1')
    await expect.poll(() => new URL(page.url()).hash).toBe('#use-it-1')
    await page.evaluate('scrollTo(0, 0)')
    await page.getByRole('link', { name: 'twice' }).click()
    await expectInView(page, '#user-content-use-it-1')
    await page.evaluate('scrollTo(0, 0)')
    await page.getByRole('link', { name: 'old' }).click()
    await expectInView(page, '[name=user-content-old-name]')
    expect(faults).toEqual([])
    await leave()
  })

  it('survive the sign-in', async () => {
    const { page, leave } = await web.open('/bob/hidden/src/branch/main/application.js#L200')
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('Username').fill('bob')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await expectAtTop(page, '#L200')
    await leave()
  })

  it('go to a file of changes that is far below, and to another one', async () => {
    const { page, faults, leave } = await web.open(
      `/bob/places/commit/${await newestCommit(web.forge)}#file-files%2F55.txt`,
    )
    const file = (number: number) => `[id="file-files%2F${number}.txt"]`
    await expectAtTop(page, file(55))
    await page.getByText('List of files').dispatchEvent('click')
    await page.getByRole('link', { name: 'files/31.txt' }).dispatchEvent('click')
    await expectAtTop(page, file(31))
    await expect
      .poll(() => page.evaluate<string>('document.activeElement.textContent'))
      .toContain('files/31.txt')
    expect(faults).toEqual([])
    await leave()
  })
})

function topOf(page: Page, selector: string): Promise<number> {
  return page.evaluate(
    `Math.round(document.querySelector(${JSON.stringify(selector)})?.getBoundingClientRect().top ?? -1e6)`,
  )
}

/** Waits until an element is where the browser shows the beginning of the page. */
async function expectAtTop(page: Page, selector: string): Promise<void> {
  await expect.poll(() => topOf(page, selector)).toBeGreaterThanOrEqual(-2)
  await expect.poll(() => topOf(page, selector)).toBeLessThan(3)
}

/** Waits until an element can be seen, which the end of a page keeps from the top. */
async function expectInView(page: Page, selector: string): Promise<void> {
  await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(400)
  await expect.poll(() => topOf(page, selector)).toBeGreaterThanOrEqual(-2)
  await expect.poll(() => topOf(page, selector)).toBeLessThan(700)
}

function markedNumbers(page: Page): Promise<string> {
  return page.evaluate(
    `[...document.querySelectorAll('.numbers .marked')].map((e) => e.textContent).join('').trim().replaceAll('\\n', ',')`,
  )
}

async function newestCommit({ ask, users }: Forge): Promise<string> {
  const [commit] = await ask(users.bob, 'GET', '/repos/bob/places/commits?limit=1')
  return commit.sha
}

async function prepare({ ask, users }: Forge): Promise<void> {
  const { bob } = users
  const lines = (count: number) =>
    Array.from({ length: count }, (_, i) => `const line${i + 1} = ${i + 1}\n`).join('')
  const commit = (repo: string, files: Readonly<Record<string, string>>) =>
    ask(bob, 'POST', `/repos/bob/${repo}/contents`, {
      branch: 'main',
      message: 'Add files',
      files: Object.entries(files).map(([path, text]) => ({
        operation: 'create',
        path,
        content: Buffer.from(text).toString('base64'),
      })),
    })
  await ask(bob, 'POST', '/user/repos', { name: 'places' })
  await ask(bob, 'POST', '/user/repos', { name: 'hidden', private: true })
  await commit('hidden', { 'application.js': lines(400) })
  const files = { 'application.js': lines(400), 'huge.txt': lines(12_000), 'README.md': README }
  await commit('places', files)
  const many = Array.from({ length: 60 }, (_, i) => [`files/${i}.txt`, lines(30)])
  await commit('places', Object.fromEntries(many))
}
