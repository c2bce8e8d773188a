import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const PATH = '/repos/bob/owned'

describe.skipIf(!hasChromium)(browserSuite('the errors of code owners in the browser'), () => {
  const web = openWebSuite(prepare)

  it('are on the page of the file and of a pull request that changes the file, for writers', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const bob = await web.open('/bob/owned/src/branch/main/docs/CODEOWNERS', 'bob')
    const errors = bob.page.getByRole('region', { name: 'Code owners' })
    await errors.getByText('The line names no owners.').waitFor()
    await errors.getByRole('link', { name: 'Line 2' }).click()
    await expect.poll(() => bob.page.url()).toContain('#L2')
    await expectAccessible(bob.page)
    await bob.page.goto('/bob/owned/pulls/1/files')
    await errors.getByText('nobody does not exist, or may not review.').waitFor()
    await expect.poll(() => errors.getByRole('listitem').count()).toBe(1)
    await expectAccessible(bob.page)
    expect(bob.faults).toEqual([])
    await bob.leave()

    const carol = await web.open('/bob/owned/src/branch/main/docs/CODEOWNERS', 'carol')
    await carol.page.getByText('.* @bob').waitFor()
    await carol.page.goto('/bob/owned/pulls/1/files')
    await carol.page.getByText('.* @nobody').waitFor()
    await expect.poll(() => carol.page.getByRole('region', { name: 'Code owners' }).count()).toBe(0)
    expect(carol.faults).toEqual([])
    await carol.leave()
  })
})

const encoded = (text: string) => Buffer.from(text).toString('base64')

async function prepare({ ask, users }: Forge): Promise<void> {
  const file = `${PATH}/contents/docs/CODEOWNERS`
  await ask(users.bob, 'POST', '/user/repos', { name: 'owned', auto_init: true })
  await ask(users.bob, 'POST', file, { content: encoded('.* @bob\nsrc/.*\n') })
  const { sha } = await ask(users.bob, 'GET', file)
  const content = encoded('.* @bob\n.* @nobody\n')
  await ask(users.bob, 'PUT', file, { content, sha, new_branch: 'other' })
  const draft = { title: 'Other owners', head: 'other', base: 'main' }
  await ask(users.bob, 'POST', `${PATH}/pulls`, draft)
}
