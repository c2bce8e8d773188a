import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('files written in the browser'), () => {
  const web = openWebSuite(prepare)

  it('change with a preview and the changes before the commit', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/src/branch/main/notes.md', 'bob')
    await page.getByRole('link', { name: 'Edit', exact: true }).click()
    const content = page.getByLabel('Content of the file')
    await content.fill('# Notes\n\n<b>bold</b>\n')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page
      .getByRole('region', { name: 'Preview' })
      .getByRole('heading', { name: 'Notes' })
      .waitFor()
    await page.getByRole('button', { name: 'Changes' }).click()
    const changes = page.getByRole('region', { name: 'Changes of notes.md' })
    await expect.poll(() => changes.textContent()).toContain('# Notes')
    await expectReadable(page)
    await page.getByLabel('Message of the commit').fill('Write the notes')
    await page.getByRole('button', { name: 'Commit', exact: true }).click()
    await page.getByRole('link', { name: 'Edit', exact: true }).waitFor()
    expect(await textAt(web.forge, 'notes.md')).toBe('# Notes\n\n<b>bold</b>\n')
    expect(faults).toEqual([])
    await leave()
  })

  it('keep the ends of lines, and move to another path', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/_edit/main/dos.txt', 'bob')
    await page.getByLabel('Content of the file').fill('one\ntwo and more\n')
    await page.getByLabel('Path of the file').fill('old/dos.txt')
    await page.getByRole('button', { name: 'Commit', exact: true }).click()
    await page.waitForURL('**/src/branch/main/old/dos.txt')
    expect(await textAt(web.forge, 'old/dos.txt')).toBe('one\r\ntwo and more\r\n')
    expect(await textAt(web.forge, 'dos.txt')).toBeUndefined()
    expect(faults).toEqual([])
    await leave()
  })

  it('show a newer commit, and lose nothing that was typed', async () => {
    const { page, leave } = await web.open('/bob/tools/_edit/main/shared.txt', 'bob')
    const content = page.getByLabel('Content of the file')
    await content.fill('first\nmine\n')
    await changeByOther(web.forge, 'first\ntheirs\n')
    await page.getByRole('button', { name: 'Commit', exact: true }).click()
    const conflict = page.getByRole('region', { name: 'Conflict' })
    await conflict.getByText('The file has changed on the branch main').waitFor()
    const theirs = conflict.getByRole('region', { name: 'Changes of shared.txt' })
    await theirs.getByText('theirs').waitFor()
    await expect.poll(() => theirs.textContent()).not.toContain('mine')
    await expectReadable(page)
    await page.reload()
    await conflict.waitFor()
    await expect.poll(() => typedIn(content)).toBe('first\nmine\n')
    await conflict.getByRole('button', { name: 'Go on with my text' }).click()
    await conflict.first().waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Changes' }).click()
    await page.getByRole('region', { name: 'Changes of shared.txt' }).getByText('theirs').waitFor()
    await page.getByRole('button', { name: 'Commit', exact: true }).click()
    await page.waitForURL('**/src/branch/main/shared.txt')
    expect(await textAt(web.forge, 'shared.txt')).toBe('first\nmine\n')
    await leave()
  })

  it('take the newer version only after a question', async () => {
    const { page, leave } = await web.open('/bob/tools/_edit/main/shared.txt', 'bob')
    await page.getByLabel('Content of the file').fill('mine again\n')
    await changeByOther(web.forge, 'theirs again\n')
    await page.getByRole('button', { name: 'Commit', exact: true }).click()
    await page.getByRole('button', { name: 'Take the newer version' }).click()
    await page.getByRole('button', { name: 'Yes, take the newer version' }).click()
    await page.getByRole('region', { name: 'Conflict' }).first().waitFor({ state: 'detached' })
    await expect.poll(() => typedIn(page.getByLabel('Content of the file'))).toBe('theirs again\n')
    await leave()
  })

  it('go to a new branch for a pull request, by keyboard', async () => {
    const { page, faults, leave } = await web.open('/bob/tools', 'bob')
    await page.getByRole('link', { name: 'New file' }).click()
    await page.getByLabel('Path of the file').fill('docs/plan.md')
    await page.keyboard.press('Tab')
    await page.getByLabel('Content of the file').fill('A plan.\n')
    await page.getByLabel('To a new branch, for a pull request').check()
    const branch = page.getByLabel('Name of the new branch')
    await expect.poll(() => branch.inputValue()).toBe('bob-patch-1')
    await branch.fill('plans/first')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Open a pull request' }).click()
    await page.getByRole('heading', { name: 'Add docs/plan.md #1' }).waitFor()
    expect(await textAt(web.forge, 'docs/plan.md')).toBeUndefined()
    expect(await textAt(web.forge, 'docs/plan.md', 'plans/first')).toBe('A plan.\n')
    expect(faults).toEqual([])
    await leave()
  })

  it('have an editor that indents, searches, and lets the keyboard leave', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/_edit/main/code.js', 'bob')
    const content = page.getByRole('textbox', { name: 'Content of the file' })
    // A keyword has the colour of the theme, by a style sheet that the policy permits.
    await content.locator('.hljs-keyword').first().waitFor()
    await content.press('Control+End')
    await page.keyboard.type('if (a) {')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.type('b()')
    await page.keyboard.press('Enter')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.type('}')
    const typed = 'function a() {\n    return 1\n}\nif (a) {\n    b()\n}'
    await expect.poll(() => typedIn(content)).toBe(typed)
    await page.keyboard.press('Control+f')
    const field = page.getByRole('textbox', { name: 'Find' })
    await field.fill('return')
    await page.getByRole('textbox', { name: 'Replace' }).fill('yield')
    await expectReadable(page)
    await page.getByRole('button', { name: 'replace all' }).click()
    await field.press('Escape')
    await field.first().waitFor({ state: 'detached' })
    await content.press('Escape')
    await page.keyboard.press('Tab')
    await page.waitForFunction("document.activeElement.closest('.cm-editor') === null")
    await page.reload()
    await content.first().waitFor()
    await expect.poll(() => typedIn(content)).toBe(typed.replace('return', 'yield'))
    expect(faults).toEqual([])
    await leave()
  })

  it('have the plain field of the browser for a long text', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/_edit/main/long.txt', 'bob')
    await page.getByRole('textbox', { name: 'Content of the file' }).fill('short\n')
    await page.getByRole('button', { name: 'Commit', exact: true }).click()
    await page.waitForURL('**/src/branch/main/long.txt')
    expect(await textAt(web.forge, 'long.txt')).toBe('short\n')
    expect(faults).toEqual([])
    await leave()
  })

  it('are uploaded together, and deleted', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/src/branch/main/data', 'bob')
    await page.getByRole('link', { name: 'Upload files' }).click()
    await page.getByLabel('Files for data').setInputFiles([
      { name: 'a.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 255]) },
      { name: 'b.txt', mimeType: 'text/plain', buffer: Buffer.from('b\n') },
    ])
    await dropFile(page, 'c.txt', 'dropped\n')
    const list = page.getByRole('list', { name: 'Files to upload' })
    await list.getByText('c.txt').waitFor()
    await expect.poll(() => list.getByText('replaces a file').count()).toBe(1)
    await page.getByRole('button', { name: 'Remove b.txt' }).click()
    await expectReadable(page)
    await page.getByRole('button', { name: 'Commit', exact: true }).click()
    await page.waitForURL('**/src/branch/main/data')
    await page.getByRole('link', { name: 'a.bin' }).click()
    expect(await textAt(web.forge, 'data/c.txt')).toBe('dropped\n')
    expect(await textAt(web.forge, 'data/b.txt')).toBeUndefined()
    await page.getByRole('link', { name: 'Delete', exact: true }).click()
    await page.getByRole('button', { name: 'Delete the file' }).click()
    await page.waitForURL('**/src/branch/main')
    expect(await textAt(web.forge, 'data/a.bin')).toBeUndefined()
    expect(faults).toEqual([])
    await leave()
  })

  it('begin a repository', async () => {
    const { page, faults, leave } = await web.open('/bob/empty', 'bob')
    await page.getByRole('link', { name: 'Create a file' }).click()
    await page.getByLabel('Path of the file').fill('README.md')
    await page.getByLabel('Content of the file').fill('# Begun\n')
    await page.getByRole('button', { name: 'Commit', exact: true }).click()
    await page.getByRole('heading', { name: 'Begun' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  it('have no form for who may not write, and none for a binary file', async () => {
    const carol = await web.open('/bob/tools/_edit/main/notes.md', 'carol')
    await carol.page.getByText('You may not write to this repository.').waitFor()
    await carol.leave()
    const stranger = await web.open('/bob/tools/_new/main')
    await stranger.page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await stranger.leave()
    const bob = await web.open('/bob/tools/_edit/main/latin.txt', 'bob')
    await bob.page.getByText('is no text in UTF-8').waitFor()
    await bob.page.goto('/bob/tools/_edit/main/missing.txt')
    await bob.page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await bob.leave()
  })

  it('go to a new branch where the rules allow nothing else', async () => {
    const { page, leave } = await web.open('/bob/tools/_edit/guarded/notes.md', 'bob')
    await page.getByText('You may not commit to the branch guarded itself.').waitFor()
    await page.getByLabel('Name of the new branch').waitFor()
    await leave()
  })
})

/** Returns the text of the editor, which has an element for each line. */
async function typedIn(content: Locator): Promise<string> {
  await content.first().waitFor()
  return (await content.locator('.cm-line').allTextContents()).join('\n')
}

/** Drops a file into the form, as a person does from a folder. */
async function dropFile(page: Page, name: string, text: string): Promise<void> {
  await page.evaluate(`{
    const dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}))
    const field = document.querySelector('input[type=file]')
    field.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }))
  }`)
}

async function textAt({ rest, users }: Forge, path: string, ref = 'main') {
  const address = `/repos/bob/tools/contents/${path}?ref=${encodeURIComponent(ref)}`
  const { status, body } = await rest(users.bob, 'GET', address)
  return status === 200 ? Buffer.from(body.content, 'base64').toString() : undefined
}

async function changeByOther({ ask, users: { bob } }: Forge, text: string): Promise<void> {
  const address = '/repos/bob/tools/contents/shared.txt'
  const { sha } = await ask(bob, 'GET', address)
  await ask(bob, 'PUT', address, { sha, content: Buffer.from(text).toString('base64') })
}

async function prepare({ ask, users: { bob } }: Forge): Promise<void> {
  await ask(bob, 'POST', '/user/repos', { name: 'empty' })
  await ask(bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
  const files = {
    'notes.md': 'Old notes.\n',
    'dos.txt': 'one\r\ntwo\r\n',
    'shared.txt': 'first\nsecond\n',
    'data/c.txt': 'c\n',
    'code.js': 'function a() {\n    return 1\n}\n',
    'long.txt': 'A long line of text.\n'.repeat(30_000),
    'latin.txt': Buffer.from('caf\xe9\n', 'latin1'),
  }
  await ask(bob, 'POST', '/repos/bob/tools/contents', {
    files: Object.entries(files).map(([path, text]) => ({
      operation: 'create',
      path,
      content: Buffer.from(text).toString('base64'),
    })),
  })
  await ask(bob, 'POST', '/repos/bob/tools/branches', { new_branch_name: 'guarded' })
  await ask(bob, 'POST', '/repos/bob/tools/branch_protections', {
    rule_name: 'guarded',
    enable_push: false,
  })
}
