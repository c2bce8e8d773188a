import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { browserSuite, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'
import { expectReadable, openWebSuite } from '../../support/web-visitors.ts'

/** A browser on a busy machine. */
const TIMEOUT_MS = 120_000

const ASSET = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251))

/** More than a page downloads. */
const TOO_LARGE = 600 * 1024 ** 2

/** More than the API sends with the facts about a file. */
const UNSHOWN_BYTES = 11 * 1024 ** 2

describe.skipIf(!hasChromium)(browserSuite('downloads'), () => {
  const web = openWebSuite(prepare)

  it('of a private repository have the bytes that the server has', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { page, faults, leave } = await web.open('/bob/secret', 'bob')
    await page.getByText('Clone or download').click()
    const archives = await Promise.all(
      ['zip', 'tar.gz'].map((format) => hashAt(`/bob/secret/archive/main.${format}`)),
    )
    expect(await download(page, 'ZIP archive')).toEqual(['secret-main.zip', archives[0]])
    expect(await download(page, 'tar.gz archive')).toEqual(['secret-main.tar.gz', archives[1]])
    await page.getByText('Downloaded.').first().waitFor()
    await expectReadable(page)

    await page.getByRole('link', { name: 'Releases' }).click()
    expect(await download(page, 'tools.bin')).toEqual(['tools.bin', hashOf(ASSET)])
    await expectReadable(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('show how much has arrived, can be stopped, and say why they fail', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { page, faults, leave } = await web.open('/bob/secret/releases', 'bob')
    // The request stays on its way until its progress is shown.
    let isStopped = false
    await page.route('**/GetAttachment', async (route) => {
      await page.getByRole('progressbar', { name: '0 bytes of 3 MB' }).waitFor()
      await expectReadable(page)
      isStopped = true
      await page.getByRole('button', { name: 'Stop the download of tools.bin' }).click()
      await route.abort()
    })
    const button = page.getByRole('button', { name: 'tools.bin', exact: true })
    await button.click()
    await page.getByText('The download was stopped.').waitFor()
    expect(isStopped).toBe(true)
    await page.unroute('**/GetAttachment')

    // Somebody removes the file.
    const { ask, users } = web.forge
    const { id, assets } = await ask(users.bob, 'GET', '/repos/bob/secret/releases/tags/v1')
    await ask(users.bob, 'DELETE', `/repos/bob/secret/releases/${id}/assets/${assets[0].id}`)
    await button.click()
    await page.getByRole('alert').getByText('Reason: ASSET_NOT_FOUND').waitFor()
    await expectReadable(page)
    // A stream has its failure behind a status of 200.
    expect(faults).toEqual([])
    await leave()
  })

  it('that are too large for a page have a command', { timeout: TIMEOUT_MS }, async () => {
    const { page, faults, leave } = await web.open('/bob/large/releases', 'bob')
    const { url } = web.forge.server
    const command = page.getByRole('region', { name: 'Command that downloads large.bin' })
    await command.waitFor()
    await expect
      .poll(() => command.textContent())
      .toMatch(`curl -fL -H "Authorization: Bearer $TOKEN" -o 'large.bin' '${url}/attachments/`)
    await expect
      .poll(() => page.getByRole('button', { name: 'large.bin', exact: true }).count())
      .toBe(0)
    await expectReadable(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('that strangers may have are links, also for users, but not those of drafts', {
    timeout: TIMEOUT_MS,
  }, async () => {
    for (const who of [undefined, 'carol', 'bob']) {
      const { page, faults, leave } = await web.open('/bob/open/releases', who)
      const link = page.getByRole('link', { name: 'tools.bin', exact: true })
      const [started] = await Promise.all([page.waitForEvent('download'), link.click()])
      expect(hashOf(await readFile(await started.path()))).toBe(hashOf(ASSET))
      const drafts = page.getByRole('button', { name: 'draft.bin', exact: true })
      if (who === 'bob')
        expect(await download(page, 'draft.bin')).toEqual(['draft.bin', hashOf(ASSET)])
      else await expect.poll(() => drafts.count()).toBe(0)
      await page.goto('/bob/open')
      await page.getByText('Clone or download').click()
      await page.getByRole('link', { name: 'ZIP archive' }).waitFor()
      await page.goto('/bob/open/src/branch/main/large.txt')
      await page.getByRole('link', { name: 'Download large.txt' }).waitFor()
      expect(faults).toEqual([])
      await leave()
    }
  })

  it('of an owner whom strangers do not see are for users', { timeout: TIMEOUT_MS }, async () => {
    for (const visibility of ['limited', 'private']) {
      const { page, faults, leave } = await web.open(`/${visibility}-club/garden`, 'bob')
      await page.getByText('Clone or download').click()
      expect((await download(page, 'ZIP archive'))[0]).toBe('garden-main.zip')
      expect(faults).toEqual([])
      await leave()
    }
  })

  async function hashAt(path: string): Promise<string> {
    const { authorization } = web.forge.users.bob
    const answer = await fetch(web.forge.server.url + path, { headers: { authorization } })
    expect(answer.status).toBe(200)
    return hashOf(Buffer.from(await answer.arrayBuffer()))
  }
})

describe.skipIf(!hasChromium)(browserSuite('downloads of a private instance'), () => {
  const web = openWebSuite(prepare, { settings: { privateInstance: true } })

  it('are for users', { timeout: TIMEOUT_MS }, async () => {
    const { page, faults, leave } = await web.open('/bob/open/releases', 'carol')
    expect(await download(page, 'tools.bin')).toEqual(['tools.bin', hashOf(ASSET)])
    await page.getByRole('link', { name: 'Code' }).click()
    await page.getByText('Clone or download').click()
    expect((await download(page, 'ZIP archive'))[0]).toBe('open-main.zip')
    expect(faults).toEqual([])
    await leave()
  })
})

/** A comparison of hashes takes no time. */
function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Presses a button, and returns the name and the hash of the file that the browser stores. */
async function download(page: Page, button: string): Promise<[name: string, hash: string]> {
  const [started] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).click(),
  ])
  return [started.suggestedFilename(), hashOf(await readFile(await started.path()))]
}

async function prepare({ ask, users: { bob }, server, client }: Forge): Promise<void> {
  for (const name of ['secret', 'open', 'large']) {
    const isPrivate = name !== 'open'
    await ask(bob, 'POST', '/user/repos', { name, private: isPrivate, auto_init: true })
    await release(name, 'v1', name === 'large' ? 'large.bin' : 'tools.bin')
  }
  await release('open', 'v2', 'draft.bin', true)
  const remote = remoteOf(server.url, 'bob/open', 'bob', PASSWORD)
  await client.git('.', 'clone', '-q', remote, 'open')
  await writeFile(join(client.home, 'open/large.txt'), 'x'.repeat(UNSHOWN_BYTES))
  await client.git('open', 'add', '.')
  await client.git('open', 'commit', '-q', '-m', 'Grow')
  await client.git('open', 'push', '-q', 'origin', 'HEAD')
  for (const visibility of ['limited', 'private']) {
    const org = `${visibility}-club`
    await ask(bob, 'POST', '/orgs', { username: org, visibility })
    await ask(bob, 'POST', `/orgs/${org}/repos`, { name: 'garden', auto_init: true })
  }
  await server.app.db
    .updateTable('release_assets')
    .set({ bytes: TOO_LARGE })
    .where('name', '=', 'large.bin')
    .execute()

  async function release(repo: string, tag: string, file: string, draft = false): Promise<void> {
    const path = `/repos/bob/${repo}/releases`
    const { id } = await ask(bob, 'POST', path, { tag_name: tag, draft })
    const answer = await fetch(`${server.url}/api/v1${path}/${id}/assets?name=${file}`, {
      method: 'POST',
      headers: {
        authorization: bob.authorization,
        'content-type': 'application/octet-stream',
      },
      body: ASSET,
    })
    expect(answer.status).toBe(201)
  }
}
