import { spawnSync } from 'node:child_process'
import { transform } from 'esbuild'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInstalled } from '../../clients/program.ts'
import {
  browserSuite,
  expectAccessible,
  expectFits,
  hasChromium,
  type Visitor,
} from '../../support/chromium.ts'
import { execFile } from '../../support/programs.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

const PHONE = { width: 360, height: 740 }

/** Somebody who has typed this sees it in no command. */
const SECRET_TEXT = 'hunter2-hunter2'

const hasGofmt = spawnSync('gofmt', [], { input: '' }).status === 0

describe.skipIf(!hasChromium)(browserSuite('the pages of the API'), () => {
  const web = openWebSuite(({ ask, users }) =>
    ask(users.bob, 'POST', '/user/repos', { name: 'tools', auto_init: true }),
  )

  it('lead from a search to a method with its path, access, failures and comments', async () => {
    const { page, faults, leave } = await web.open('/')
    await page.getByRole('link', { name: 'API', exact: true }).click()
    await page.getByRole('heading', { name: 'API' }).waitFor()
    await page.getByRole('link', { name: 'RepositoryService' }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Search methods').fill('REPOSITORY_EXISTS organization')
    await expectAccessible(page)
    await page.getByLabel('Search methods').fill('post /api/v1/user/repos')
    await page.getByRole('link', { name: 'RepositoryService.CreateUserRepository' }).click()
    await page.getByRole('heading', { name: 'CreateUserRepository' }).waitFor()
    await page.getByText('POST /api/v1/user/repos').waitFor()
    await page.getByText('Signed-in users.').waitFor()
    await page.getByText('write:repository').first().waitFor()
    await page.getByText('Failures').click()
    await page.getByText('REPOSITORY_EXISTS').waitFor()
    await page.getByText('Fields of the response: Repository').click()
    await page.getByText('full_name', { exact: true }).waitFor()
    await expectAccessible(page)
    // The page knows that the call would fail.
    await page.getByText('The method is for signed-in users').waitFor()
    await expect
      .poll(() => page.getByRole('button', { name: 'Send CreateUserRepository' }).count())
      .toBe(0)
    await page.getByRole('link', { name: 'RepositoryService', exact: true }).click()
    await page.getByRole('link', { name: 'RepositoryService.GetRepository', exact: true }).waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('keep the search and the place on the way back, and after a reload', async () => {
    const { page, faults, leave } = await web.open('/-/api')
    await page.getByLabel('Search methods').fill('repository')
    const far = page.getByRole('link', { name: /^RepositoryService\.TransferRepository$/ })
    await far.scrollIntoViewIfNeeded()
    const place = await page.evaluate<number>('scrollY')
    expect(place).toBeGreaterThan(500)
    await far.click()
    await page.getByRole('heading', { name: 'TransferRepository' }).waitFor()
    await expect.poll(() => page.evaluate('scrollY')).toBe(0)
    await page.goBack()
    await expectPlace(page, place)
    await expect.poll(() => page.getByLabel('Search methods').inputValue()).toBe('repository')
    await page.reload()
    await expectPlace(page, place)
    await page.goForward()
    await page.getByRole('heading', { name: 'TransferRepository' }).waitFor()
    await expectPlace(page, 0)
    expect(faults).toEqual([])
    await leave()
  })

  it('call a method as the user, and show the response with its headers', async () => {
    const { page, faults, leave } = await web.open(
      '/-/api/branchline.v1.RepositoryService/GetRepository',
      'bob',
    )
    await page.getByLabel('owner', { exact: true }).fill('bob')
    await page.getByLabel('repo', { exact: true }).fill('tools')
    await page.getByRole('button', { name: 'Send GetRepository' }).click()
    await page.getByText('The call has succeeded.').waitFor()
    const response = page.getByRole('region', { name: 'Response', exact: true })
    await expect.poll(() => response.textContent()).toContain('"fullName": "bob/tools"')
    await page.getByText('Headers of the response').click()
    await page.getByText('content-type', { exact: true }).waitFor()
    await expectAccessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize(PHONE)
    await expectAccessible(page)
    await expectFits(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('show why a call failed with the details of the error, and keep what was typed', async () => {
    const { page, faults, leave } = await web.open(
      '/-/api/branchline.v1.RepositoryService/GetRepository',
    )
    // The path needs both names, so that the form asks for them first.
    await page.getByRole('button', { name: 'Send GetRepository' }).click()
    await page.getByLabel('owner', { exact: true }).fill('bob')
    await page.getByLabel('repo', { exact: true }).fill('none')
    await page.getByRole('button', { name: 'Send GetRepository' }).click()
    await page.getByRole('alert').getByText('Reason: REPOSITORY_NOT_FOUND').waitFor()
    await page.getByText('NOT_FOUND', { exact: true }).waitFor()
    const details = page.getByRole('region', { name: 'Details of the error' })
    await expect.poll(() => details.textContent()).toContain('"@type": "google.rpc.ErrorInfo"')
    await expect.poll(() => page.getByLabel('repo', { exact: true }).inputValue()).toBe('none')
    await expectAccessible(page)
    expect(faults).toEqual(['404 POST /branchline.v1.RepositoryService/GetRepository'])
    await leave()
  })

  it('write a request with lists, maps, choices and nested messages, as a form and as JSON', async () => {
    const { page, faults, leave } = await web.open('/-/api/branchline.v1.AuthService/SignIn')
    await page.getByLabel('One of').selectOption('password_credentials')
    await page.getByLabel('username', { exact: true }).fill('bob')
    await page.getByLabel('password', { exact: true }).fill(SECRET_TEXT)
    await expectAccessible(page)
    const command = page.getByRole('region', { name: 'The call as' })
    await expect.poll(() => command.textContent()).toContain('"username":"bob","password":"SECRET"')
    await page.getByRole('button', { name: 'Write the request as JSON' }).click()
    const json = page.getByLabel('Request as JSON')
    expect(JSON.parse(await json.inputValue())).toEqual({
      passwordCredentials: { username: 'bob', password: SECRET_TEXT },
    })
    await json.fill('{"passwordCredentials": {"username": 1}}')
    await page.getByRole('button', { name: 'Send SignIn' }).click()
    await page.getByRole('alert').getByText('The request is not valid').waitFor()
    await expectAccessible(page)
    await json.fill(JSON.stringify({ passwordCredentials: { username: 'carol' } }))
    await page.getByRole('button', { name: 'Write the request as a form' }).click()
    await expect.poll(() => page.getByLabel('username', { exact: true }).inputValue()).toBe('carol')

    await page.goto('/-/api/branchline.v1.HookService/CreateRepositoryHook')
    await page.getByRole('button', { name: 'Add events' }).click()
    await page.getByLabel('events 1', { exact: true }).fill('push')
    await page.getByRole('button', { name: 'Add events' }).click()
    await page.getByLabel('events 2', { exact: true }).fill('create')
    await page.getByRole('button', { name: 'Remove events 1' }).click()
    await page.getByRole('button', { name: 'Set config' }).click()
    await page.getByLabel('url', { exact: true }).fill('https://hooks.example/')
    await page.getByLabel('active', { exact: true }).selectOption('true')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Write the request as JSON' }).click()
    expect(JSON.parse(await json.inputValue())).toEqual({
      events: ['create'],
      config: { url: 'https://hooks.example/' },
      active: true,
    })

    await page.goto('/-/api/branchline.v1.TeamService/CreateTeam')
    await page.getByRole('button', { name: 'Add units_map' }).click()
    await page.getByLabel('Key 1 of units_map').fill('repo.code')
    await page.getByLabel('units_map 1', { exact: true }).fill('write')
    await expectAccessible(page)
    await expect.poll(() => command.textContent()).toContain('{"unitsMap":{"repo.code":"write"}}')
    expect(faults).toEqual([])
    await leave()
  })

  it('show the messages of a stream as they arrive, and stop it', async () => {
    const { page, faults, leave } = await web.open(
      '/-/api/branchline.v1.RepositoryEventService/WatchRepository',
      'bob',
    )
    await page.getByLabel('owner', { exact: true }).fill('bob')
    await page.getByLabel('repo', { exact: true }).fill('tools')
    await page.getByRole('button', { name: 'Send WatchRepository' }).click()
    await page.getByRole('region', { name: 'Message 1', exact: true }).waitFor()
    await web.forge.ask(web.forge.users.bob, 'PATCH', '/repos/bob/tools', {
      website: 'https://b.example/',
    })
    await page.getByText('REPOSITORY_EDITED').first().waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('You have stopped the call.').waitFor()
    await page.getByRole('button', { name: 'Send WatchRepository' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  describe('copy a call', () => {
    let bob: Visitor

    beforeAll(async () => {
      bob = await web.open('/-/api/branchline.v1.RepositoryService/EditRepository', 'bob')
      await bob.page.getByLabel('owner', { exact: true }).fill('bob')
      await bob.page.getByLabel('repo', { exact: true }).fill('tools')
    })
    afterAll(() => bob?.leave())

    it.each(['curl (REST)', 'curl (Connect)', 'buf curl', 'Python (requests)'])(
      'that runs: %s',
      async (language) => {
        const description = `It's "changed" by $HOME \`${language}\``
        await bob.page.getByLabel('description', { exact: true }).fill(description)
        const text = await copyOf(bob.page, language)
        expect(text).toContain('TOKEN')
        expect(text).not.toMatch(/eyJ|Bearer (?!\$TOKEN|\{os)/)
        if (!(await isRunnable(language))) return
        const token = web.forge.users.bob.authorization.replace('Bearer ', '')
        await runText(language, text, { TOKEN: token })
        const { description: stored } = await web.forge.ask(
          web.forge.users.bob,
          'GET',
          '/repos/bob/tools',
        )
        expect(stored).toBe(description)
      },
    )

    it('that compiles: TypeScript', async () => {
      const text = await copyOf(bob.page, 'TypeScript (connect-web)')
      expect(text).toContain('client.editRepository(')
      await transform(text, { loader: 'ts' })
    })

    it.skipIf(!hasGofmt)('that gofmt reads: Go (skipped where Go is not installed)', async () => {
      const text = await copyOf(bob.page, 'Go (connect-go)')
      expect(text).toContain('client.EditRepository(')
      expect(await runText('gofmt', text, {})).toBe(text)
    })
  })
})

async function expectPlace(page: Page, place: number): Promise<void> {
  await expect.poll(() => page.evaluate<number>('scrollY')).toBe(place)
}

async function copyOf(page: Page, language: string): Promise<string> {
  await page.getByRole('main').getByLabel('Language').selectOption(language)
  const text = await page.getByRole('region', { name: `The call as ${language}` }).textContent()
  return text ?? ''
}

async function isRunnable(language: string): Promise<boolean> {
  if (language !== 'Python (requests)') return isInstalled('curl')
  return execFile('python3', ['-c', 'import requests']).then(
    () => true,
    () => false,
  )
}

/** Runs a copied text as a user would, with nothing but a token. */
async function runText(
  language: string,
  text: string,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const env = { ...process.env, ...variables }
  if (language.startsWith('Python'))
    return (await execFile('python3', ['-c', text], { env })).stdout
  if (language === 'gofmt')
    return (await execFile('bash', ['-c', 'gofmt <<< "$0"', text], { env })).stdout
  const command = language === 'buf curl' ? `npx ${text}` : text.replace('curl', 'curl -sS -f')
  return (await execFile('bash', ['-c', command], { env })).stdout
}
