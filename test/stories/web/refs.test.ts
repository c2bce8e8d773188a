import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('branches, tags and releases in the browser'), () => {
  const web = openWebSuite(prepare)

  it('a branch is created and deleted', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/branches', 'bob')
    await page.getByLabel('Name of the new branch').fill('topics/one')
    await page.getByRole('button', { name: 'Create the branch' }).click()
    await page.waitForURL('**/src/branch/topics%2Fone')
    await page.goto('/bob/tools/branches')
    await page.getByRole('link', { name: 'topics/one', exact: true }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Delete main' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Delete topics/one' }).click()
    await page.getByRole('button', { name: 'Yes, delete topics/one' }).click()
    await page
      .getByRole('link', { name: 'topics/one', exact: true })
      .first()
      .waitFor({ state: 'detached' })
    expect(await namesOf(web.forge, 'branches')).toEqual(['main'])
    expect(faults).toEqual([])
    await leave()
  })

  it('a tag is created and deleted, and a wrong name stays in the form', async () => {
    const { page, leave } = await web.open('/bob/tools/tags', 'bob')
    await page.getByLabel('Name of the new tag').fill('no..tag')
    await page.getByRole('button', { name: 'Create the tag' }).click()
    await page.getByRole('alert').waitFor()
    await expect.poll(() => page.getByLabel('Name of the new tag').inputValue()).toBe('no..tag')
    await page.getByLabel('Name of the new tag').fill('v1')
    await page.getByLabel('Message (optional)').fill('The first one')
    await page.getByRole('button', { name: 'Create the tag' }).click()
    await page.waitForURL('**/src/tag/v1')
    await page.goto('/bob/tools/tags')
    await page.getByText('The first one').waitFor()
    await page.getByRole('button', { name: 'Delete v1' }).click()
    await page.getByRole('button', { name: 'Yes, delete v1' }).click()
    await page.getByRole('link', { name: 'v1', exact: true }).first().waitFor({ state: 'detached' })
    expect(await namesOf(web.forge, 'tags')).toEqual([])
    await leave()
  })

  it('a release is published with notes that survive a reload', async () => {
    const { page, faults, leave } = await web.open('/bob/tools/releases', 'bob')
    await page.getByRole('link', { name: 'New release' }).click()
    await page.getByLabel('Notes in Markdown').fill('# What is new')
    await page.reload()
    await expect.poll(() => page.getByLabel('Notes in Markdown').inputValue()).toBe('# What is new')
    await page.getByRole('textbox', { name: /^Tag/ }).fill('v2')
    await page.getByRole('button', { name: 'Generate notes' }).click()
    const notes = page.getByLabel('Notes in Markdown')
    await expect.poll(() => notes.inputValue()).toMatch(/^# What is new\n\n[*][*]Full Changelog/)
    await page.getByLabel('Pre-release').check()
    await expectReadable(page)
    await page.getByRole('button', { name: 'Create the release' }).click()
    await page.getByRole('heading', { name: 'What is new' }).waitFor()
    await page.getByText('pre-release').waitFor()
    expect(await namesOf(web.forge, 'tags')).toEqual(['v2'])
    expect(faults).toEqual([])
    await leave()
  })

  it('who may not write has no forms', async () => {
    const { page, leave } = await web.open('/bob/tools/branches', 'carol')
    await page.getByRole('link', { name: 'main', exact: true }).waitFor()
    await expect.poll(() => page.getByLabel('Name of the new branch').count()).toBe(0)
    await leave()
  })
})

async function namesOf({ ask, users }: Forge, kind: 'branches' | 'tags'): Promise<string[]> {
  const list: { name: string }[] = await ask(users.bob, 'GET', `/repos/bob/tools/${kind}`)
  return list.map(({ name }) => name)
}

async function prepare({ ask, users: { bob } }: Forge): Promise<void> {
  await ask(bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
}
