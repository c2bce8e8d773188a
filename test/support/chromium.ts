import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import { expect } from 'vitest'
import { hasChromium } from './chromium-program.ts'

export { closeWindows, hasChromium, openBrowser } from './chromium-program.ts'

/** The name of a suite, which says why it is skipped. */
export function browserSuite(name: string): string {
  return hasChromium ? name : `${name} (skipped: chromium is not installed)`
}

/** The web pages as they are shipped. `npm test` bundles them before the tests run. */
export const WEB_FOLDER = new URL('../../dist/web', import.meta.url).pathname

const STEP_TIMEOUT_MS = 60_000

/** A person with a browser of their own. */
export interface Visitor {
  readonly page: Page
  /**
   * What went wrong without a person seeing it: faults of scripts, refusals by the policy of the
   * page, and failed requests as `status method path`.
   */
  readonly faults: string[]
  /** Dialogs that a page has opened, which scripts of a stranger would. */
  readonly dialogs: readonly string[]
  leave(): Promise<void>
}

/** Opens a window for somebody. */
export async function visit(browser: Browser, baseURL: string): Promise<Visitor> {
  // Without motion, since axe would read colours in the middle of a change.
  const context: BrowserContext = await browser.newContext({ baseURL, reducedMotion: 'reduce' })
  const page = await context.newPage()
  // Shorter than a test, so that a failure names the step.
  page.setDefaultTimeout(STEP_TIMEOUT_MS)
  const faults: string[] = []
  const dialogs: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    // Failed requests are below, with their paths.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text())
  })
  page.on('response', (response) => {
    if (response.status() < 400) return
    const { pathname } = new URL(response.url())
    faults.push(`${response.status()} ${response.request().method()} ${pathname}`)
  })
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  return { page, faults, dialogs, leave: () => context.close() }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A debugger beside the one of Playwright for each page. */
const debuggers = new WeakMap<Page, Promise<CDPSession>>()

/** Expects that axe finds no fault of accessibility in the page as it is now. */
export async function expectAccessible(page: Page): Promise<void> {
  const opened = debuggers.get(page) ?? page.context().newCDPSession(page)
  debuggers.set(page, opened)
  const session = await opened
  // Through the debugger, since the policy of the page permits no script of another origin. Playwright's
  // `evaluate` would wrap the script of 560 KB, and take twice as long.
  const evaluate = async (expression: string) => {
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? expression)
    return result.value
  }
  if (!(await evaluate("'axe' in window"))) await evaluate(`${axe};0`)
  // Without the nodes that pass, which take most of the time.
  const violations: AxeResults['violations'] = await evaluate(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )
  const found = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`,
  )
  expect(found, page.url()).toEqual([])
}

/** Expects that nothing is wider than the window. */
export async function expectFits(page: Page): Promise<void> {
  const overflow = () =>
    page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
  await expect.poll(overflow, { message: page.url() }).toBe(0)
}
