import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const PATH = '/repos/bob/kept'

/** What a browser says to a page that it has kept as a whole and shows again after "back". */
const COME_BACK = "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"

describe.skipIf(!hasChromium)(browserSuite('a page that the browser has kept'), () => {
  const web = openWebSuite(prepare)

  it('shows what was added and removed meanwhile, and keeps what was typed', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    const tags = await web.open('/bob/kept/tags', 'bob')
    await tags.page.getByRole('link', { name: 'v1', exact: true }).waitFor()
    await ask(users.bob, 'POST', `${PATH}/tags`, { tag_name: 'v2' })
    await ask(users.bob, 'DELETE', `${PATH}/tags/v1`)
    await tags.page.evaluate(COME_BACK)
    await tags.page.getByRole('link', { name: 'v2', exact: true }).waitFor()
    await tags.page
      .getByRole('link', { name: 'v1', exact: true })
      .first()
      .waitFor({ state: 'detached' })
    expect(tags.faults).toEqual([])
    await tags.leave()

    const issue = await web.open('/bob/kept/issues/1', 'bob')
    const draft = issue.page.getByLabel('Comment', { exact: true })
    await draft.fill('Half a thought')
    await ask(users.bob, 'PATCH', `${PATH}/issues/1`, { title: 'Grown' })
    await issue.page.evaluate(COME_BACK)
    await issue.page.getByRole('heading', { name: 'Grown' }).waitFor()
    await expect.poll(() => draft.inputValue()).toBe('Half a thought')
    expect(issue.faults).toEqual([])
    await issue.leave()
  })
})

async function prepare({ ask, users }: Forge): Promise<void> {
  await ask(users.bob, 'POST', '/user/repos', { name: 'kept', auto_init: true })
  await ask(users.bob, 'POST', `${PATH}/tags`, { tag_name: 'v1' })
  await ask(users.bob, 'POST', `${PATH}/issues`, { title: 'Small' })
}
