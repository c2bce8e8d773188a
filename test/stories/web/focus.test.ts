import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

const LINE = 'line 1 of a.txt'

describe.skipIf(!hasChromium)(browserSuite('the focus of a person with a keyboard'), () => {
  const web = openWebSuite(prepare)

  it('stays near a comment on a line, its answer, its change, and its end', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/pulls/1/files', 'carol')
    const number = page.getByRole('button', { name: `Comment on ${LINE}` })
    await press(number)
    await expectFocus(page.getByRole('textbox', { name: `Comment on ${LINE}` }))
    await page.keyboard.type('Said by keys')
    await press(page.getByRole('button', { name: 'Comment at once' }))
    await page.getByText('Said by keys', { exact: true }).waitFor()
    await expectFocus(number)

    const reply = page.getByRole('button', { name: `Reply: ${LINE}` })
    await press(reply)
    await expectFocus(page.getByRole('textbox', { name: `Reply on ${LINE}` }))
    await page.keyboard.type('An answer')
    await press(page.getByRole('button', { name: 'Send the reply' }))
    await page.getByText('An answer', { exact: true }).waitFor()
    await expectFocus(reply)

    const edit = page.getByRole('button', { name: 'Edit: comment on a.txt by carol' }).first()
    await press(edit)
    await expectFocus(page.getByRole('textbox', { name: 'New text of the comment' }))
    await page.keyboard.press('End')
    await page.keyboard.type(', twice')
    await press(page.getByRole('button', { name: 'Save the comment' }))
    await page.getByText('Said by keys, twice', { exact: true }).waitFor()
    await expectFocus(edit)

    const deletion = page.getByRole('button', { name: 'Delete the comment on a.txt by carol' })
    await press(deletion.last())
    await expectFocus(page.getByRole('button', { name: 'No, keep it' }))
    await press(page.getByRole('button', { name: 'Yes, delete the comment on a.txt' }))
    await page.getByText('An answer', { exact: true }).first().waitFor({ state: 'detached' })
    await expectWithin(page, 'details.remark')
    await expectAccessible(page)

    const submit = page.getByRole('button', { name: 'Submit the review' })
    await page.getByLabel('Summary').fill('Well done')
    await press(submit)
    await page.getByText('The review is submitted.').waitFor()
    await expectFocus(submit)
    expect(faults).toEqual([])
    await leave()
  })

  it('is in the box of the merge afterwards', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/pulls/2', 'bob')
    await press(page.getByRole('button', { name: 'Merge', exact: true }))
    await page.getByText('The changes are on the target branch.').waitFor()
    await expectWithin(page, 'section[aria-labelledby=merge]')
    expect(faults).toEqual([])
    await leave()
  })

  it('goes nowhere when the person has left it', async () => {
    const { page, leave } = await web.open('/bob/tools/pulls/1', 'bob')
    await page.getByRole('textbox', { name: 'Comment', exact: true }).focus()
    await page.getByRole('heading', { name: 'Change a #1' }).click()
    const comment = { body: 'Meanwhile' }
    const { ask, users } = web.forge
    await ask(users.carol, 'POST', '/repos/bob/tools/issues/1/comments', comment)
    await page.getByText('Meanwhile').waitFor()
    await expect
      .poll(() => page.evaluate('document.activeElement.matches("body, main")'))
      .toBe(true)
    await leave()
  })
})

/** Presses a button by the keyboard. */
async function press(button: Locator): Promise<void> {
  await button.focus()
  await button.page().keyboard.press('Enter')
}

async function expectFocus(element: Locator): Promise<void> {
  await expect.poll(() => element.evaluate((one) => one.matches(':focus'))).toBe(true)
}

async function expectWithin(page: Page, selector: string): Promise<void> {
  const isWithin = `document.activeElement.closest('${selector}') !== null`
  await expect.poll(() => page.evaluate(isWithin)).toBe(true)
}

async function prepare({ ask, users: { bob } }: Forge): Promise<void> {
  await ask(bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
  for (const name of ['a', 'b']) {
    await ask(bob, 'POST', `/repos/bob/tools/contents/${name}.txt`, {
      content: Buffer.from('one\ntwo\n').toString('base64'),
      message: 'Add a file',
      branch: 'main',
      new_branch: name,
    })
    const request = { title: `Change ${name}`, head: name, base: 'main' }
    await ask(bob, 'POST', '/repos/bob/tools/pulls', request)
  }
}
