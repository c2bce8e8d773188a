import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

/** A picture of one pixel. */
const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** How many pictures of a page the browser has drawn. */
const DRAWN = `[...document.querySelectorAll('.avatar > img')].filter((image) => image.naturalWidth === 1).length`

describe.skipIf(!hasChromium)(browserSuite('avatars on web pages'), () => {
  const web = openWebSuite(async ({ ask, users: { bob, carol } }) => {
    await ask(bob, 'POST', '/user/repos', { name: 'garden', auto_init: true })
    await ask(bob, 'POST', '/repos/bob/garden/issues', { title: 'Dry', assignees: ['bob'] })
    await ask(carol, 'POST', '/repos/bob/garden/issues/1/comments', { body: 'Water them' })
  })

  it('are the uploaded pictures of public accounts, and letters for others', async () => {
    const { ask, users } = web.forge
    const letters = await web.open('/bob/garden/issues/1')
    await letters.page.getByRole('article', { name: 'carol commented' }).waitFor()
    await expect.poll(() => letters.page.locator('.avatar > img').count()).toBe(0)
    await letters.leave()

    const picture = { avatarUrl: `data:image/png;base64,${DOT}` }
    for (const name of ['bob', 'carol'] as const)
      await ask(users[name], 'PATCH', `/users/${name}?updateMask=avatar_url`, picture)
    const { page, faults, leave } = await web.open('/bob/garden/issues/1')
    await page.getByRole('region', { name: 'Details' }).waitFor()
    // Bob opened the issue and is its assignee; Carol has commented. Both take part.
    await expect.poll(() => page.evaluate<number>(DRAWN)).toBe(5)
    await expectReadable(page)
    await ask(users.ada, 'PATCH', '/admin/users/carol', { visibility: 'limited' })
    await page.reload()
    await page.getByRole('article', { name: 'carol commented' }).waitFor()
    await page.getByRole('region', { name: 'Details' }).waitFor()
    await expect.poll(() => page.evaluate<number>(DRAWN)).toBe(3)
    await expect.poll(() => page.locator('.avatar > img').count()).toBe(3)
    expect(faults).toEqual([])
    await leave()
  })
})
