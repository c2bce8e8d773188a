import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const PULL = '/repos/bob/poems/pulls/1'

const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`).join('')

describe.skipIf(!hasChromium)(browserSuite('a conversation about a pull request'), () => {
  const web = openWebSuite(prepare)

  it('applies two suggestions in one commit, and counts the threads', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.carol, 'POST', `${PULL}/reviews`, {
      event: 'COMMENT',
      comments: [
        { path: 'a.txt', new_position: 20, body: '```suggestion\nline twenty\n```' },
        { path: 'b.txt', new_position: 1, body: '```suggestion\nfirst\n```' },
      ],
    })
    const bob = await web.open('/bob/poems/pulls/1/files', 'bob')
    const { page } = bob
    await page.getByText('0 of 2 threads resolved.').waitFor()
    for (const [line, path] of [
      [20, 'a.txt'],
      [1, 'b.txt'],
    ])
      await page
        .getByRole('button', {
          name: `Apply with others: the suggestion of carol for line ${line} of ${path}`,
        })
        .click()
    await page.getByText('2 suggestions chosen.').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Apply 2 suggestions in one commit' }).click()
    await page.getByText('2 of 2 threads resolved.').waitFor()
    await page.getByRole('region', { name: 'Changes of b.txt' }).getByText('first').waitFor()
    const [latest] = await ask(users.bob, 'GET', `${PULL}/commits`)
    expect(latest.commit.message).toMatch(/^Apply 2 suggestions\n\nCo-authored-by: carol </)
    expect(bob.faults).toEqual([])
    await bob.leave()
  })

  it('keeps marks of viewed files until a push changes them, and shows what is new', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, users } = web.forge
    await ask(users.carol, 'POST', `${PULL}/reviews`, { event: 'COMMENT', body: 'Well.' })
    const carol = await web.open('/bob/poems/pulls/1/files', 'carol')
    const { page } = carol
    await page.getByRole('checkbox', { name: 'Viewed a.txt' }).check()
    await page.getByRole('region', { name: 'Changes of b.txt' }).waitFor()
    await page.getByText('1 of 2 files viewed.').waitFor()
    await page.getByRole('checkbox', { name: 'Viewed b.txt' }).check()
    await page.getByText('2 of 2 files viewed.').waitFor()
    await write(web.forge, 'b.txt', 'other\n')
    await page.getByText('changed since you viewed it').waitFor()
    await page.getByText('1 of 2 files viewed.').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Show the changes since then.' }).click()
    await page.getByText('1 changed file', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Show all changes' }).click()
    await page.getByText('2 changed files').waitFor()
    expect(carol.faults).toEqual([])
    await carol.leave()
  })

  it('opens lines around changes, and takes comments on a whole file', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const bob = await web.open('/bob/poems/pulls/1/files', 'bob')
    const { page } = bob
    const changes = page.getByRole('region', { name: 'Changes of a.txt' })
    await changes.getByRole('button', { name: 'Show more of the lines 1 to 16' }).click()
    await changes.getByText('line 1', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Show more of the lines 24 to 40' }).click()
    await changes.getByText('line 40', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Comment on the file a.txt' }).click()
    await page.getByRole('textbox', { name: 'Comment on a.txt' }).fill('A fine file.')
    await page.getByRole('button', { name: 'Comment at once' }).click()
    await page.getByText('A fine file.').waitFor()
    await expectAccessible(page)
    await expectFits(page)
    expect(bob.faults).toEqual([])
    await bob.leave()
  })

  it('quotes, completes names, and reacts', { timeout: STORY_TIMEOUT_MS }, async () => {
    const { ask, users } = web.forge
    await ask(users.carol, 'POST', '/repos/bob/poems/issues/1/comments', { body: 'Two\nlines' })
    const bob = await web.open('/bob/poems/pulls/1', 'bob')
    const { page } = bob
    const said = page.getByRole('article', { name: 'carol commented' })
    await said.getByRole('button', { name: 'Quote what carol wrote' }).click()
    const text = page.getByRole('textbox', { name: 'Comment', exact: true })
    await expect.poll(() => text.inputValue()).toBe('> Two\n> lines\n\n')
    await expect.poll(() => text.evaluate((field) => field.matches(':focus'))).toBe(true)
    await page.keyboard.press('Control+End')
    await page.keyboard.type('Right, @car')
    await page.getByRole('option', { name: '@carol' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await expect.poll(() => text.inputValue()).toBe('> Two\n> lines\n\nRight, @carol ')
    await page.keyboard.type('and #Poe')
    await page.getByRole('option', { name: '#1 Poems' }).click()
    await expect.poll(() => text.inputValue()).toBe('> Two\n> lines\n\nRight, @carol and #1 ')
    await page.getByRole('button', { name: 'Send the comment' }).click()
    await page.getByRole('article', { name: 'bob commented' }).waitFor()

    await said.getByRole('button', { name: 'React to what carol wrote' }).click()
    await said.getByRole('button', { name: 'Heart: 0' }).click()
    await said.getByRole('button', { name: 'Heart: 1', pressed: true }).waitFor()
    await expectAccessible(page)
    await said.getByRole('button', { name: 'Heart: 1' }).click()
    await said.getByRole('button', { name: 'Heart: 1' }).first().waitFor({ state: 'detached' })
    expect(bob.faults).toEqual([])
    await bob.leave()
  })

  it('proposes another line by a button', { timeout: STORY_TIMEOUT_MS }, async () => {
    const bob = await web.open('/bob/poems/pulls/1/files', 'bob')
    const { page } = bob
    await page.getByRole('button', { name: 'Comment on line 21 of a.txt' }).click()
    await page.getByRole('button', { name: 'Suggest a change' }).click()
    const text = page.getByRole('textbox', { name: 'Comment on line 21 of a.txt' })
    await expect.poll(() => text.inputValue()).toBe('```suggestion\nline 21\n```\n')
    await text.fill('```suggestion\nline twenty-one\n```\n')
    await page.getByRole('button', { name: 'Comment at once' }).click()
    await page
      .getByRole('button', { name: 'Apply the suggestion of bob for line 21 of a.txt' })
      .click()
    await page
      .getByRole('region', { name: 'Changes of a.txt' })
      .getByText('line twenty-one')
      .waitFor()
    expect(bob.faults).toEqual([])
    await bob.leave()
  })
})

/** Writes a file of the head branch as bob. */
async function write({ ask, users, rest }: Forge, path: string, text: string): Promise<void> {
  const place = `/repos/bob/poems/contents/${path}`
  const { status, body } = await rest(users.bob, 'GET', `${place}?ref=topic`)
  await ask(users.bob, 'PUT', place, {
    content: Buffer.from(text).toString('base64'),
    branch: 'topic',
    ...(status === 200 && { sha: body.sha }),
  })
}

/** A pull request of bob's that changes line 20 of a file and adds another file. */
async function prepare(forge: Forge): Promise<void> {
  const { ask, users } = forge
  await ask(users.bob, 'POST', '/user/repos', { name: 'poems', auto_init: true })
  await ask(users.bob, 'PUT', '/repos/bob/poems/collaborators/carol', { permission: 'write' })
  await ask(users.bob, 'POST', '/repos/bob/poems/contents/a.txt', {
    content: Buffer.from(linesOf(1, 40)).toString('base64'),
    branch: 'main',
  })
  await ask(users.bob, 'POST', '/repos/bob/poems/branches', { new_branch_name: 'topic' })
  await write(forge, 'a.txt', `${linesOf(1, 19)}changed\n${linesOf(21, 40)}`)
  await write(forge, 'b.txt', 'one\n')
  await ask(users.bob, 'POST', '/repos/bob/poems/pulls', {
    title: 'Poems',
    head: 'topic',
    base: 'main',
  })
}
