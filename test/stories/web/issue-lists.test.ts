import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

describe.skipIf(!hasChromium)(browserSuite('the pages of labels, milestones and lists'), () => {
  const web = openWebSuite(async ({ ask, users: { bob } }) => {
    await ask(bob, 'POST', '/user/repos', { name: 'garden', auto_init: true })
    await ask(bob, 'POST', '/repos/bob/garden/labels', { name: 'plants', color: '00ff00' })
    await ask(bob, 'POST', '/repos/bob/garden/milestones', { title: 'Spring' })
    await ask(bob, 'POST', '/repos/bob/garden/issues', {
      title: 'The roses are dry',
      labels: ['plants'],
      milestone: 1,
      assignees: ['bob'],
    })
    await ask(bob, 'POST', '/repos/bob/garden/issues', {
      title: 'Look at the fence',
      body: '@carol, who broke it?',
    })
  })

  it('create, change, archive and delete a label', { timeout: STORY_TIMEOUT_MS }, async () => {
    const { page } = await web.open('/bob/garden/issues', 'bob')
    await page.getByRole('link', { name: 'Labels' }).click()
    const form = page.getByRole('form', { name: 'Add a label' })
    await form.getByLabel('Name', { exact: true }).fill('weeds')
    await form.getByLabel('Description').fill('What grows by itself')
    await form.getByRole('button').click()
    await page.getByText('What grows by itself').waitFor()
    await expectReadable(page)

    const change = page.getByRole('form', { name: 'Change the label weeds' })
    await change.getByLabel('Name', { exact: true }).fill('herbs')
    await change.getByRole('button').click()
    await page.getByRole('button', { name: 'Archive herbs' }).click()
    await page.getByText('archived', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Delete herbs' }).click()
    await page.getByRole('button', { name: 'Yes, delete herbs' }).click()
    await page.getByRole('link', { name: 'herbs' }).first().waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'plants' }).click()
    await page.getByRole('link', { name: 'The roses are dry #1' }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: /fence/ }).count()).toBe(0)
  })

  it('create, change, close and delete a milestone', { timeout: STORY_TIMEOUT_MS }, async () => {
    const { page } = await web.open('/bob/garden/milestones', 'bob')
    const form = page.getByRole('form', { name: 'Add a milestone' })
    await form.getByLabel('Title').fill('Summer')
    await form.getByLabel('Due date').fill('2030-06-21')
    await form.getByRole('button').click()
    await page.getByText('due Jun 21, 2030').waitFor()
    await expectReadable(page)

    const change = page.getByRole('form', { name: 'Change the milestone Summer' })
    await change.getByLabel('Due date').fill('')
    await change.getByRole('button').click()
    await page.getByText('due Jun 21, 2030').first().waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Close Summer' }).click()
    await page.getByRole('link', { name: 'Closed', exact: true }).click()
    await page.getByRole('button', { name: 'Delete Summer' }).click()
    await page.getByRole('button', { name: 'Yes, delete Summer' }).click()
    await page.getByText('No closed milestones.').waitFor()

    await page.goto('/bob/garden/milestones')
    await page.getByRole('link', { name: '1 open in Spring' }).click()
    await page.getByRole('link', { name: 'The roses are dry #1' }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: /fence/ }).count()).toBe(0)
  })

  it('show a stranger labels and milestones without forms', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { page } = await web.open('/bob/garden/labels')
    await page.getByRole('link', { name: 'plants' }).waitFor()
    await expect.poll(() => page.getByRole('form').count()).toBe(0)
    await page.goto('/bob/garden/milestones')
    await page.getByRole('link', { name: 'Spring', exact: true }).waitFor()
    await expect.poll(() => page.getByRole('form').count()).toBe(0)
    await page.goto('/issues')
    await page.getByText('to see what concerns you').waitFor()
  })

  it('show what concerns the user, and filter and order a list', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const carol = await web.open('/', 'carol')
    const mentions = carol.page.getByRole('region', { name: 'Mentions of you' })
    await mentions.getByRole('link', { name: /Look at the fence bob\/garden#2/ }).waitFor()
    await carol.page.getByRole('link', { name: 'Issues', exact: true }).click()
    await carol.page.getByText('Nothing here.').waitFor()
    await carol.page.getByRole('link', { name: 'Mentions me' }).click()
    await carol.page.getByRole('link', { name: /Look at the fence bob\/garden#2/ }).waitFor()
    await expectReadable(carol.page)
    const bob = await web.open('/issues', 'bob')
    await bob.page.getByRole('link', { name: 'The roses are dry bob/garden#1' }).click()
    await bob.page.getByRole('heading', { name: 'The roses are dry #1' }).waitFor()

    const { page } = carol
    await page.goto('/bob/garden/issues')
    await page.getByLabel('Order').selectOption('oldest')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.waitForURL(/sort=oldest/)
    const titles = page.getByRole('link', { name: /#\d$/ })
    await titles.first().waitFor()
    await expect
      .poll(() => titles.allTextContents())
      .toEqual(['The roses are dry #1', 'Look at the fence #2'])
    await page.getByLabel('Assignee').fill('bob')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.waitForURL(/assignee=bob/)
    await page.getByText('assigned to bob').waitFor()
    await page.getByRole('link', { name: /fence/ }).first().waitFor({ state: 'detached' })
    await expectReadable(page)
    await page.goto('/bob/garden/issues')
    await page.getByLabel('Search issues').fill('no:assignee fen')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('link', { name: /roses/ }).first().waitFor({ state: 'detached' })
    await page.getByRole('link', { name: /fence/ }).waitFor()
    await page.getByLabel('Search issues').fill('colour:red')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('the query is not understood at character 0').waitFor()
  })

  it('show on the dashboard what begins and ends to concern the user, without a reload', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'yard' })
    const issues = '/repos/bob/yard/issues'
    await ask(users.bob, 'PUT', '/repos/bob/yard/collaborators/carol', { permission: 'write' })
    const { page } = await web.open('/issues', 'carol')
    await page.getByText('Nothing here.').waitFor()
    await ask(users.bob, 'POST', issues, { title: 'Sweep', assignees: ['carol'] })
    await page.getByRole('link', { name: 'Sweep bob/yard#1' }).waitFor()
    await ask(users.bob, 'PATCH', `${issues}/1`, { title: 'Sweep the yard' })
    await page.getByRole('link', { name: 'Sweep the yard bob/yard#1' }).waitFor()
    await expectReadable(page)
    await ask(users.bob, 'PATCH', `${issues}/1`, { assignees: [] })
    await page.getByText('Nothing here.').waitFor()
    await ask(users.bob, 'PATCH', `${issues}/1`, { assignees: ['carol'] })
    await page.getByRole('link', { name: 'Sweep the yard bob/yard#1' }).waitFor()
    await ask(users.bob, 'PATCH', `${issues}/1`, { state: 'closed' })
    await page.getByText('Nothing here.').waitFor()
    await ask(users.bob, 'PATCH', `${issues}/1`, { state: 'open' })
    await page.getByRole('link', { name: 'Sweep the yard bob/yard#1' }).waitFor()
    await ask(users.bob, 'DELETE', `${issues}/1`)
    await page.getByText('Nothing here.').waitFor()
  })

  it('choose rows by keys, and change those of issues and of pull requests', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'shed', auto_init: true })
    for (const title of ['Nails', 'Hammer', 'Saw'])
      await ask(users.bob, 'POST', '/repos/bob/shed/issues', { title })
    const { page } = await web.open('/bob/shed/issues', 'bob')
    const link = (name: string) => page.getByRole('link', { name, exact: true })
    const focused = () => page.locator('a:focus').textContent()
    await link('Saw #3').waitFor()
    await page.keyboard.press('j')
    expect(await focused()).toBe('Saw #3')
    for (const key of ['j', 'x', 'j', 'x', 'k']) await page.keyboard.press(key)
    expect(await focused()).toBe('Hammer #2')
    await page.getByRole('button', { name: 'Change 2 issues' }).waitFor()
    await expectReadable(page)
    await page.keyboard.press('a')
    await page.getByRole('button', { name: 'Change 3 issues' }).waitFor()
    await page.keyboard.press('x')
    await page.keyboard.press('e')
    const state = page.getByLabel('State of the selected issues')
    await page.locator('select[name=state]:focus').waitFor()
    await state.selectOption('closed')
    await page.getByRole('button', { name: 'Change 2 issues' }).click()
    await page.getByText('2 issues changed.').waitFor()
    await link('Saw #3').first().waitFor({ state: 'detached' })
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/bob/shed/issues/2')

    for (const branch of ['one', 'two']) {
      await ask(users.bob, 'POST', `/repos/bob/shed/contents/${branch}`, {
        content: '',
        new_branch: branch,
      })
      const pull = { title: branch, head: branch, base: 'main' }
      await ask(users.bob, 'POST', '/repos/bob/shed/pulls', pull)
    }
    await page.goto('/bob/shed/pulls')
    await link('two #5').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByRole('button', { name: 'Change 1 pull request' }).waitFor()
    await expectReadable(page)
    await page.getByLabel('State of the selected pull requests').selectOption('closed')
    await page.getByRole('button', { name: 'Change 1 pull request' }).click()
    await page.getByText('1 pull request changed.').waitFor()
    await link('two #5').first().waitFor({ state: 'detached' })
    await link('one #4').waitFor()
  })

  it('show what pull requests wait for, find them by a query, and lead to a new one', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    const repo = '/repos/bob/barn'
    await ask(users.bob, 'POST', '/user/repos', { name: 'barn', auto_init: true })
    await ask(users.bob, 'PUT', `${repo}/collaborators/carol`, { permission: 'write' })
    const heads = new Map<string, string>()
    for (const branch of ['roof', 'door', 'hay']) {
      const file = { content: '', new_branch: branch }
      const { commit } = await ask(users.bob, 'POST', `${repo}/contents/${branch}`, file)
      heads.set(branch, commit.sha)
    }
    await ask(users.bob, 'POST', `${repo}/pulls`, { title: 'A roof', head: 'roof', base: 'main' })
    const door = { title: 'WIP: A door', head: 'door', base: 'main' }
    await ask(users.carol, 'POST', `${repo}/pulls`, door)
    await ask(users.carol, 'POST', `${repo}/pulls/1/reviews`, { event: 'APPROVED', body: 'Good' })
    const status = { context: 'ci', state: 'failure' }
    await ask(users.bob, 'POST', `${repo}/statuses/${heads.get('roof')}`, status)

    const { page, faults, leave } = await web.open('/', 'bob')
    const mine = page.getByRole('region', { name: 'Your pull requests' }).getByRole('listitem')
    const waiting = mine.filter({ hasText: 'A roof bob/barn#1' })
    await waiting.getByText('approved', { exact: true }).waitFor()
    await waiting.getByText('checks failed', { exact: true }).waitFor()

    await page.goto('/bob/barn/pulls')
    const row = (title: string) => page.getByRole('listitem').filter({ hasText: title })
    await row('A roof #1').getByText('approved', { exact: true }).waitFor()
    await row('A roof #1').getByText('checks failed', { exact: true }).waitFor()
    await row('A roof #1').getByText('roof → main').waitFor()
    await row('A door #2').getByText('draft', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Open 2' }).waitFor()
    await expectReadable(page)
    await page.getByLabel('Search pull requests').fill('head:roof')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await row('A door #2').first().waitFor({ state: 'detached' })
    await page.getByLabel('Name of the view').fill('Roofs')
    await page.getByRole('button', { name: 'Save as a view' }).click()
    await page.getByLabel('Search pull requests').fill('head:roof OR head:door sort:created-asc')
    await page.getByLabel('Checks').selectOption({ label: 'Failed' })
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.waitForURL(/checks=failure/)
    await row('A roof #1').waitFor()
    await expect.poll(() => row('A door #2').count()).toBe(0)
    await page.getByLabel('Search pull requests').fill('')
    await page.getByLabel('Checks').selectOption({ label: 'None' })
    await page.getByLabel('Review').selectOption({ label: 'None' })
    await page.getByLabel('Draft').selectOption({ label: 'Drafts' })
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await row('A door #2').waitFor()
    await expect.poll(() => row('A roof #1').count()).toBe(0)
    await page.getByLabel('Review').selectOption({ label: 'Approved' })
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByText('No pull requests.').waitFor()
    await page.goto('/bob/barn/pulls?poster=carol')
    await row('A door #2').waitFor()
    await expect.poll(() => row('A roof #1').count()).toBe(0)
    await page.getByRole('link', { name: 'Roofs' }).click()
    await row('A roof #1').waitFor()
    expect(new URL(page.url()).pathname).toBe('/bob/barn/pulls')

    await page.getByRole('link', { name: 'New pull request' }).click()
    await page.getByLabel('Branch with the changes').fill('hay')
    await expectReadable(page)
    await page.getByRole('button', { name: 'Compare the branches' }).click()
    await page.getByLabel('Title').fill('Some hay')
    await page.getByRole('button', { name: 'Open a pull request' }).click()
    await page.getByRole('heading', { name: 'Some hay #3' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })
})
