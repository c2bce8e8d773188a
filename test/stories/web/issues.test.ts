import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

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
    await carol.page.getByText('plants').waitFor()
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

  it('show a stranger the issues of a public repository, and ask for a sign-in to write', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { page } = await web.open('/bob/garden/issues/1')
    await page.getByRole('heading', { name: 'The roses are dry #1' }).waitFor()
    expect(await page.getByRole('button', { name: 'Close the issue' }).count()).toBe(0)
    await page.goto('/bob/garden/issues/new')
    await page.getByText('to open an issue').waitFor()
    await page.goto('/bob/garden/issues/7')
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
  })
})
