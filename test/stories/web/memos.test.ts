import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import { PASSWORD } from '../../support/server.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the page of memos'), () => {
  const web = openWebSuite()

  it('writes, finds, changes, archives and deletes memos', async () => {
    const { page, faults, leave } = await web.open('/memos')
    await page.getByText('Memos are for signed-in users').waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('Username').fill('bob')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('No memos.').waitFor()
    await page.getByLabel('New memo').fill('Buy **milk** #shop/food')
    await page.getByRole('button', { name: 'Save the memo' }).click()
    await page.getByText('The memo is saved.').waitFor()
    const milk = page.getByRole('article', { name: 'Buy milk' })
    await milk.getByText('seen by only you').waitFor()
    await expect.poll(() => page.getByLabel('New memo').inputValue()).toBe('')
    await page.getByLabel('New memo').fill('Call the "plumber" #home')
    await page.getByLabel('Who sees it').selectOption('everybody')
    await page.getByRole('button', { name: 'Save the memo' }).click()
    const plumber = page.getByRole('article', { name: 'Call the "plumber"' })
    await plumber.getByText('seen by everybody').waitFor()
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    await expectAccessible(page)
    await page.setViewportSize({ width: 360, height: 740 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectAccessible(page)
    await expectFits(page)

    await page.getByRole('link', { name: '#shop/food' }).click()
    await plumber.first().waitFor({ state: 'detached' })
    await page.goBack()
    await plumber.waitFor()
    await page.getByLabel('Search your memos').fill('"plumber"')
    await page.getByRole('button', { name: 'Search' }).click()
    await milk.first().waitFor({ state: 'detached' })
    await plumber.getByRole('button', { name: 'Edit' }).click()
    await plumber.getByLabel('Text').fill('Call the "plumber" today')
    await expectAccessible(page)
    await plumber.getByRole('button', { name: 'Save the changes' }).click()
    await page.getByRole('article', { name: 'Call the "plumber" today' }).waitFor()
    await plumber.getByRole('button', { name: 'Pin' }).click()
    await plumber.getByText('pinned', { exact: true }).waitFor()
    await plumber.getByRole('button', { name: 'Archive' }).click()
    await page.getByText('No memos.').waitFor()
    await page.getByRole('link', { name: 'Archived' }).click()
    await plumber.getByRole('button', { name: 'Delete' }).click()
    await plumber.getByRole('button', { name: 'Yes, delete' }).click()
    await page.getByText('No memos.').waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  it('leads from relative addresses of a memo and its comments to this server', async () => {
    const { ask, users, server } = web.forge
    const content = 'Read [notes](notes.md), [up](../../..//evil.example/up) ![dot](dot.png)'
    const { name } = await ask(users.bob, 'POST', '/memos', { content, visibility: 'PUBLIC' })
    await ask(users.carol, 'POST', `/${name}/comments`, { content: 'See [more](./a/../more.md)' })
    const { page, leave } = await web.open('/memos', 'bob')
    const memo = page.getByRole('article', { name: 'Read notes' })
    await memo.getByText('Comments').click()
    await memo.getByRole('link', { name: 'more' }).waitFor()
    const addresses = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.markup [href], .markup [src]')].map((e) => e.href ?? e.src)`,
    )
    expect(addresses.sort()).toEqual([
      `${server.url}/dot.png`,
      `${server.url}/evil.example/up`,
      `${server.url}/more.md`,
      `${server.url}/notes.md`,
    ])
    await leave()
    // The next page must not ask for a picture that does not exist.
    await ask(users.bob, 'DELETE', `/${name}`)
  })

  it('shows the comments on a memo, sends one and deletes it', async () => {
    const { ask, users } = web.forge
    const memo = { content: 'Call the plumber', visibility: 'PUBLIC' }
    const { name } = await ask(users.bob, 'POST', '/memos', memo)
    await ask(users.carol, 'POST', `/${name}/comments`, { content: 'I *can*' })
    const { page, faults, leave } = await web.open('/memos', 'bob')
    const plumber = page.getByRole('article', { name: 'Call the plumber' })
    await plumber.getByText('Comments').click()
    const carol = plumber.getByRole('article', { name: 'carol commented' })
    await carol.getByText('I can', { exact: true }).waitFor()
    await expect.poll(() => carol.getByRole('button').count()).toBe(0)
    await plumber.getByRole('textbox', { name: 'Comment' }).fill('Thank **you**')
    await plumber.getByRole('button', { name: 'Send the comment' }).click()
    const bob = plumber.getByRole('article', { name: 'bob commented' })
    await bob.getByText('Thank you', { exact: true }).waitFor()
    await plumber.getByText('The comment is sent.').waitFor()
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
    await expectAccessible(page)
    await page.setViewportSize({ width: 360, height: 740 })
    await expectFits(page)
    await bob.getByRole('button', { name: 'Delete the comment Thank you' }).click()
    await bob.getByRole('button', { name: 'Yes, delete the comment Thank you' }).click()
    await bob.first().waitFor({ state: 'detached' })
    await carol.waitFor()
    expect(faults).toEqual([])
    await leave()
  })
})
