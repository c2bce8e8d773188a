import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

/** A browser on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const TIMES = { created_at: '2020-01-02T03:04:05Z', updated_at: '2020-01-02T03:04:05Z' }

const ISSUE = {
  kind: 'issue',
  number: 5,
  title: 'The pond leaks',
  body: 'Since spring.',
  user: { login: 'mole', name: 'The Mole' },
  state: 'open',
  ...TIMES,
  comments: [{ author: { login: 'rat', name: '' }, body: 'Mended.', ...TIMES }],
}

describe.skipIf(!hasChromium)(browserSuite('the pages of imported issues'), () => {
  const web = openWebSuite(async ({ ask, users: { bob } }) => {
    await ask(bob, 'POST', '/user/repos', { name: 'garden' })
    await ask(bob, 'POST', '/repos/bob/garden/issue_import', {
      records: [ISSUE],
      request_id: 'first',
    })
  })

  it('name who has written a text, and that the text was imported', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { page, faults, leave } = await web.open('/bob/garden/issues')
    await page.getByText('mole, updated').waitFor()
    await page.getByRole('link', { name: 'The pond leaks #5' }).click()
    await page.getByText('mole opened it').waitFor()
    const said = page.getByRole('article', { name: 'rat commented' })
    await said.getByText('imported', { exact: true }).waitFor()
    await said.getByText('Mended.').waitFor()
    await expectReadable(page)
    expect(faults).toEqual([])
    await leave()
  })
})
