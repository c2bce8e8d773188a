import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { PASSWORD } from '../../support/server.ts'
import { awaitSignedIn, openWebSuite } from '../../support/web-visitors.ts'

const PHONE = { width: 360, height: 740 }

describe.skipIf(!hasChromium)(browserSuite('the pages of a repository'), () => {
  const web = openWebSuite(prepare)

  it('show the website and the topics, and others with the same topic', async () => {
    const { page, faults, leave } = await web.open('/bob/tools')
    const website = page.getByRole('link', { name: 'https://tools.example/start' })
    await expect.poll(() => website.getAttribute('rel')).toContain('noopener')
    await expectReads(page)
    await page.getByRole('list', { name: 'Topics' }).getByRole('link', { name: 'forge' }).click()
    await page.getByRole('heading', { name: 'Repositories with the topic forge' }).waitFor()
    await page.getByRole('link', { name: 'bob/tools' }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'bob/other' }).count()).toBe(0)
    await expectReads(page)
    await page.goto('/bob/other')
    await page.getByRole('link', { name: 'README.md', exact: true }).waitFor()
    await expect.poll(() => page.getByRole('list', { name: 'Topics' }).count()).toBe(0)
    expect(faults).toEqual([])
    await leave()
  })

  it('name their feeds, also after a link to another repository', async () => {
    const { page, faults, leave } = await web.open('/bob/tools')
    const feeds = page.locator('link[rel="alternate"]')
    await page.getByRole('link', { name: 'README.md', exact: true }).waitFor()
    await expect.poll(() => feeds.first().getAttribute('href')).toBe('/bob/tools.atom')
    await page.getByRole('link', { name: 'bob', exact: true }).click()
    await page.getByRole('link', { name: 'other', exact: false }).first().click()
    await page.getByRole('link', { name: 'README.md', exact: true }).waitFor()
    await expect.poll(() => feeds.first().getAttribute('href')).toBe('/bob/other.atom')
    expect(faults).toEqual([])
    await leave()
  })

  it('bring the new commits of its parent into a fork', async () => {
    const { ask, users } = web.forge
    await ask(users.carol, 'POST', '/repos/bob/tools/forks', {})
    const content = Buffer.from('news\n').toString('base64')
    await ask(users.bob, 'POST', '/repos/bob/tools/contents/news.txt', { content, branch: 'main' })
    const { page, faults, leave } = await web.open('/carol/tools', 'carol')
    await page.getByRole('button', { name: 'Update from bob/tools' }).click()
    await page.getByRole('link', { name: 'news.txt', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Update from bob/tools' }).click()
    await page.getByText('The branch has all commits of bob/tools.').waitFor()
    await expectReads(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('begin a repository as a copy of a template', async () => {
    const { ask, users } = web.forge
    const starter = { name: 'starter', auto_init: true, license: 'MIT', template: true }
    await ask(users.bob, 'POST', '/user/repos', starter)
    await ask(users.bob, 'PUT', '/repos/bob/starter/topics', { topics: ['plants'] })
    const { page, faults, leave } = await web.open('/bob/starter', 'carol')
    await page.getByRole('button', { name: 'Use this template' }).click()
    await page.getByLabel('Name of the repository').fill('other plot')
    await page.getByRole('button', { name: 'Create the repository' }).click()
    await page.getByRole('alert').waitFor()
    await expectReads(page)
    await page.getByLabel('Name of the repository').fill('plot')
    await page.getByLabel('Private').check()
    await page.getByRole('button', { name: 'Create the repository' }).click()
    await page.getByRole('heading', { name: 'carol / plot' }).waitFor()
    await page.getByRole('link', { name: 'LICENSE', exact: true }).waitFor()
    await page.getByRole('list', { name: 'Topics' }).getByRole('link', { name: 'plants' }).waitFor()
    expect(await ask(users.carol, 'GET', '/repos/carol/plot')).toMatchObject({ private: true })
    // The refusal of the name with a space.
    expect(faults).toEqual(['400 POST /branchline.v1.RepositoryService/GenerateRepository'])
    await leave()
  })

  it('offer no second pull request between two branches', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/compare/main...topic', 'bob')
    await page.getByRole('button', { name: 'Open a pull request' }).waitFor()
    const request = { title: 'Meanwhile', head: 'topic', base: 'main' }
    await web.forge.ask(web.forge.users.bob, 'POST', '/repos/bob/tools/pulls', request)
    await page.getByLabel('Title').fill('A second one')
    await page.getByRole('button', { name: 'Open a pull request' }).click()
    await page.getByRole('link', { name: 'Meanwhile #1' }).waitFor()
    await page.reload()
    await page.getByRole('link', { name: 'Meanwhile #1' }).waitFor()
    await expect
      .poll(() => page.getByRole('button', { name: 'Open a pull request' }).count())
      .toBe(0)
    await expectReads(page)
    await page.goto('/bob/tools/compare/main...bob%3Atopic')
    await page.getByRole('link', { name: 'Meanwhile #1' }).click()
    await page.getByRole('heading', { name: 'Meanwhile #1' }).waitFor()
    // The refusal of the second one.
    expect(faults).toEqual(['409 POST /branchline.v1.PullRequestService/CreatePullRequest'])
    await leave()
  })

  it('say how a clone finds who wrote a file that is too large', async () => {
    const { page, leave } = await web.open('/bob/tools/blame/branch/main/docs/large%20one.txt')
    await page.getByText('The file is too large to show who wrote its lines.').waitFor()
    await page.getByText(`git blame 'origin/main' -- 'docs/large one.txt'`).waitFor()
    await expect.poll(() => page.getByText('Try again').count()).toBe(0)
    await expectReads(page)
    await page.getByRole('link', { name: 'Without authors' }).click()
    await page.getByRole('link', { name: 'Blame' }).waitFor()
    await leave()
  })

  it('count no failure when somebody leaves a page that follows events', async () => {
    const { page, leave } = await web.open('/bob/tools/pulls/1', 'bob')
    await page.getByRole('heading', { name: 'Merge' }).waitFor()
    await leave()
    await expect.poll(() => codesOf(web.forge, 'WatchRepository')).toEqual(['Canceled'])
    const ada = await web.open('/-/admin/metrics', 'ada')
    const row = ada.page.getByRole('row').filter({ hasText: 'WatchRepository' })
    await row.waitFor()
    await expect.poll(() => row.getByRole('cell').allTextContents()).toContain('0')
    await ada.leave()
  })

  it('say at the sign-in that an e-mail address is no username', async () => {
    const { page, leave } = await web.open('/user/login')
    await page.getByLabel('Username').fill('bob@example.org')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('This is an e-mail address. Type the username').waitFor()
    await expectReads(page)
    await page.getByLabel('Username').fill('bob')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await awaitSignedIn(page)
    await leave()
  })
})

async function expectReads(page: Page): Promise<void> {
  const size = page.viewportSize()
  await expectAccessible(page)
  await page.setViewportSize(PHONE)
  await expectFits(page)
  if (size) await page.setViewportSize(size)
}

/** Returns the codes that the finished calls of a method have. */
async function codesOf({ ask, users }: Forge, method: string): Promise<string[]> {
  const { metrics } = await ask(users.ada, 'GET', '/admin/metrics')
  return metrics
    .flatMap((metric: { samples: object[] }) => metric.samples)
    .filter(
      ({ name, labels, value }: { name: string; labels: Record<string, string>; value: number }) =>
        name === 'branchline_calls_total' && labels.method?.endsWith(method) && value > 0,
    )
    .map(({ labels }: { labels: { code: string } }) => labels.code)
}

async function prepare({ ask, users: { bob } }: Forge): Promise<void> {
  for (const name of ['tools', 'other'])
    await ask(bob, 'POST', '/user/repos', { name, auto_init: true })
  await ask(bob, 'PATCH', '/repos/bob/tools', { website: 'https://tools.example/start' })
  await ask(bob, 'PUT', '/repos/bob/tools/topics', { topics: ['forge', 'git'] })
  await ask(bob, 'POST', '/repos/bob/tools/contents/docs%2Flarge%20one.txt', {
    content: Buffer.from('a\n'.repeat(30_000)).toString('base64'),
    message: 'Add a large file',
    branch: 'main',
  })
  await ask(bob, 'POST', '/repos/bob/tools/contents/a.txt', {
    content: Buffer.from('a\n').toString('base64'),
    message: 'Add a file',
    branch: 'main',
    new_branch: 'topic',
  })
}
