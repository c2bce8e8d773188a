import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const DESKTOP = { width: 1280, height: 800 }
const PHONE = { width: 360, height: 740 }

const BEFORE = 'export function area(width, height) {\n  return width + height\n}\n'
const AFTER =
  'export function area(width, height) {\n  return width - height\n}\n\nexport const unit = "m"\n'
const FIXED = AFTER.replace('width - height', 'width * height')

describe.skipIf(!hasChromium)(browserSuite('the review of a pull request'), () => {
  const web = openWebSuite(prepare)

  it('goes from a comparison through a rejection and a fix to the merge, without a reload', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const bob = await web.open('/bob/geometry/compare/main...area', 'bob')
    await bob.page.getByLabel('Title').fill('Compute areas')
    await bob.page.getByRole('button', { name: 'Open a pull request' }).click()
    await bob.page.getByRole('heading', { name: 'Compute areas #1' }).waitFor()

    const carol = await web.open('/bob/geometry/pulls/1/files', 'carol')
    await beginReview(carol.page)

    // A pending review is for its author only.
    await bob.page.getByRole('link', { name: 'Files' }).click()
    await bob.page.getByRole('heading', { name: 'Your review' }).waitFor()
    await expect.poll(() => bob.page.getByText('An area is a product.').count()).toBe(0)
    await expect.poll(() => bob.page.getByLabel('Approve').count()).toBe(0)

    await carol.page.getByLabel('Summary').fill('Please compute the product.')
    await carol.page.getByLabel('Request changes').check()
    await carol.page.getByRole('button', { name: 'Submit the review' }).click()
    await carol.page.getByText('The review is submitted.').waitFor()
    await bob.page.getByText('An area is a product.').waitFor()
    await bob.page.getByText('This was a sum.').waitFor()

    await bob.page.getByRole('button', { name: 'Reply: line 2 of src/area.ts' }).click()
    await bob.page
      .getByRole('textbox', { name: 'Reply on line 2 of src/area.ts' })
      .fill('Right, a fix follows.')
    await bob.page.getByRole('button', { name: 'Send the reply' }).click()
    await carol.page.getByText('Right, a fix follows.').waitFor()
    await expectFormerText(web.forge, carol.page, 'Right, a fix follows.')
    await expectAccessible(bob.page)

    await commit(web.forge, 'geometry', 'Multiply', { 'src/area.ts': FIXED })
    await push(web.forge, 'geometry')
    await carol.page.getByText('return width * height').waitFor()
    await bob.page.getByText('return width * height').waitFor()
    await bob.page.getByRole('button', { name: 'Resolve: line 2 of src/area.ts' }).click()
    await carol.page.getByText('resolved by bob').waitFor()
    await expectAccessible(bob.page)

    await carol.page.getByLabel('Approve').check()
    await carol.page.getByRole('button', { name: 'Submit the review' }).click()
    await carol.page.getByText('The review is submitted.').waitFor()

    await bob.page.getByRole('link', { name: 'Conversation' }).click()
    await bob.page.getByRole('article', { name: 'carol asked for changes' }).waitFor()
    await bob.page.getByRole('article', { name: 'carol approved the changes' }).waitFor()
    await expectBothSizes(bob.page)
    await bob.page.getByRole('button', { name: 'Merge', exact: true }).click()
    await bob.page.getByText('The changes are on the target branch.').waitFor()
    await carol.page.getByText('merged', { exact: true }).waitFor()
    expect([...bob.faults, ...carol.faults]).toEqual([])
    await bob.leave()
    await carol.leave()
  })

  it('says before a merge what is missing, schedules the merge, and cancels it', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/repos/bob/rules/branch_protections', {
      rule_name: 'main',
      required_approvals: 1,
      enable_status_check: true,
      status_check_contexts: ['ci/build'],
    })
    const bob = await web.open('/bob/rules/pulls/1', 'bob')
    const { page } = bob
    const box = page.getByRole('region', { name: 'Merge' })
    await box.getByText('Does not have enough approvals: 0 of 1.').waitFor()
    await box.getByText('Not all required status checks successful: ci/build.').waitFor()
    await box.getByText('main has commits that the pull request does not have.').waitFor()
    await box.getByRole('button', { name: 'Update the branch by a merge' }).click()
    await box.getByText('has commits that the pull request').first().waitFor({ state: 'detached' })
    await expectBothSizes(page)
    await box.getByLabel('Title of the commit').fill('My merge')
    await box.getByLabel('Delete the branch afterwards').check()
    await box.getByRole('button', { name: 'Merge as soon as nothing is missing' }).click()
    await box.getByText('bob has scheduled a merge (merge)').waitFor()
    await expectAccessible(page)
    await box.getByRole('button', { name: 'Cancel the scheduled merge' }).click()
    await box.getByText('bob has scheduled a merge').first().waitFor({ state: 'detached' })
    const { head } = await ask(users.bob, 'GET', '/repos/bob/rules/pulls/1')
    await ask(users.bob, 'POST', `/repos/bob/rules/statuses/${head.sha}`, {
      state: 'success',
      context: 'ci/build',
    })
    // The page follows what a CI system reports.
    await page.getByRole('region', { name: 'Checks' }).getByText('ci/build').waitFor()
    await box.getByText('Not all required status checks').first().waitFor({ state: 'detached' })
    await ask(users.carol, 'POST', '/repos/bob/rules/pulls/1/reviews', { event: 'APPROVED' })
    await box.getByRole('button', { name: 'Merge', exact: true }).click()
    await box.getByText('The changes are on the target branch.').waitFor()
    await box.getByRole('button', { name: 'Delete the branch more' }).click()
    await box
      .getByRole('button', { name: 'Delete the branch more' })
      .first()
      .waitFor({ state: 'detached' })
    expect(bob.faults).toEqual([])
    await bob.leave()
  })

  it('shows changes side by side, with marked words, and without white space', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const bob = await web.open('/bob/rules/pulls/2/files', 'bob')
    const { page } = bob
    const changes = page.getByRole('region', { name: 'Changes of code.txt' })
    await changes.waitFor()
    // The words have elements of their own.
    await changes.getByText('one', { exact: true }).waitFor()
    await changes.getByText('two', { exact: true }).waitFor()
    await expect.poll(() => changes.getByRole('row').count()).toBe(6)
    await page.getByLabel('Layout').selectOption('Side by side')
    await expect.poll(() => changes.getByRole('row').count()).toBe(4)
    await expectBothSizes(page)
    await page.getByLabel('White space').selectOption('Ignore all white space')
    const indented = changes.getByRole('button', { name: 'Comment on old line 3 of code.txt' })
    await indented.first().waitFor({ state: 'detached' })
    await changes.getByRole('button', { name: 'Comment on old line 1 of code.txt' }).waitFor()
    await page.reload()
    await changes.waitFor()
    // The browser remembers the layout.
    await expect.poll(() => page.getByLabel('Layout').inputValue()).toBe('split')

    await commentAndDelete(page, changes)

    // A text stays when the line leaves the changes.
    await changes.getByRole('button', { name: 'Comment on old line 3 of code.txt' }).click()
    const kept = page.getByRole('textbox', { name: 'Comment on old line 3 of code.txt' })
    await kept.fill('About white space')
    await page.getByLabel('White space').selectOption('Ignore all white space')
    await indented.first().waitFor({ state: 'detached' })
    await expect.poll(() => kept.inputValue()).toBe('About white space')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await kept.first().waitFor({ state: 'detached' })
    expect(bob.faults).toEqual([])
    await bob.leave()
  })

  it('changes labels, reviewers, the draft mark, the texts, and comments', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    await web.forge.ask(web.forge.users.bob, 'POST', '/repos/bob/rules/labels', {
      name: 'urgent',
      color: '#aa0000',
    })
    const bob = await web.open('/bob/rules/pulls/2', 'bob')
    const { page } = bob
    const details = page.getByRole('region', { name: 'Details' })
    await details.getByRole('button', { name: 'Change labels' }).click()
    await details.getByLabel('urgent').check()
    await expectAccessible(page)
    await details.getByRole('button', { name: 'Save labels' }).click()
    await details.getByRole('button', { name: 'Change labels' }).waitFor()
    await details.getByText('urgent').waitFor()
    await details.getByRole('button', { name: 'Change reviewers' }).click()
    await details.getByLabel('carol').check()
    await details.getByRole('button', { name: 'Save reviewers' }).click()
    await page.getByText('asked carol for a review').waitFor()
    await details.getByRole('button', { name: 'Change assignees' }).click()
    await details.getByLabel('bob').check()
    await details.getByRole('button', { name: 'Save assignees' }).click()
    await details.getByText('bob', { exact: true }).waitFor()

    await details.getByRole('button', { name: 'Mark as work in progress' }).click()
    await page.getByRole('heading', { name: 'WIP: Take words #2' }).waitFor()
    await page.getByText('Work in progress PRs cannot be merged.').waitFor()
    await details.getByRole('button', { name: 'Mark as ready' }).click()
    await page.getByRole('heading', { name: 'Take words #2' }).waitFor()
    await details.getByRole('button', { name: 'Edit title and description' }).click()
    await details.getByLabel('New title').fill('Take better words')
    await details.getByLabel('New description').fill('The **words** matter.')
    await details.getByRole('button', { name: 'Save title and description' }).click()
    await page.getByRole('heading', { name: 'Take better words #2' }).waitFor()
    await page.getByText('The words matter.').waitFor()

    await page.getByRole('textbox', { name: 'Comment' }).fill('A first thought')
    await page.getByRole('button', { name: 'Send the comment' }).click()
    const comment = page.getByRole('article', { name: 'bob commented' })
    await comment.getByRole('button', { name: 'Edit' }).click()
    await comment.getByLabel('New text of the comment').fill('A better thought')
    await comment.getByRole('button', { name: 'Save the comment' }).click()
    await comment.getByText('A better thought').waitFor()
    await comment.getByRole('button', { name: 'Delete' }).click()
    await comment.getByRole('button', { name: 'Yes, delete' }).click()
    await comment.first().waitFor({ state: 'detached' })

    await details.getByRole('button', { name: 'Close without a merge' }).click()
    await page.getByText('The pull request is closed.').waitFor()
    await expectBothSizes(page)
    await details.getByRole('button', { name: 'Open again' }).click()
    await page.getByText('The pull request is closed.').first().waitFor({ state: 'detached' })
    expect(bob.faults).toEqual([])
    await bob.leave()
  })
})

/** Comments on two lines, and reloads the page in between. */
async function beginReview(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Comment on line 2 of src/area.ts' }).click()
  await page
    .getByRole('textbox', { name: 'Comment on line 2 of src/area.ts' })
    .fill('An area is a **product**.')
  await page.getByRole('button', { name: 'Begin a review' }).click()
  await page.getByText('1 comment waits for the submission.').waitFor()
  await page.getByText('An area is a product.').waitFor()
  await page.getByRole('button', { name: 'Comment on old line 2 of src/area.ts' }).click()
  await page
    .getByRole('textbox', { name: 'Comment on old line 2 of src/area.ts' })
    .fill('This was a sum.')
  await expectAccessible(page)

  // The server has the first comment, and the browser the text of the second one.
  await page.reload()
  await page.getByText('An area is a product.').waitFor()
  const kept = page.getByRole('textbox', { name: 'Comment on old line 2 of src/area.ts' })
  await kept.waitFor()
  await expect.poll(() => kept.inputValue()).toBe('This was a sum.')
  await page.getByRole('button', { name: 'Add to the review' }).click()
  await page.getByText('2 comments wait for the submission.').waitFor()
}

/** Changes a comment on a line, and expects that a reader sees the mark and the former text. */
async function expectFormerText({ ask, users }: Forge, page: Page, text: string): Promise<void> {
  const reviews = '/repos/bob/geometry/pulls/1/reviews'
  const [{ id: review }] = await ask(users.bob, 'GET', reviews)
  const comments: { id: number; body: string }[] = await ask(
    users.bob,
    'GET',
    `${reviews}/${review}/comments`,
  )
  const id = comments.find(({ body }) => body === text)?.id
  // The page compares times in seconds.
  const isLater = async () => {
    const body = `A fix follows at ${Date.now()}`
    const comment = await ask(users.bob, 'PATCH', `${reviews}/${review}/comments/${id}`, { body })
    return comment.updated_at > comment.created_at
  }
  await expect.poll(isLater).toBe(true)
  await page.getByRole('button', { name: 'edited' }).click()
  const former = page.getByRole('region', { name: 'Former texts' })
  await former.getByText(text, { exact: true }).waitFor()
  await expectAccessible(page)
}

/** Comments by keys at once and in a review, and deletes both. */
async function commentAndDelete(page: Page, changes: Locator): Promise<void> {
  // The arrow keys go from line to line.
  await changes.getByRole('button', { name: 'Comment on old line 1 of code.txt' }).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  const text = changes.getByRole('textbox', { name: 'Comment on line 1 of code.txt' })
  await expect.poll(() => text.evaluate((field) => field.matches(':focus'))).toBe(true)
  await page.keyboard.type('Written by keys')
  await changes.getByRole('button', { name: 'Comment at once' }).click()
  await text.first().waitFor({ state: 'detached' })
  await changes.getByText('Written by keys').waitFor()
  await expectBothSizes(page)
  await changes.getByRole('button', { name: 'Comment on old line 1 of code.txt' }).click()
  const other = changes.getByRole('textbox', { name: 'Comment on old line 1 of code.txt' })
  await expect.poll(() => other.evaluate((field) => field.matches(':focus'))).toBe(true)
  await page.keyboard.type('Thought better of')
  await changes.getByRole('button', { name: 'Begin a review' }).click()
  await page.getByRole('button', { name: 'Discard the pending review' }).click()
  await page.getByRole('button', { name: 'Yes, discard the pending review' }).click()
  const deletion = changes.getByRole('button', { name: 'Delete the comment on code.txt by bob' })
  await expect.poll(() => deletion.count()).toBe(1)
  await deletion.click()
  await changes.getByRole('button', { name: 'Yes, delete the comment on code' }).click()
  await changes.getByText('Written by keys').first().waitFor({ state: 'detached' })
}

/** Expects that a page is accessible and fits, on a screen and on a phone. */
async function expectBothSizes(page: Page): Promise<void> {
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize(PHONE)
  await expectAccessible(page)
  await expectFits(page)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(DESKTOP)
}

/** Repositories of bob, to which carol may write. */
async function prepare(forge: Forge): Promise<void> {
  const { users, ask } = forge
  for (const name of ['geometry', 'rules']) {
    await ask(users.bob, 'POST', '/user/repos', { name })
    const role = { permission: 'write' }
    await ask(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, role)
    await forge.client.git('.', 'init', '-q', '-b', 'main', name)
  }
  await commit(forge, 'geometry', 'Begin', { 'src/area.ts': BEFORE })
  await forge.client.git('geometry', 'checkout', '-q', '-b', 'area')
  await commit(forge, 'geometry', 'Compute areas', { 'src/area.ts': AFTER })
  await push(forge, 'geometry')
  await prepareRules(forge)
}

/** A branch that is behind, and one with different kinds of changes. */
async function prepareRules(forge: Forge): Promise<void> {
  const git = (...args: string[]) => forge.client.git('rules', ...args)
  await commit(forge, 'rules', 'Begin', { 'code.txt': 'say one\nkeep\nindent\n' })
  await git('checkout', '-q', '-b', 'more')
  await commit(forge, 'rules', 'Add more', { 'more.txt': 'more\n' })
  await git('checkout', '-q', '-b', 'words', 'main')
  await commit(forge, 'rules', 'Change words', { 'code.txt': 'say two\nkeep\n  indent\n' })
  await git('checkout', '-q', 'main')
  await commit(forge, 'rules', 'Move on', { 'main.txt': 'main\n' })
  await push(forge, 'rules')
  for (const head of ['more', 'words'])
    await forge.ask(forge.users.bob, 'POST', '/repos/bob/rules/pulls', {
      title: `Take ${head}`,
      head,
      base: 'main',
    })
}

async function commit(
  { client }: Forge,
  folder: string,
  message: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(client.home, folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  await client.git(folder, 'add', '.')
  await client.git(folder, 'commit', '-q', '-m', message)
}

async function push({ server, client }: Forge, name: string): Promise<void> {
  const remote = remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD)
  await client.git(name, 'push', '-q', '--all', remote)
}
