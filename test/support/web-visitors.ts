import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import {
  closeWindows,
  expectAccessible,
  expectFits,
  openBrowser,
  type Visitor,
  visit,
  WEB_FOLDER,
} from './chromium.ts'
import { type Forge, startForge } from './forge.ts'
import { PASSWORD, type TestServerOptions } from './server.ts'
import { isLongTier } from './tier.ts'

const PHONE = { width: 360, height: 740 }

/** Starting a server and a browser takes seconds on a busy machine. */
const START_TIMEOUT_MS = 120_000

/** The server and the browser of a suite, once it has started. */
export interface WebSuite {
  readonly forge: Forge
  readonly browser: Browser
  /** Opens a window on a page, as somebody or as a stranger. */
  open(path: string, username?: string): Promise<Visitor>
}

/**
 * Starts a server with the pages and a browser before the first test of a suite, and ends both after
 * the last one. A suite calls the function at its beginning.
 *
 * @param prepare creates what the pages show.
 * @param options those of the server.
 */
export function openWebSuite(
  prepare?: (forge: Forge) => Promise<unknown>,
  options: TestServerOptions = {},
): WebSuite {
  let started: Pick<WebSuite, 'forge' | 'browser'> | undefined
  const running = () => {
    if (!started) throw new Error('the suite has not started')
    return started
  }
  beforeAll(async () => {
    const forge = await startForge({ webFolder: WEB_FOLDER, ...options })
    started = { forge, browser: await openBrowser() }
    await prepare?.(forge)
  }, START_TIMEOUT_MS)
  afterAll(async () => {
    await closeWindows(started?.browser)
    await started?.forge.stop()
  })
  return {
    get forge() {
      return running().forge
    },
    get browser() {
      return running().browser
    },
    async open(path, username) {
      const { browser, forge } = running()
      const { url } = forge.server
      if (username !== undefined) return visitAs(browser, url, path, username)
      const visitor = await visit(browser, url)
      await visitor.page.goto(path)
      return visitor
    },
  }
}

/** Opens a window as somebody, whose session has the cookie that the sign-in page gets. */
export async function visitAs(
  browser: Browser,
  url: string,
  path: string,
  username: string,
): Promise<Visitor> {
  const visitor = await visit(browser, url)
  const { page } = visitor
  const signedIn = await page.request.post('/branchline.v1.AuthService/SignIn', {
    data: { passwordCredentials: { username, password: PASSWORD } },
  })
  expect(signedIn.status(), await signedIn.text()).toBe(200)
  await page.goto(path)
  await awaitSignedIn(page)
  // A navigation has no credentials, so that a private page is a missing one until its script asks.
  const navigation = visitor.faults.indexOf(`404 GET ${new URL(path, url).pathname}`)
  if (navigation >= 0) visitor.faults.splice(navigation, 1)
  return visitor
}

/** The button of the menu that a user has in the header of all pages. */
export function accountMenu(page: Page): Locator {
  return page.getByRole('button', { name: 'Account of' })
}

/** Waits until a page knows its user. */
export async function awaitSignedIn(page: Page): Promise<void> {
  await accountMenu(page).waitFor()
}

/** Signs the user of a page out. */
export async function signOut(page: Page): Promise<void> {
  await accountMenu(page).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

/** Opens a dangerous action if it is closed, types the name, and sends the action. */
export async function confirmBy(page: Page, action: string, name: string): Promise<void> {
  const form = page.getByRole('form', { name: action })
  const typed = form.getByLabel(`Type ${name} to confirm`)
  if (!(await typed.isVisible())) await page.getByText(action).first().click()
  const button = form.getByRole('button', { name: action })
  await typed.fill(`${name}x`)
  await expect.poll(() => button.isDisabled()).toBe(true)
  await typed.fill(name)
  await button.click()
}

/**
 * Expects that axe finds no fault in a page with everything opened, and that the page fits a phone. The
 * usual tier looks at the page in dark colours on a phone, the long tier in light colours too:
 * pages.test.ts looks at the main pages in both.
 */
export async function expectReadable(page: Page): Promise<void> {
  await page.getByText('Loading…').first().waitFor({ state: 'detached' })
  // A summary has no role by which it could be found.
  for (const summary of await page.locator('summary').all()) await summary.click()
  if (isLongTier) await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const size = page.viewportSize()
  await page.setViewportSize(PHONE)
  await expectAccessible(page)
  await expectFits(page)
  await page.emulateMedia({ colorScheme: 'light' })
  if (size) await page.setViewportSize(size)
}
