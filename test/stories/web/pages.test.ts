import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { systemClock } from '../../../src/app/server/app.ts'
import {
  browserSuite,
  expectAccessible,
  expectFits,
  hasChromium,
  type Visitor,
} from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { passcodeAt } from '../../support/passcodes.ts'
import { PASSWORD, transportTo } from '../../support/server.ts'
import { awaitSignedIn, openWebSuite, signOut } from '../../support/web-visitors.ts'

const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 360, height: 740 }

/** The source of the topic branch, which the files of the pull request show. */
const SOURCE = 'export const greeting = "hello"\n'

describe.skipIf(!hasChromium)(browserSuite('the web pages'), () => {
  const web = openWebSuite(prepare)
  let stranger: Visitor

  beforeAll(async () => {
    stranger = await web.open('/explore')
  })

  it('take a user with a second factor through the sign-in, and out again', async () => {
    const { server, users } = web.forge
    const asCarol = createClient(
      TwoFactorService,
      transportTo(server.url, 'Connect JSON', users.carol.authorization),
    )
    const name = 'users/carol/twoFactor'
    const { secret } = await asCarol.enrollTwoFactor({ name, password: PASSWORD })
    await asCarol.confirmTwoFactor({ name, passcode: passcodeAt(secret, systemClock) })
    const visitor = await web.open('/explore')
    const { page, leave } = visitor
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(visitor, 'carol')
    const passcode = page.getByLabel('Passcode')
    await passcode.fill('000000')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('Reason: TWO_FACTOR_INVALID').waitFor()
    await expectAccessible(page)
    // The password stays in the form.
    await passcode.fill(passcodeAt(secret, systemClock, 1))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Explore' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Account of carol' }).waitFor()
    await signOut(page)
    await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
    await leave()
  })

  it('lead from the sign-in to no other server', async () => {
    for (const target of ['/..//evil.example/x', '//evil.example/x', '/\\evil.example/x']) {
      const visitor = await web.open(`/user/login?redirect_to=${encodeURIComponent(target)}`)
      await signIn(visitor, 'bob')
      await awaitSignedIn(visitor.page)
      await expect
        .poll(() => visitor.page.url())
        .toMatch(new RegExp(`^${web.forge.server.url}/(evil.example/x)?$`))
      await visitor.leave()
    }
  })

  it('show a private repository to its owner, and to a stranger nothing', async () => {
    const visitor = await web.open('/bob/secret')
    await visitor.page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await expect.poll(() => visitor.page.title()).toBe('Page not found · Branchline')
    // The navigation itself. The script knows what the server said, and asks for nothing.
    expect(visitor.faults).toEqual(['404 GET /bob/secret'])
    await expectAccessible(visitor.page)
    await visitor.page.getByRole('main').getByRole('link', { name: 'Sign in' }).click()
    await signIn(visitor, 'bob')
    await visitor.page.getByRole('link', { name: 'README.md', exact: true }).waitFor()
    await expect.poll(() => new URL(visitor.page.url()).pathname).toBe('/bob/secret')
    await visitor.page.reload()
    await visitor.page.getByText('private', { exact: true }).waitFor()
    await visitor.leave()
  })

  describe('of a signed-in user', () => {
    let bob: Visitor

    beforeAll(async () => {
      bob = await web.open('/', 'bob')
      await bob.page.getByRole('heading', { name: 'Your repositories' }).waitFor()
    })
    afterAll(() => bob?.leave())

    it.each([
      ['/', 'Home'],
      ['/explore?q=tools', 'Explore'],
      ['/bob', 'bob'],
      ['/user/settings', 'Settings'],
      ['/bob/tools', 'bob / tools'],
      ['/bob/tools/src/branch/feature%2Fgreeting/src', 'bob / tools'],
      ['/bob/tools/src/branch/feature/greeting/src/greeting.ts', 'bob / tools'],
      ['/bob/tools/commits/branch/main', 'Commits of branch main'],
      ['/bob/tools/branches', 'bob / tools'],
      ['/bob/tools/tags', 'bob / tools'],
      ['/bob/tools/releases', 'v1'],
      ['/bob/tools/pulls', 'bob / tools'],
      ['/bob/tools/pulls/1', 'Greet people #1'],
      ['/bob/tools/pulls/1/commits', 'Greet people #1'],
      ['/bob/tools/pulls/1/files', 'Greet people #1'],
      ['/bob/tools/compare/main...feature%2Fgreeting', 'Compare main with feature/greeting'],
    ])('are accessible and fit a phone, in both colours: %s', async (path, heading) => {
      const { page, faults } = bob
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize(DESKTOP)
      await page.goto(path)
      await page.getByRole('heading', { name: heading }).first().waitFor()
      // Texts in Markdown are busy until they are rendered.
      await page.getByText('Loading…').first().waitFor({ state: 'detached' })
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
      await expectAccessible(page)
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.setViewportSize(PHONE)
      await expectAccessible(page)
      await expectFits(page)
      // A branch with slashes is found by its parts, of which the first is no branch.
      expect(faults.filter((fault) => !fault.endsWith('/GetBranch'))).toEqual([])
    })
  })

  it('lead from the list of repositories to a file, and back', async () => {
    const { page, faults } = stranger
    await page.goto('/explore')
    await page.getByLabel('Search repositories').fill('tools')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('link', { name: 'bob/tools' }).click()
    await page.getByRole('heading', { name: 'Tools for everybody' }).waitFor()
    await page.getByRole('link', { name: 'docs/' }).click()
    await page.getByRole('link', { name: 'guide.md' }).click()
    await page.getByRole('heading', { name: 'The guide' }).waitFor()
    await expect.poll(() => page.title()).toContain('bob/tools')
    await page.goBack()
    await page.goBack()
    await page.getByRole('heading', { name: 'Tools for everybody' }).waitFor()
    expect(faults).toEqual([])
  })

  it('lead to the same file on another branch, and to one of its lines', async () => {
    const { page, faults } = stranger
    await page.goto('/bob/tools/src/branch/main/README.md')
    await page.getByText('branch main').click()
    const branches = page.getByRole('list', { name: 'Branches' })
    await branches.getByRole('link', { name: 'main' }).waitFor()
    await expectAccessible(page)
    await branches.getByRole('link', { name: 'feature/greeting' }).click()
    await page.getByText('branch feature/greeting').waitFor()
    await expect
      .poll(() => new URL(page.url()).pathname)
      .toBe('/bob/tools/src/branch/feature%2Fgreeting/README.md')
    await page.goto('/bob/tools/src/branch/feature%2Fgreeting/src/greeting.ts#L1')
    await page.locator('#L1:target').waitFor()
    expect(faults).toEqual([])
  })

  it('show who wrote the lines of a file', async () => {
    const { page, faults } = stranger
    await page.goto('/bob/tools/src/branch/feature%2Fgreeting/src/greeting.ts')
    await page.getByRole('link', { name: 'Blame' }).click()
    const row = page.getByRole('row').filter({ hasText: SOURCE.trim() })
    await row.getByRole('link', { name: 'Add a greeting' }).waitFor()
    await expectAccessible(page)
    await page.setViewportSize(PHONE)
    await expectFits(page)
    await page.setViewportSize(DESKTOP)
    await page.getByRole('link', { name: 'Without authors' }).click()
    await page.getByRole('link', { name: 'Blame' }).waitFor()
    expect(faults).toEqual([])
  })

  it('say which commits a blame leaves out', async () => {
    const { ask, users } = web.forge
    const { commit } = await ask(users.bob, 'GET', '/repos/bob/tools/branches/main')
    await ask(users.bob, 'POST', '/repos/bob/tools/contents/.git-blame-ignore-revs', {
      branch: 'main',
      new_branch: 'formatted',
      content: Buffer.from(`${commit.id}\n`).toString('base64'),
    })
    const { page, faults } = stranger
    await page.goto('/bob/tools/blame/branch/formatted/README.md')
    await page.getByText('Without the commits that').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Show them' }).click()
    await page.getByText('With the commits that').waitFor()
    await page.getByRole('link', { name: 'Leave them out' }).click()
    await page.getByText('Without the commits that').waitFor()
    expect(faults).toEqual([])
  })

  it('say how to get all files', async () => {
    const { page, faults } = stranger
    await page.goto('/bob/tools')
    await page.getByText('Clone or download').click()
    await page.getByText(`git clone ${web.forge.server.url}/bob/tools.git`).waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'tar.gz archive' }).click()
    expect((await download).suggestedFilename()).toBe('tools-main.tar.gz')
    await expectAccessible(page)
    expect(faults).toEqual([])
  })

  it('show a user and what the user has starred', async () => {
    const { ask, users } = web.forge
    await ask(users.carol, 'PUT', '/user/starred/bob/tools')
    const { page, faults } = stranger
    await page.goto('/carol')
    await page.getByText('Joined').waitFor()
    await page.getByRole('link', { name: 'Starred' }).click()
    await page.getByRole('link', { name: 'bob/tools' }).waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
  })

  it('show one commit with its changes', async () => {
    const { page, faults } = stranger
    await page.goto('/bob/tools/commits/branch/feature%2Fgreeting')
    await page.getByRole('link', { name: 'Add a greeting' }).click()
    await page.getByRole('heading', { name: 'Add a greeting' }).waitFor()
    const changes = page.getByRole('region', { name: 'Changes of src/greeting.ts' })
    await expect.poll(() => changes.textContent()).toContain(SOURCE.trim())
    await expectAccessible(page)
    expect(faults).toEqual([])
  })

  it('show what others do to a pull request without a reload, and merge it', async () => {
    const bob = await web.open('/bob/tools/pulls/1', 'bob')
    await bob.page.getByText('No system has reported a check.').waitFor()
    const reader = await web.open('/bob/tools/pulls/1')
    await reader.page.getByRole('heading', { name: 'Merge' }).waitFor()
    await reader.page.getByText('Somebody who may write to the repository can merge.').waitFor()
    await bob.page.getByLabel('Comment').fill('Shall we **ship** this?')
    await bob.page.getByRole('button', { name: 'Send the comment' }).click()
    await reader.page.getByText('Shall we ship this?').waitFor()
    await web.forge.ask(
      web.forge.users.bob,
      'POST',
      `/repos/bob/tools/statuses/${await headOf(web.forge)}`,
      {
        state: 'success',
        context: 'ci/build',
      },
    )
    await web.forge.ask(web.forge.users.ada, 'POST', '/repos/bob/tools/issues/1/comments', {
      body: 'The build is green.',
    })
    await bob.page.getByText('The build is green.').waitFor()
    await bob.page.getByText('ci/build').waitFor()
    await bob.page.getByRole('button', { name: 'Merge', exact: true }).click()
    await bob.page.getByText('The changes are on the target branch.').waitFor()
    await reader.page.getByText('The changes are on the target branch.').waitFor()
    expect([...bob.faults, ...reader.faults]).toEqual([])
    await bob.leave()
    await reader.leave()
  })

  it('say why a pull request cannot be merged', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/pulls/2', 'bob')
    const box = page.getByRole('region', { name: 'Merge' })
    await box.getByText('Reason: MERGE_CONFLICT').waitFor()
    await box.getByText('resolve the conflicts').waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('show the comment that a link names', async () => {
    const { ask, users } = web.forge
    const long = Array.from({ length: 80 }, (_, i) => `Line ${i}\n`).join('\n')
    const comment = (body: string) =>
      ask(users.bob, 'POST', '/repos/bob/tools/issues/2/comments', { body })
    await comment(long)
    const { html_url } = await comment('The one that matters')
    await comment(long)
    const { page, faults } = stranger
    await page.goto(html_url)
    await page.getByText('The one that matters').waitFor()
    await page.waitForFunction('scrollY > 500')
    expect(faults).toEqual([])
  })

  it('open a pull request from the comparison of two branches, and keep what was typed for its merge', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/branches', 'bob')
    await page.getByRole('link', { name: 'Compare small' }).click()
    await page.getByRole('heading', { name: '1 commit', exact: true }).waitFor()
    await page.getByRole('region', { name: 'Changed files' }).getByText('1 changed file').waitFor()
    await page.getByLabel('Title').fill('A small change')
    await page.getByRole('button', { name: 'Open a pull request' }).click()
    await page.getByRole('heading', { name: 'A small change #3' }).waitFor()
    expect(faults).toEqual([])
    await page.getByLabel('Title of the commit').fill('My title')
    const allow = (isAllowed: boolean) =>
      web.forge.ask(web.forge.users.bob, 'PATCH', '/repos/bob/tools', {
        allow_merge_commits: isAllowed,
      })
    await allow(false)
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('alert').getByText('Reason: MERGE_STYLE_NOT_ALLOWED').waitFor()
    await expect.poll(() => page.getByLabel('Title of the commit').inputValue()).toBe('My title')
    await allow(true)
    await leave()
  })
})

async function signIn({ page }: Visitor, username: string): Promise<void> {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function headOf({ ask }: Forge): Promise<string> {
  return (await ask(undefined, 'GET', '/repos/bob/tools/pulls/1')).head.sha
}

/** Bob's repositories: a private one, and tools with two pull requests, of which one conflicts. */
async function prepare({ server, client, users, ask }: Forge): Promise<void> {
  const { bob } = users
  await ask(bob, 'POST', '/user/repos', { name: 'secret', private: true, auto_init: true })
  await ask(bob, 'POST', '/user/repos', { name: 'tools', description: 'Tools for work' })
  await client.git('.', 'init', '-q', '-b', 'main', 'tools')
  const git = (...args: string[]) => client.git('tools', ...args)
  const commit = async (message: string, files: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(client.home, 'tools', path, '..'), { recursive: true })
      await writeFile(join(client.home, 'tools', path), text)
    }
    await git('add', '.')
    await git('commit', '-q', '-m', message)
  }
  await commit('Begin', {
    'README.md':
      '# Tools for everybody\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```ts\nlet a = 1\n```\n',
    'docs/guide.md': '# The guide\n\nSee [the tools](../README.md).\n',
    'names.txt': 'one\n',
  })
  await git('tag', '-a', 'v1', '-m', 'The first version')
  await git('checkout', '-q', '-b', 'feature/greeting')
  await commit('Add a greeting', { 'src/greeting.ts': SOURCE })
  await git('checkout', '-q', '-b', 'clash', 'main')
  await commit('Name two', { 'names.txt': 'two\n' })
  await git('checkout', '-q', '-b', 'small', 'main')
  await commit('Change little', { 'small.txt': 'small\n' })
  await git('checkout', '-q', 'main')
  await commit('Name three', { 'names.txt': 'three\n' })
  await git('push', '-q', '--all', remoteOf(server.url, 'bob/tools', 'bob', PASSWORD))
  await git('push', '-q', '--tags', remoteOf(server.url, 'bob/tools', 'bob', PASSWORD))
  for (const [title, head] of [
    ['Greet people', 'feature/greeting'],
    ['Rename', 'clash'],
  ])
    await ask(bob, 'POST', '/repos/bob/tools/pulls', { title, head, base: 'main', body: 'Please.' })
  await ask(bob, 'POST', '/repos/bob/tools/releases', { tag_name: 'v1', body: 'It **works**.' })
}
