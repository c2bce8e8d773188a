import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const PULL = '/repos/bob/garden/pulls/1'

describe.skipIf(!hasChromium)(browserSuite('the page of a pull request'), () => {
  const web = openWebSuite(prepare)

  const open = (who: string) => web.open('/bob/garden/pulls/1', who)

  it('lets an administrator dismiss a review, and the reviewer change and delete what was said', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const bob = await open('bob')
    const rejected = bob.page.getByRole('article', { name: 'carol asked for changes' })
    const participants = bob.page.getByRole('region', { name: 'Participants' })
    await participants.getByRole('link', { name: 'carol' }).waitFor()
    await rejected.getByRole('button', { name: 'Dismiss the review of carol' }).click()
    await rejected.getByLabel('Reason').fill('The plan is another one')
    await expectReadable(bob.page)
    await rejected.getByRole('button', { name: 'Dismiss the review', exact: true }).click()
    const dismissed = bob.page.getByRole('article', { name: 'carol asked for changes (dismissed)' })
    await dismissed.getByText('Dismissed: The plan is another one').waitFor()
    await dismissed.getByRole('button', { name: 'Let the review count again' }).click()
    await rejected.getByRole('button', { name: 'Dismiss the review of carol' }).waitFor()
    await expect
      .poll(() => bob.page.getByRole('button', { name: 'Delete the review' }).count())
      .toBe(0)

    const carol = await open('carol')
    const own = carol.page.getByRole('article', { name: 'carol asked for changes' })
    await own.getByRole('button', { name: 'Edit: comment on plan.txt by carol' }).click()
    await own.getByLabel('New text of the comment').fill('Water the beans')
    await expectReadable(carol.page)
    await own.getByRole('button', { name: 'Save the comment' }).click()
    await own.getByText('Water the beans').waitFor()
    await rejected.getByText('Water the beans').waitFor()
    await expect.poll(() => own.getByRole('button', { name: /^Dismiss/ }).count()).toBe(0)
    await own.getByRole('button', { name: 'Delete the review' }).click()
    await own.getByRole('button', { name: 'Yes, delete the review' }).click()
    await own.first().waitFor({ state: 'detached' })
    await rejected.first().waitFor({ state: 'detached' })
    await participants.getByRole('link', { name: 'carol' }).first().waitFor({ state: 'detached' })
    expect([...bob.faults, ...carol.faults]).toEqual([])
    await bob.leave()
    await carol.leave()
  })

  it('has the message that a merge would write, and says without a reload that there is a conflict', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    const bob = await open('bob')
    const box = bob.page.getByRole('region', { name: 'Merge' })
    const title = box.getByLabel('Title of the commit')
    await title.waitFor()
    await expect
      .poll(() => title.inputValue())
      .toBe("Merge pull request 'Grow' (#1) from topic into main")
    await box.getByLabel('Style').selectOption('One commit (squash)')
    await expect.poll(() => title.inputValue()).toBe('Grow (#1)')
    await box.getByLabel('Style').selectOption('Rebase')
    await box.getByText('The commits keep their messages.').waitFor()
    await expectReadable(bob.page)

    const content = Buffer.from('stones\n').toString('base64')
    await ask(users.bob, 'POST', '/repos/bob/garden/contents/plan.txt', { content })
    await box.getByText('The changes conflict with those of the target branch.').waitFor()
    await box.getByText('Reason: MERGE_CONFLICT').waitFor()
    await expect.poll(() => box.getByRole('button', { name: 'Merge', exact: true }).count()).toBe(0)
    await expectReadable(bob.page)
    expect(bob.faults).toEqual([])
    await bob.leave()
  })

  it('shows what has happened, with the commits before and after a push', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'field', auto_init: true })
    await ask(users.bob, 'POST', '/repos/bob/field/labels', { name: 'wheat', color: 'ddaa00' })
    const file = { content: '', new_branch: 'topic' }
    await ask(users.bob, 'POST', '/repos/bob/field/contents/seeds.txt', file)
    const draft = { title: 'Sow', head: 'topic', base: 'main' }
    await ask(users.bob, 'POST', '/repos/bob/field/pulls', draft)
    const { page, faults, leave } = await web.open('/bob/field/pulls/1', 'carol')
    await page.getByRole('heading', { name: 'Sow #1' }).waitFor()
    await ask(users.bob, 'PATCH', '/repos/bob/field/pulls/1', { title: 'Sow wheat' })
    await page.getByText('changed the title from “Sow” to “Sow wheat”').waitFor()
    await ask(users.bob, 'POST', '/repos/bob/field/issues/1/labels', { labels: ['wheat'] })
    await page.getByText('added the label').waitFor()
    const other = { title: 'Hunger', body: 'Waits for #1' }
    await ask(users.bob, 'POST', '/repos/bob/field/issues', other)
    await ask(users.bob, 'POST', '/repos/bob/field/contents/water.txt', {
      content: '',
      branch: 'topic',
    })
    await page.getByText('moved the branch from').waitFor()
    await page.getByRole('link', { name: 'Hunger #2' }).waitFor()
    const { sha } = (await ask(users.bob, 'GET', '/repos/bob/field/pulls/1')).head
    const commits = await ask(users.bob, 'GET', '/repos/bob/field/pulls/1/commits')
    const first = commits.find((commit: { sha: string }) => commit.sha !== sha)
    const topic = '/repos/bob/field/branches/topic'
    await ask(users.bob, 'PUT', topic, { new_commit_id: first.sha, force: true })
    await page.getByText('force-pushed the branch from').waitFor()
    expect(await page.locator(`a[href$="/compare/${sha}...${first.sha}"]`).count()).toBe(1)
    await expectReadable(page)
    await page.getByRole('link', { name: 'Compare', exact: true }).first().click()
    await page.waitForURL(/\/bob\/field\/compare\/[0-9a-f]{40}\.\.\.[0-9a-f]{40}$/)
    await page.getByRole('heading', { name: '1 commit' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })
})

async function expectReadable(page: Page): Promise<void> {
  await expectAccessible(page)
  await page.setViewportSize({ width: 360, height: 740 })
  await expectFits(page)
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** A pull request of bob's to which carol, who may write, has objected. */
async function prepare({ ask, users }: Forge): Promise<void> {
  await ask(users.bob, 'POST', '/user/repos', { name: 'garden', auto_init: true })
  await ask(users.bob, 'PUT', '/repos/bob/garden/collaborators/carol', { permission: 'write' })
  await ask(users.bob, 'POST', '/repos/bob/garden/contents/plan.txt', {
    content: Buffer.from('beans\n').toString('base64'),
    new_branch: 'topic',
  })
  const draft = { title: 'Grow', head: 'topic', base: 'main' }
  await ask(users.bob, 'POST', '/repos/bob/garden/pulls', draft)
  await ask(users.carol, 'POST', `${PULL}/reviews`, {
    event: 'REQUEST_CHANGES',
    body: 'Please water them.',
    comments: [{ path: 'plan.txt', body: 'How often?', new_position: 1 }],
  })
}
