import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

/** A picture of one pixel. */
const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
/** A busy machine has more time. */
const PATIENT = { timeout: 60_000 }
const PICTURE = /^See: !\[dot\.png\]\(.*\/attachments\/[0-9a-f-]{36}\)$/

describe.skipIf(!hasChromium)(browserSuite('the pages of issues'), () => {
  const web = openWebSuite(async ({ ask, users: { bob } }) => {
    await ask(bob, 'POST', '/user/repos', { name: 'garden', auto_init: true })
    await ask(bob, 'POST', '/repos/bob/garden/labels', { name: 'plants', color: '00ff00' })
  })

  it('open an issue, discuss it with another user without a reload, and close it', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const carol = await web.open('/bob/garden/issues', 'carol')
    await carol.page.getByRole('link', { name: 'New issue' }).click()
    await carol.page.getByLabel('Title').fill('The roses are dry')
    await carol.page.getByLabel('Description').fill('Please *water* them.')
    await expectReadable(carol.page)
    await carol.page.getByRole('button', { name: 'Open the issue' }).click()
    await carol.page.getByRole('heading', { name: 'The roses are dry #1' }).waitFor()
    await carol.page.getByText('water', { exact: true }).waitFor()

    const bob = await web.open('/bob/garden/issues', 'bob')
    await bob.page.getByRole('link', { name: 'The roses are dry #1' }).click()
    await bob.page.getByRole('button', { name: 'Change labels' }).click()
    await bob.page.getByLabel('plants').check()
    await bob.page.getByRole('button', { name: 'Save labels' }).click()
    await bob.page.getByLabel('Comment', { exact: true }).fill('Which ones?')
    await bob.page.getByRole('button', { name: 'Send the comment' }).click()
    await carol.page.getByText('Which ones?').waitFor()
    await carol.page.getByText('plants').first().waitFor()
    await carol.page.getByText('added the label').waitFor()
    await expectReadable(carol.page)

    await bob.page.getByRole('button', { name: 'Close the issue' }).click()
    await carol.page.getByText('closed', { exact: true }).waitFor()
    await carol.page.getByRole('button', { name: 'Open again' }).waitFor()

    await carol.page.goto('/bob/garden/issues')
    await carol.page.getByText('No issues.').waitFor()
    await carol.page.getByRole('link', { name: 'Closed' }).click()
    await carol.page.getByRole('link', { name: 'plants' }).click()
    await carol.page.getByRole('link', { name: 'The roses are dry #1' }).waitFor()
    await expectReadable(carol.page)
  })

  it('plan an issue, show what it waits for and what has happened, and move it elsewhere', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    for (const name of ['farm', 'barn']) await ask(users.bob, 'POST', '/user/repos', { name })
    for (const title of ['Plough', 'Feed the horse'])
      await ask(users.bob, 'POST', '/repos/bob/farm/issues', { title })
    await ask(users.bob, 'POST', '/repos/bob/barn/issues', { title: 'Mend the door' })
    await ask(users.bob, 'POST', '/repos/bob/farm/milestones', { title: 'spring' })
    const { page } = await web.open('/bob/farm/issues/1', 'bob')
    await page.getByRole('button', { name: 'Change milestone' }).click()
    await page.getByLabel('New milestone').selectOption({ label: 'spring' })
    await page.getByRole('button', { name: 'Save milestone' }).click()
    await page.getByText('set the milestone spring').waitFor()
    await page.getByRole('button', { name: 'Change due date' }).click()
    await page.getByLabel('New due date').fill('2027-04-01')
    await page.getByRole('button', { name: 'Save due date' }).click()
    await page.getByText('set the due date 2027-04-01').waitFor()

    await page.getByLabel('Number, or').fill('2')
    await page.getByRole('button', { name: 'Add the dependency' }).click()
    await page.getByRole('button', { name: 'Remove #2' }).waitFor()
    await page.getByLabel('Direction').selectOption('blocks')
    await page.getByLabel('Number, or').fill('bob/barn#1')
    await page.getByRole('button', { name: 'Add the dependency' }).click()
    await page.getByRole('button', { name: 'Remove #1' }).waitFor()
    await page.getByText('made a dependency with').nth(1).waitFor()
    await expectReadable(page)
    const titles = async (path: string) =>
      (await ask(users.bob, 'GET', path)).map(({ title }: { title: string }) => title)
    expect(await titles('/repos/bob/farm/issues/1/dependencies')).toEqual(['Feed the horse'])
    expect(await titles('/repos/bob/farm/issues/1/blocks')).toEqual(['Mend the door'])
    await page.getByRole('button', { name: 'Remove #2' }).click()
    await page.getByText('removed the dependency with').waitFor()

    await page.getByRole('button', { name: 'Unsubscribe' }).click()
    await page.getByRole('button', { name: 'Subscribe', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Transfer the issue' }).click()
    await page.getByLabel('Repository that gets the issue').fill('bob/barn')
    await expectReadable(page)
    await page.getByRole('button', { name: 'Transfer the issue' }).click()
    await page.waitForURL('**/bob/barn/issues/2')
    await page.getByRole('heading', { name: 'Plough #2' }).waitFor()

    await ask(users.bob, 'PATCH', '/repos/bob/barn/issues/2', { state: 'closed' })
    await page.goto('/bob/barn/issues')
    await page.getByRole('link', { name: 'Open 1' }).waitFor()
    await page.getByRole('link', { name: 'Closed 1' }).waitFor()
    await expectReadable(page)
  })

  it('close an issue with a reason, show its parts, and lock, pin and delete it', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'hut' })
    for (const title of ['Build a shed', 'Buy wood', 'Buy planks'])
      await ask(users.bob, 'POST', '/repos/bob/hut/issues', { title })
    const bob = await web.open('/bob/hut/issues/1', 'bob')
    for (const number of ['2', '#3']) {
      await bob.page.getByLabel('Number of an issue').fill(number)
      await bob.page.getByRole('button', { name: 'Add the sub-issue' }).click()
      await bob.page.getByRole('button', { name: `Remove #${number.replace('#', '')}` }).waitFor()
    }
    await bob.page.getByRole('button', { name: 'Move up #3' }).click()
    await bob.page.getByRole('button', { name: 'Move up #2' }).waitFor()
    await expectReadable(bob.page)

    await bob.page.getByRole('list').getByRole('link', { name: 'Buy planks #3' }).click()
    await bob.page.getByText('a part of').first().waitFor()
    await bob.page.getByRole('combobox', { name: 'Reason' }).selectOption('duplicate')
    await bob.page.getByLabel('Number of the other issue').fill('2')
    await expectReadable(bob.page)
    await bob.page.getByRole('button', { name: 'Close the issue' }).click()
    await bob.page.getByText('as a duplicate of').first().waitFor()
    await bob.page.getByRole('button', { name: 'Pin', exact: true }).click()
    await bob.page.getByRole('button', { name: 'Unpin' }).waitFor()
    await bob.page.getByRole('button', { name: 'Lock the conversation' }).click()
    await bob.page.getByRole('button', { name: 'Unlock the conversation' }).waitFor()
    expect(await ask(users.bob, 'GET', '/repos/bob/hut/issues/3')).toMatchObject({
      state: 'closed',
      state_reason: 'duplicate',
      is_locked: true,
      pin_order: 1,
    })
    await bob.page.goto('/bob/hut/issues')
    const pinned = bob.page.getByRole('region', { name: 'Pinned' })
    await pinned.getByRole('link', { name: 'Buy planks #3' }).waitFor()
    await expectReadable(bob.page)
    await bob.page.goto('/bob/hut/issues/1')
    await bob.page.getByRole('heading', { name: 'Sub-issues (1 of 2 closed)' }).waitFor()

    await bob.page.goto('/bob/hut/issues/2')
    await bob.page.getByRole('button', { name: 'Delete the issue' }).click()
    await bob.page.getByRole('button', { name: 'Yes, delete the issue' }).click()
    await bob.page.getByText('Build a shed').waitFor()
    expect((await web.forge.rest(users.bob, 'GET', '/repos/bob/hut/issues/2')).status).toBe(404)

    await ask(users.bob, 'POST', '/repos/bob/garden/issues', { title: 'Moves away' })
    const [{ number }] = await ask(users.bob, 'GET', '/repos/bob/garden/issues?state=all')
    await ask(users.bob, 'POST', `/repos/bob/garden/issues/${number}:transfer`, {
      owner: 'bob',
      repo: 'hut',
    })
    await bob.page.goto(`/bob/garden/issues/${number}`)
    await bob.page.waitForURL('**/bob/hut/issues/4')
    await bob.page.getByRole('heading', { name: 'Moves away #4' }).waitFor()
    await bob.page.getByText('moved the issue from another repository').waitFor()

    const carol = await web.open('/bob/hut/pulls/1', 'carol')
    await carol.page.getByRole('heading', { name: 'Build a shed #1' }).waitFor()
    await expect
      .poll(() => carol.page.getByRole('button', { name: 'Close the issue' }).count())
      .toBe(0)
    await expect.poll(() => carol.page.getByText('Administration').count()).toBe(0)
  })

  it('close an issue that repeats one of another repository', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    for (const name of ['twin', 'first']) {
      await ask(users.bob, 'POST', '/user/repos', { name })
      await ask(users.bob, 'POST', `/repos/bob/${name}/issues`, { title: `Leak in ${name}` })
    }
    const { page } = await web.open('/bob/twin/issues/1', 'bob')
    await page.getByRole('combobox', { name: 'Reason' }).selectOption('duplicate')
    await page.getByLabel('Number of the other issue').fill('bob/first#1')
    await page.getByRole('button', { name: 'Close the issue' }).click()
    await page.getByRole('link', { name: 'bob/first#1' }).waitFor()
    await page.getByRole('link', { name: 'Leak in first #1' }).waitFor()
    await expectReadable(page)
    expect(await ask(users.bob, 'GET', '/repos/bob/twin/issues/1')).toMatchObject({
      state: 'closed',
      duplicate_of: { number: 1, repository: { full_name: 'bob/first' } },
    })
  })

  it('keep searches as views for all readers', { timeout: STORY_TIMEOUT_MS }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'views' })
    for (const title of ['Rain', 'Sun'])
      await ask(users.bob, 'POST', '/repos/bob/views/issues', { title })
    const bob = await web.open('/bob/views/issues', 'bob')
    await bob.page.getByLabel('Search issues').fill('is:open in:title rain')
    await bob.page.getByRole('button', { name: 'Search', exact: true }).click()
    await bob.page.getByLabel('Name of the view').fill('Wet')
    await bob.page.getByRole('button', { name: 'Save as a view' }).click()
    await bob.page.getByRole('button', { name: 'Delete the view Wet' }).waitFor()
    await expectReadable(bob.page)

    const carol = await web.open('/bob/views/issues', 'carol')
    await carol.page.getByRole('link', { name: 'Wet' }).click()
    await carol.page.getByRole('link', { name: 'Rain #1' }).waitFor()
    await carol.page.getByRole('link', { name: 'Sun #2' }).first().waitFor({ state: 'detached' })
    await expect.poll(() => carol.page.getByRole('button', { name: /view/ }).count()).toBe(0)

    await bob.page.getByRole('button', { name: 'Delete the view Wet' }).click()
    await bob.page.getByRole('button', { name: 'Yes, delete the view Wet' }).click()
    await bob.page.getByRole('button', { name: 'Save as a view' }).waitFor()
    expect(await ask(users.bob, 'GET', '/repos/bob/views/issue_views')).toEqual([])
  })

  it('change several issues of a list at once', { timeout: STORY_TIMEOUT_MS }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'many' })
    await ask(users.bob, 'POST', '/repos/bob/many/labels', { name: 'old', color: '00ff00' })
    for (const title of ['one', 'two', 'three'])
      await ask(users.bob, 'POST', '/repos/bob/many/issues', { title })
    const bob = await web.open('/bob/many/issues', 'bob')
    await bob.page.getByLabel('Select all on this page').press('Space')
    await bob.page.getByRole('button', { name: 'Change 3 issues' }).waitFor()
    await bob.page.getByLabel('Select #2').press('Space')
    await expect.poll(() => bob.page.getByLabel('Select all on this page').isChecked()).toBe(false)
    await expectReadable(bob.page)
    await bob.page.getByLabel('State of the selected issues').selectOption('closed')
    await bob.page.getByLabel('Label to add').fill('old')
    await bob.page.getByRole('button', { name: 'Change 2 issues' }).click()
    await bob.page.getByText('2 issues changed.').waitFor()
    await bob.page.getByRole('link', { name: 'one #1' }).first().waitFor({ state: 'detached' })
    expect(await ask(users.bob, 'GET', '/repos/bob/many/issues?state=closed')).toMatchObject([
      { number: 3, labels: [{ name: 'old' }] },
      { number: 1, labels: [{ name: 'old' }] },
    ])
    const carol = await web.open('/bob/many/issues', 'carol')
    await carol.page.getByRole('link', { name: 'two #2' }).waitFor()
    await expect.poll(() => carol.page.getByRole('checkbox').count()).toBe(0)
  })

  it('show the former texts of a comment', { timeout: STORY_TIMEOUT_MS }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'path' })
    await ask(users.bob, 'POST', '/repos/bob/path/issues', { title: 'Weeds' })
    const comments = '/repos/bob/path/issues/1/comments'
    const { id } = await ask(users.bob, 'POST', comments, { body: 'Pull them' })
    // The page compares times in seconds.
    const isLater = async () => {
      const body = `Pull them at ${Date.now()}`
      const comment = await ask(users.bob, 'PATCH', `/repos/bob/path/issues/comments/${id}`, {
        body,
      })
      return comment.updated_at > comment.created_at
    }
    await expect.poll(isLater).toBe(true)
    const carol = await web.open('/bob/path/issues/1', 'carol')
    await carol.page.getByRole('button', { name: 'edited' }).click()
    const former = carol.page.getByRole('region', { name: 'Former texts' })
    await former.getByText('Pull them', { exact: true }).waitFor()
    const comment = carol.page.getByLabel('Comment', { exact: true })
    await comment.fill('Use a *fork*')
    await carol.page.getByRole('button', { name: 'Preview of Comment' }).click()
    const preview = carol.page.getByRole('region', { name: 'Preview of: Comment' })
    await preview.getByText('fork', { exact: true }).waitFor()
    await expectReadable(carol.page)
    await carol.page.getByRole('button', { name: 'Preview of Comment' }).click()
    await comment.press('Control+Enter')
    await carol.page.getByRole('article', { name: 'carol commented' }).waitFor()
    await expectReadable(carol.page)
  })

  it('open an issue with what the address gives', { timeout: STORY_TIMEOUT_MS }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'beds' })
    await ask(users.bob, 'POST', '/repos/bob/beds/labels', { name: 'plants', color: '00ff00' })
    const address = '/bob/beds/issues/new?title=Roses&labels=plants&assignees=bob'
    const bob = await web.open(address, 'bob')
    await bob.page.getByText('The issue gets labels: plants; assignees: bob.').waitFor()
    await bob.page.getByRole('button', { name: 'Open the issue' }).click()
    await bob.page.getByRole('heading', { name: 'Roses #1' }).waitFor()
    const [issue] = await ask(users.bob, 'GET', '/repos/bob/beds/issues?labels=plants')
    expect(issue).toMatchObject({ title: 'Roses', assignees: [{ login: 'bob' }] })
  })

  it('take files into a text, and show them to readers of a private repository', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'attic', private: true })
    const { page } = await web.open('/bob/attic/issues/new', 'bob')
    await page.getByLabel('Title').fill('A picture')
    await page.getByLabel('Description').fill('See: ')
    const picture = { name: 'dot.png', mimeType: 'image/png', buffer: DOT }
    await page.getByLabel('Attach files').setInputFiles([picture])
    const description = page.getByLabel('Description')
    await expect.poll(() => description.inputValue(), PATIENT).toMatch(PICTURE)
    await page.getByRole('button', { name: 'Open the issue' }).click()
    const width = `document.querySelector('img[alt="dot.png"]')?.naturalWidth`
    await expect.poll(() => page.evaluate<number>(width), PATIENT).toBe(1)
    await page.getByRole('list', { name: 'Attachments' }).getByText('dot.png').waitFor()
    await expectReadable(page)

    await page.evaluate(`{
      const data = new DataTransfer()
      data.items.add(new File(['lines'], 'run.log'))
      const field = [...document.querySelectorAll('textarea')].at(-1)
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, cancelable: true }))
    }`)
    const link = /\[run\.log\]\(.*\/attachments\/[0-9a-f-]{36}\)/
    const comment = page.getByLabel('Comment', { exact: true })
    await expect.poll(() => comment.inputValue(), PATIENT).toMatch(link)
    await page.getByRole('button', { name: 'Send the comment' }).click()
    const files = page.getByRole('list', { name: 'Attachments' }).nth(1)
    await files.getByRole('button', { name: 'run.log' }).waitFor()
    const stored = await ask(users.bob, 'GET', '/repos/bob/attic/issues/comments')
    expect(stored[0].assets).toMatchObject([{ name: 'run.log', size: 5 }])
  })

  it('show a stranger the issues of a public repository, and ask for a sign-in to write', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { page } = await web.open('/bob/garden/issues/1')
    await page.getByRole('heading', { name: 'The roses are dry #1' }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Close the issue' }).count()).toBe(0)
    await page.goto('/bob/garden/issues/new')
    await page.getByText('to open an issue').waitFor()
    await page.goto('/bob/garden/issues/7')
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  })

  it('offer templates and forms, and open an issue with a form', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.bob, 'POST', '/user/repos', { name: 'shed', auto_init: true })
    const files = { 'bug.yaml': FORM, 'idea.md': IDEA, 'config.yaml': CONFIG }
    for (const [name, text] of Object.entries(files)) {
      const path = `/repos/bob/shed/contents/.gitea/ISSUE_TEMPLATE/${name}`
      await ask(users.bob, 'POST', path, { content: Buffer.from(text).toString('base64') })
    }
    const { page } = await web.open('/bob/shed/issues', 'carol')
    await page.getByRole('link', { name: 'New issue' }).click()
    await page.getByRole('link', { name: 'Forum' }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'Blank issue' }).count()).toBe(0)
    await expectReadable(page)
    await page.getByRole('link', { name: 'Idea' }).click()
    await page.getByLabel('Description').waitFor()
    await expect.poll(() => page.getByLabel('Description').inputValue()).toBe('What if?')
    await page.goto('/bob/shed/issues/new/choose')
    await page.getByRole('link', { name: 'Bug' }).click()
    await page.getByText('Thanks for telling').waitFor()
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('[Bug]: ')
    await page.getByLabel('Title').fill('[Bug]: It leaks')
    await page.getByLabel('Version').fill('1.2')
    await page.getByLabel('System').selectOption('Linux')
    await page.getByLabel('I have searched').check()
    await expectReadable(page)
    await page.getByRole('button', { name: 'Open the issue' }).click()
    await page.getByRole('heading', { name: '[Bug]: It leaks #1' }).waitFor()
    const { body } = await ask(users.bob, 'GET', '/repos/bob/shed/issues/1')
    expect(body).toBe(
      '### Version\n\n1.2\n\n### System\n\nLinux\n\n### Terms\n\n- [x] I have searched\n\n',
    )
  })
})

const FORM = `
name: Bug
about: Something is broken
title: "[Bug]: "
body:
  - {type: markdown, attributes: {value: Thanks for telling us!}}
  - type: input
    id: version
    attributes: {label: Version, description: Which one}
    validations: {required: true, is_number: true}
  - {type: dropdown, id: system, attributes: {label: System, options: [Linux, Windows]}}
  - type: checkboxes
    id: terms
    attributes: {label: Terms, options: [{label: I have searched, required: true}]}
`

const IDEA = '---\nname: Idea\nabout: Something new\n---\nWhat if?'

const CONFIG = `
blank_issues_enabled: false
contact_links: [{name: Forum, url: "https://forum.example", about: Ask here}]
`
