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
    expect(await page.getByRole('link', { name: /fence/ }).count()).toBe(0)
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
    expect(await page.getByRole('link', { name: /fence/ }).count()).toBe(0)
  })

  it('show a stranger labels and milestones without forms', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { page } = await web.open('/bob/garden/labels')
    await page.getByRole('link', { name: 'plants' }).waitFor()
    expect(await page.getByRole('form').count()).toBe(0)
    await page.goto('/bob/garden/milestones')
    await page.getByRole('link', { name: 'Spring', exact: true }).waitFor()
    expect(await page.getByRole('form').count()).toBe(0)
    await page.goto('/issues')
    await page.getByText('to see what concerns you').waitFor()
  })

  it('show what concerns the user, and filter and order a list', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const carol = await web.open('/', 'carol')
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
    expect(await titles.allTextContents()).toEqual(['The roses are dry #1', 'Look at the fence #2'])
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
})
