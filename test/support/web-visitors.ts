import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import { expectAccessible, expectFits, type Visitor, visit } from './chromium.ts'
import { PASSWORD } from './server.ts'

const PHONE = { width: 360, height: 740 }

/** Opens a window as somebody, who comes to a page through the sign-in. */
export async function visitAs(
  browser: Browser,
  url: string,
  path: string,
  username: string,
): Promise<Visitor> {
  const visitor = await visit(browser, url)
  const { page } = visitor
  await page.goto(`/user/login?redirect_to=${encodeURIComponent(path)}`)
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  return visitor
}

/** Opens a dangerous action if it is closed, types the name, and sends the action. */
export async function confirmBy(page: Page, action: string, name: string): Promise<void> {
  const form = page.getByRole('form', { name: action })
  const typed = form.getByLabel(`Type ${name} to confirm`)
  if (!(await typed.isVisible())) await page.getByText(action).first().click()
  const button = form.getByRole('button', { name: action })
  await typed.fill(`${name}x`)
  expect(await button.isDisabled()).toBe(true)
  await typed.fill(name)
  await button.click()
}

/**
 * Expects that axe finds no fault in a page with everything opened, in both colours, and that the
 * page fits a phone.
 */
export async function expectReadable(page: Page): Promise<void> {
  await page.getByText('Loading…').first().waitFor({ state: 'detached' })
  // A summary has no role by which it could be found.
  for (const summary of await page.locator('summary').all()) await summary.click()
  await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  const size = page.viewportSize()
  await page.setViewportSize(PHONE)
  await expectAccessible(page)
  await expectFits(page)
  await page.emulateMedia({ colorScheme: 'light' })
  if (size) await page.setViewportSize(size)
}
