import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type Visitor, visit } from './chromium.ts'
import { PASSWORD } from './server.ts'

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
  await page.getByRole('button', { name: 'Sign in' }).click()
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
