import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { finishMeasuring } from '../../../src/forge/repositories/refs/repository-size.ts'
import { NO_QUOTAS } from '../../support/app.ts'
import { openForge } from '../../support/forge.ts'

const mailDir = await mkdtemp(join(tmpdir(), 'branchline-mails-'))
afterAll(() => rm(mailDir, { recursive: true }))

const quotas = { ...NO_QUOTAS, account: 1_000_000, organization: 2_000_000 }
const { server, users, ask } = await openForge({ mailDir, settings: { quotas } })

/** Returns the recipients and subjects of all mails, when none waits. */
async function mails(): Promise<string[]> {
  const waiting = () => server.app.db.selectFrom('mails').select('id').execute()
  await expect.poll(waiting).toEqual([])
  const names = (await readdir(mailDir)).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(mailDir, name), 'utf8')))
  return texts.map((text) => {
    const [, to] = /^To: (.*)\r?$/m.exec(text) ?? []
    const [, subject] = /^Subject: (.*)\r?$/m.exec(text) ?? []
    return `${to}: ${subject}`
  })
}

/** Creates a release of a repository, and returns a function that uploads a file of it. */
async function uploaderOf(path: string) {
  await ask(users.bob, 'POST', `${path}/tags`, { tag_name: 'v1' })
  const { id } = await ask(users.bob, 'POST', `${path}/releases`, { tag_name: 'v1' })
  let count = 0
  return async (bytes: number): Promise<string> => {
    count += 1
    const form = new FormData()
    form.set('attachment', new Blob([new Uint8Array(bytes)]), `file${count}`)
    const { authorization } = users.bob
    const url = `${server.url}/api/v1${path}/releases/${id}/assets`
    const sent = await fetch(url, { method: 'POST', headers: { authorization }, body: form })
    expect(sent.status).toBe(201)
    const file = (await sent.json()) as { id: number }
    return `${path}/releases/${id}/assets/${file.id}`
  }
}

it('owners receive one mail at 80 % and one at 100 %, and again after deletions', async () => {
  await ask(users.bob, 'POST', '/user/repos', { name: 'files', auto_init: true })
  await finishMeasuring(server.app)
  const { used } = await ask(users.bob, 'GET', '/user/quota')
  const upload = await uploaderOf('/repos/bob/files')
  await upload(700_000)
  expect(await mails()).toEqual([])
  const second = await upload(120_000)
  const at80 = 'bob@example.org: The storage of bob is 80 % full'
  expect(await mails()).toEqual([at80])
  await upload(10_000)
  await upload(170_000 - used.size.repos.public)
  const at100 = 'bob@example.org: The storage of bob is 100 % full'
  expect((await mails()).sort()).toEqual([at100, at80])
  // Below 100 % and above 75 %: the next use of all bytes is no news.
  await ask(users.bob, 'DELETE', second)
  await upload(120_000)
  expect(await mails()).toHaveLength(2)
  await ask(users.bob, 'DELETE', '/repos/bob/files')
  await ask(users.bob, 'POST', '/user/repos', { name: 'again', auto_init: true })
  await (await uploaderOf('/repos/bob/again'))(850_000)
  expect((await mails()).sort()).toEqual([at100, at80, at80])
})

it('owners of an organisation receive its mails, and other members do not', async () => {
  const before = await mails()
  await ask(users.bob, 'POST', '/orgs', { username: 'guild' })
  await ask(users.bob, 'POST', '/orgs/guild/repos', { name: 'files', auto_init: true })
  const team = { name: 'crew', units_map: { 'repo.code': 'write' } }
  const { id } = await ask(users.bob, 'POST', '/orgs/guild/teams', team)
  await ask(users.bob, 'PUT', `/teams/${id}/members/carol`)
  await (await uploaderOf('/repos/guild/files'))(1_700_000)
  const mail = 'bob@example.org: The storage of guild is 80 % full'
  expect((await mails()).sort()).toEqual([...before, mail].sort())
})
