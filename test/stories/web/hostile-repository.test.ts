import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  browserSuite,
  closeWindows,
  hasChromium,
  openBrowser,
  type Visitor,
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

/** Runs wherever a page takes it for HTML. */
const ATTACK = '<img src=x onerror=alert(1)><script>alert(2)</script>'

/** File names have no slashes. */
const FILE = '<img src=x onerror=alert(1)>.js'

const README = `# Harmless

${ATTACK}

<a href="javascript:alert(3)">first link</a> [second link](javascript:alert(4))
<svg onload="alert(5)"><a xlink:href="javascript:alert(6)"><text>x</text></a></svg>
<iframe srcdoc="<script>alert(7)</script>"></iframe>
<form action="/user/login"><input name="password"></form>
<p id="app" style="position:fixed;inset:0">cover</p>
<style>body { display: none }</style>
<meta http-equiv="refresh" content="0;url=https://evil.example/">
<base href="https://evil.example/">
<img src="https://evil.example/pixel.png" alt="a badge">
<img src="picture.png" alt="a picture">
<img src="picture.svg" alt="a drawing">

The end.
`

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"><script>alert(8)</script></svg>'

describe.skipIf(!hasChromium)(browserSuite('a hostile repository'), () => {
  let browser: Browser
  let forge: Forge
  let visitor: Visitor
  let sha: string
  /** Addresses of other servers that a page has asked for. */
  const foreign: string[] = []

  beforeAll(async () => {
    forge = await startForge({ webFolder: WEB_FOLDER })
    sha = await prepare(forge)
    browser = await openBrowser()
    visitor = await visit(browser, forge.server.url)
    visitor.page.on('request', (request) => {
      const url = new URL(request.url())
      if (/^https?:$/.test(url.protocol) && url.origin !== forge.server.url) foreign.push(url.href)
    })
  })
  afterAll(async () => {
    await visitor?.leave()
    await closeWindows(browser)
    await forge?.stop()
  })

  it.each([
    ['the list of repositories', '/explore', 'bob/hostile'],
    ['an account', '/bob', 'bob/hostile'],
    ['a folder', '/bob/hostile', 'The end.'],
    ['a README', '/bob/hostile/src/branch/main/README.md', 'The end.'],
    ['a file', `/bob/hostile/src/branch/main/${encodeURIComponent(FILE)}`, 'Download'],
    ['a picture', '/bob/hostile/src/branch/main/picture.svg', 'Download'],
    ['a branch', '/bob/hostile/branches', 'x<img'],
    ['commits', '/bob/hostile/commits/branch/main', 'Message'],
    ['a commit', '/bob/hostile/commit/main', 'Message'],
    ['pull requests', '/bob/hostile/pulls', 'Title'],
    ['a pull request', '/bob/hostile/pulls/1', 'The end.'],
    ['its files', '/bob/hostile/pulls/1/files', '1 changed file'],
  ])('runs no script in %s, and asks no other server', async (_, path, text) => {
    const { page, dialogs } = visitor
    await page.goto(path.replace('/commit/main', `/commit/${sha}`))
    await page.getByRole('main').getByText(text).first().waitFor()
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    const scripts = await page.evaluate<number>(
      'document.querySelectorAll("main script, main iframe, main form[action], main style, main base").length',
    )
    expect(scripts).toBe(0)
    await expect
      .poll(() => page.evaluate('document.querySelectorAll("main [onerror], main [style]").length'))
      .toBe(0)
    expect(dialogs).toEqual([])
    expect(foreign).toEqual([])
    await expect.poll(() => new URL(page.url()).origin).toBe(forge.server.url)
  })

  it('has links that lead where they say, and pictures of other servers as links', async () => {
    const { page } = visitor
    await page.goto('/bob/hostile/src/branch/main/README.md')
    const badge = page.getByRole('link', { name: 'a badge' })
    await expect.poll(() => badge.getAttribute('rel')).toBe('nofollow noopener noreferrer')
    await page.getByText('first link').click()
    await page.getByText('second link').click()
    expect(visitor.dialogs).toEqual([])
    await expect
      .poll(() => new URL(page.url()).pathname)
      .toBe('/bob/hostile/src/branch/main/README.md')
  })

  it('is shown as text with the names that it has', async () => {
    const { page } = visitor
    await page.goto('/bob/hostile')
    await page.getByRole('link', { name: FILE }).click()
    await page.getByText('const hostile').waitFor()
    await expect.poll(() => page.title()).toContain(FILE)
  })

  it('shows a drawing to a stranger, and runs no script of it', async () => {
    const { page, dialogs } = visitor
    await page.goto('/bob/hostile')
    const drawing = page.getByRole('img', { name: 'a drawing' })
    await expect
      .poll(() => page.evaluate(`document.querySelector('img[alt="a drawing"]').naturalWidth`))
      .toBe(7)
    await expect.poll(() => drawing.getAttribute('src')).toMatch(/^data:image\/svg\+xml/)
    expect(dialogs).toEqual([])
    expect(foreign).toEqual([])
  })

  it.each(['picture.svg', 'page.html', 'code.js'])(
    'cannot run %s from the address of its content',
    async (file) => {
      const { page, dialogs } = visitor
      const answer = await page.goto(`/bob/hostile/raw/commit/main/${file}`)
      const headers = answer?.headers() ?? {}
      expect(headers['content-security-policy']).toBe("default-src 'none'; sandbox")
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['content-type']).toBe('text/plain; charset=utf-8')
      expect(dialogs).toEqual([])
    },
  )

  it('cannot be the script of a page', async () => {
    const { page } = visitor
    await page.goto('/bob/hostile')
    // What an attacker would add who had found a way past the sanitiser.
    const outcome = await page.evaluate(`new Promise((resolve) => {
      const script = document.createElement('script')
      try { script.src = '/bob/hostile/raw/commit/main/code.js' } catch (error) { return resolve(error.name) }
      script.onload = () => resolve('ran')
      script.onerror = () => resolve('refused')
      document.body.append(script)
    })`)
    expect(outcome).toBe('TypeError')
  })
})

/** Bob's repository, in which everything that has a text tries to run. Returns the id of its head. */
async function prepare({ server, client, users, ask }: Forge): Promise<string> {
  const { bob } = users
  await ask(bob, 'POST', '/user/repos', { name: 'hostile', description: ATTACK })
  await ask(bob, 'PATCH', '/users/bob', { displayName: ATTACK })
  await client.git('.', 'init', '-q', '-b', 'main', 'hostile')
  const git = (...args: string[]) => client.git('hostile', ...args)
  const commit = async (message: string, files: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(client.home, 'hostile', path, '..'), { recursive: true })
      await writeFile(join(client.home, 'hostile', path), text)
    }
    await git('add', '.')
    await git('commit', '-q', '-m', message)
  }
  await commit(`Message ${ATTACK}\n\n${ATTACK}`, {
    'README.md': README,
    [FILE]: `const hostile = '</code></pre>${ATTACK}'\n`,
    'picture.svg': SVG,
    'page.html': `<script>alert(9)</script>`,
    'code.js': 'alert(10)',
  })
  await git('checkout', '-q', '-b', 'x<img/src=x onerror=alert(1)>'.replaceAll(' ', ''))
  await commit(`Other ${ATTACK}`, { [`two ${FILE}`]: `${ATTACK}\n` })
  await git('push', '-q', '--all', remoteOf(server.url, 'bob/hostile', 'bob', PASSWORD))
  await ask(bob, 'POST', '/repos/bob/hostile/pulls', {
    title: `Title ${ATTACK}`,
    body: README,
    head: 'x<img/src=xonerror=alert(1)>',
    base: 'main',
  })
  return git('rev-parse', 'main')
}
