import { Buffer } from 'node:buffer'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the page of a release'), () => {
  const web = openWebSuite(async ({ ask, users }) => {
    await ask(users.bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
    await ask(users.bob, 'POST', '/repos/bob/tools/releases', { tag_name: 'v1', name: 'First' })
  })

  it('takes a file with its progress, says why it refuses one, and offers nothing to strangers', async () => {
    const bob = await web.open('/bob/tools/releases', 'bob')
    const { page } = bob
    const input = page.getByLabel('Add a file to First')
    const file = { mimeType: 'text/plain', buffer: Buffer.alloc(3_000_000, 'x') }
    await input.setInputFiles({ name: 'tools.txt', ...file })
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Upload to First' }).click()
    await page.getByRole('link', { name: 'tools.txt' }).waitFor()
    await page.getByText('3 MB').waitFor()
    expect(bob.faults).toEqual([])

    const stranger = await web.open('/bob/tools/releases/tag/v1')
    await stranger.page.getByRole('link', { name: 'tools.txt' }).waitFor()
    await expect.poll(() => stranger.page.getByRole('button', { name: 'Upload' }).count()).toBe(0)
    expect(stranger.faults).toEqual([])
    await stranger.leave()

    // Somebody deletes the release. The request stays on its way until its progress is shown.
    const { ask, users } = web.forge
    const { id } = await ask(users.bob, 'GET', '/repos/bob/tools/releases/tags/v1')
    await ask(users.bob, 'DELETE', `/repos/bob/tools/releases/${id}`)
    await page.route('**/assets?*', async (route) => {
      await page.getByRole('progressbar').waitFor()
      await expectAccessible(page)
      await route.continue()
    })
    await input.setInputFiles({ name: 'other.txt', ...file })
    await page.getByRole('button', { name: 'Upload to First' }).click()
    await page.getByRole('alert').getByText('Check the address').waitFor()
    await expectAccessible(page)
    expect(bob.faults).toEqual([`404 POST /api/v1/repos/bob/tools/releases/${id}/assets`])
    await bob.leave()
  })
})
