import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** A browser on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const PATH = '/repos/bob/garden'

describe.skipIf(!hasChromium)(browserSuite('the page of a pull request of a stack'), () => {
  const web = openWebSuite(prepare)

  it('shows the stack, and rebases those above', { timeout: STORY_TIMEOUT_MS }, async () => {
    const { ask, users } = web.forge
    const bob = await web.open('/bob/garden/pulls/1', 'bob')
    const stack = bob.page.getByRole('region', { name: 'Stack, from the lowest' })
    await stack.getByRole('link', { name: 'beans #1' }).waitFor()
    await expectAccessible(bob.page)
    await stack.getByRole('button', { name: 'Rebase those above' }).click()
    await bob.page.getByText('All pull requests above follow this one already.').waitFor()

    const content = Buffer.from('more\n').toString('base64')
    await ask(users.bob, 'POST', `${PATH}/contents/more.txt`, { content, branch: 'beans' })
    await stack.getByRole('button', { name: 'Rebase those above' }).click()
    await bob.page.getByText('Rebased 1 pull request.').waitFor()

    await stack.getByRole('link', { name: 'peas #2' }).click()
    await bob.page.getByRole('heading', { name: 'peas #2' }).waitFor()
    await stack.getByRole('link', { name: 'beans #1' }).waitFor()
    await stack.getByRole('button', { name: 'Rebase those above' }).waitFor({ state: 'detached' })
    await ask(users.bob, 'PATCH', `${PATH}/pulls/1`, { state: 'closed' })
    await bob.page.reload()
    await bob.page.getByRole('heading', { name: 'peas #2' }).waitFor()
    await bob.page.getByRole('region', { name: 'Details' }).waitFor()
    expect(await stack.count()).toBe(0)
    expect(bob.faults).toEqual([])
    await bob.leave()
  })
})

/** Two pull requests of bob's: `beans` into `main`, `peas` into `beans`. */
async function prepare({ ask, users }: Forge): Promise<void> {
  await ask(users.bob, 'POST', '/user/repos', { name: 'garden', auto_init: true })
  let base = 'main'
  for (const branch of ['beans', 'peas']) {
    const content = Buffer.from(`${branch}\n`).toString('base64')
    const change = { content, branch: base, new_branch: branch }
    await ask(users.bob, 'POST', `${PATH}/contents/${branch}.txt`, change)
    await ask(users.bob, 'POST', `${PATH}/pulls`, { title: branch, head: branch, base })
    base = branch
  }
}
