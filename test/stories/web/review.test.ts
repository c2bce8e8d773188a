import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  browserSuite,
  expectAccessible,
  expectFits,
  hasChromium,
  openBrowser,
  type Visitor,
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 360, height: 740 }

const BEFORE = 'export function area(width, height) {\n  return width + height\n}\n'
const AFTER =
  'export function area(width, height) {\n  return width - height\n}\n\nexport const unit = "m"\n'
const FIXED = AFTER.replace('width - height', 'width * height')

describe.skipIf(!hasChromium)(browserSuite('the review of a pull request'), () => {
  let browser: Browser
  let forge: Forge

  beforeAll(async () => {
    forge = await startForge({ webFolder: WEB_FOLDER })
    browser = await openBrowser()
    await prepare(forge)
  })
  afterAll(async () => {
    await browser?.close()
    await forge?.stop()
  })

  const open = async (path: string, who: string): Promise<Visitor> => {
    const visitor = await visit(browser, forge.server.url)
    const { page } = visitor
    await page.goto(`/user/login?redirect_to=${encodeURIComponent(path)}`)
    await page.getByLabel('Username').fill(who)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    return visitor
  }

  it('goes from a comparison through a rejection and a fix to the merge, without a reload', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const bob = await open('/bob/geometry/compare/main...area', 'bob')
    await bob.page.getByLabel('Title').fill('Compute areas')
    await bob.page.getByRole('button', { name: 'Open a pull request' }).click()
    await bob.page.getByRole('heading', { name: 'Compute areas #1' }).waitFor()

    const carol = await open('/bob/geometry/pulls/1/files', 'carol')
    await carol.page.getByRole('button', { name: 'Comment on line 2 of src/area.ts' }).click()
    await carol.page
      .getByRole('textbox', { name: 'Comment on line 2 of src/area.ts' })
      .fill('An area is a **product**.')
    await carol.page.getByRole('button', { name: 'Begin a review' }).click()
    await carol.page.getByText('1 comment waits for the submission.').waitFor()
    await carol.page.getByText('An area is a product.').waitFor()
    await carol.page.getByRole('button', { name: 'Comment on old line 2 of src/area.ts' }).click()
    await carol.page
      .getByRole('textbox', { name: 'Comment on old line 2 of src/area.ts' })
      .fill('This was a sum.')
    await expectAccessible(carol.page)

    // The server has the first comment, and the browser the text of the second one.
    await carol.page.reload()
    await carol.page.getByText('An area is a product.').waitFor()
    const kept = carol.page.getByRole('textbox', { name: 'Comment on old line 2 of src/area.ts' })
    await kept.waitFor()
    expect(await kept.inputValue()).toBe('This was a sum.')
    await carol.page.getByRole('button', { name: 'Add to the review' }).click()
    await carol.page.getByText('2 comments wait for the submission.').waitFor()

    // A pending review is for its author only.
    await bob.page.getByRole('link', { name: 'Files' }).click()
    await bob.page.getByRole('heading', { name: 'Your review' }).waitFor()
    await expect(bob.page.getByText('An area is a product.').count()).resolves.toBe(0)
    await expect(bob.page.getByLabel('Approve').count()).resolves.toBe(0)

    await carol.page.getByLabel('Summary').fill('Please compute the product.')
    await carol.page.getByLabel('Request changes').check()
    await carol.page.getByRole('button', { name: 'Submit the review' }).click()
    await carol.page.getByText('The review is submitted.').waitFor()
    await bob.page.getByText('An area is a product.').waitFor()
    await bob.page.getByText('This was a sum.').waitFor()

    await bob.page.getByRole('button', { name: 'Reply: line 2 of src/area.ts' }).click()
    await bob.page
      .getByRole('textbox', { name: 'Reply on line 2 of src/area.ts' })
      .fill('Right, a fix follows.')
    await bob.page.getByRole('button', { name: 'Send the reply' }).click()
    await carol.page.getByText('Right, a fix follows.').waitFor()
    await expectAccessible(bob.page)

    await pushFix(forge)
    await carol.page.getByText('return width * height').waitFor()
    await bob.page.getByText('return width * height').waitFor()
    await bob.page.getByRole('button', { name: 'Resolve: line 2 of src/area.ts' }).click()
    await carol.page.getByText('resolved by bob').waitFor()
    await expectAccessible(bob.page)

    await carol.page.getByLabel('Approve').check()
    await carol.page.getByRole('button', { name: 'Submit the review' }).click()
    await carol.page.getByText('The review is submitted.').waitFor()

    await bob.page.getByRole('link', { name: 'Conversation' }).click()
    await bob.page.getByRole('article', { name: 'carol asked for changes' }).waitFor()
    await bob.page.getByRole('article', { name: 'carol approved the changes' }).waitFor()
    await expectBothSizes(bob.page)
    await bob.page.getByRole('button', { name: 'Merge', exact: true }).click()
    await bob.page.getByText('The changes are on the target branch.').waitFor()
    await carol.page.getByText('merged', { exact: true }).waitFor()
    expect([...bob.faults, ...carol.faults]).toEqual([])
    await bob.leave()
    await carol.leave()
  })
})

/** Expects that a page is accessible and fits, on a screen and on a phone. */
async function expectBothSizes(page: Page): Promise<void> {
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize(PHONE)
  await expectAccessible(page)
  await expectFits(page)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(DESKTOP)
}

/** Bob's geometry, with a branch that is wrong; carol may write. */
async function prepare({ server, client, users, ask }: Forge): Promise<void> {
  const { bob } = users
  await ask(bob, 'POST', '/user/repos', { name: 'geometry' })
  await ask(bob, 'PUT', '/repos/bob/geometry/collaborators/carol', { permission: 'write' })
  await client.git('.', 'init', '-q', '-b', 'main', 'geometry')
  await mkdir(join(client.home, 'geometry/src'))
  const git = (...args: string[]) => client.git('geometry', ...args)
  const write = async (message: string, text: string) => {
    await writeFile(join(client.home, 'geometry/src/area.ts'), text)
    await git('add', '.')
    await git('commit', '-q', '-m', message)
  }
  await write('Begin', BEFORE)
  await git('checkout', '-q', '-b', 'area')
  await write('Compute areas', AFTER)
  await git('push', '-q', '--all', remoteOf(server.url, 'bob/geometry', 'bob', PASSWORD))
}

async function pushFix({ server, client }: Forge): Promise<void> {
  await writeFile(join(client.home, 'geometry/src/area.ts'), FIXED)
  await client.git('geometry', 'commit', '-q', '-a', '-m', 'Multiply')
  await client.git(
    'geometry',
    'push',
    '-q',
    remoteOf(server.url, 'bob/geometry', 'bob', PASSWORD),
    'area',
  )
}
