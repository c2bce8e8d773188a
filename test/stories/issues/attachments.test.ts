import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueAttachmentService } from '#gen/branchline/v1/issue_attachment_service_pb.ts'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { sweepUploads } from '../../../src/forge/conversations/unlinked-uploads.ts'
import { backUp, restoreTo } from '../../support/backups.ts'
import { databaseOf } from '../../support/database.ts'
import {
  createPullTestUsers,
  type PullTestUsers,
  pullForge,
  refusalOf,
} from '../../support/pull-forge.ts'
import { restAt } from '../../support/rest.ts'
import {
  type Actor,
  createToken,
  PASSWORD,
  RPC_PROTOCOLS,
  signIn,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

/** The limit of the test server. */
const MAX_BYTES = 1024 * 1024

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
/** A stranger. */
let dave: Actor

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  const fields = { username: 'dave', email: 'dave@example.org', password: PASSWORD }
  await forge.ask(users.ada, 'POST', '/admin/users', { ...fields, must_change_password: false })
  dave = await signIn(server.url, 'dave')
})
afterAll(() => server.stop())

/** Makes a repository of bob's with an issue of eve's. carol may write to it. */
async function fresh(name: string, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  const poster = 'private' in fields ? users.carol : users.eve
  await forge.ask(poster, 'POST', `${path}/issues`, { title: 'one' })
  return path
}

type Who = Pick<Actor, 'authorization'> | undefined

/** Uploads raw bytes, or a form. */
async function upload(who: Who, path: string, content: NonNullable<RequestInit['body']> | null) {
  const isForm = content instanceof FormData
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: {
      ...(!isForm && { 'content-type': 'application/octet-stream' }),
      ...(who && { authorization: who.authorization }),
    },
    body: content,
  })
  // biome-ignore lint/suspicious/noExplicitAny: as in support/rest.ts
  return { status: response.status, body: (await response.json()) as any }
}

function formOf(name: string, content: string, field = 'attachment'): FormData {
  const form = new FormData()
  form.append(field, new Blob([content]), name)
  return form
}

async function download(who: Who, url: string, headers: object = {}) {
  const response = await fetch(url, {
    headers: { ...headers, ...(who && { authorization: who.authorization }) },
    redirect: 'manual',
  })
  const { status } = response
  return { status, headers: response.headers, text: await response.text() }
}

/** The number of files, whoever they belong to. */
async function filesCount(): Promise<number> {
  const folder = join(server.data, 'attachments')
  if (!existsSync(folder)) return 0
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).length
}

describe('an attachment of an issue', () => {
  it('is uploaded, listed, read, renamed, downloaded and deleted', async () => {
    const path = await fresh('plain')
    const assets = `${path}/issues/1/assets`
    const files = await filesCount()
    const made = await upload(users.eve, assets, formOf('shot.png', 'picture'))
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      id: expect.any(Number),
      name: 'shot.png',
      size: 7,
      download_count: 0,
      created_at: expect.stringMatching(/^20.*Z$/),
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      browser_download_url: `${server.url}/attachments/${made.body.uuid}`,
    })
    const raw = await upload(users.carol, `${assets}?name=run.log`, 'lines')
    expect([raw.status, raw.body.name, raw.body.size]).toEqual([201, 'run.log', 5])
    const list = await forge.rest(undefined, 'GET', assets)
    expect([list.status, list.body]).toEqual([200, [made.body, raw.body]])
    const one = `${assets}/${made.body.id}`
    expect((await forge.rest(undefined, 'GET', one)).body).toEqual(made.body)
    expect((await forge.ask(users.bob, 'GET', `${path}/issues/1`)).assets).toEqual(list.body)
    const [listed] = await forge.ask(users.bob, 'GET', `${path}/issues`)
    expect(listed.assets).toEqual(list.body)

    const renamed = await forge.rest(users.eve, 'PATCH', one, { name: 'new.png' })
    expect([renamed.status, renamed.body.name]).toEqual([201, 'new.png'])
    const unchanged = await forge.rest(users.eve, 'PATCH', one, { name: '' })
    expect([unchanged.status, unchanged.body.name]).toEqual([201, 'new.png'])

    const url = made.body.browser_download_url
    expect((await download(undefined, url)).text).toBe('picture')
    const [, , owner, repo] = path.split('/')
    const long = `${server.url}/${owner}/${repo}/attachments/${made.body.uuid}`
    expect((await download(undefined, long)).text).toBe('picture')
    expect((await forge.rest(users.eve, 'DELETE', one)).status).toBe(204)
    expect((await download(users.eve, url)).status).toBe(404)
    expect((await forge.rest(users.eve, 'GET', one)).status).toBe(404)
    await server.app.background.settled()
    expect(await filesCount()).toBe(files + 1)
  })

  it('is refused without a file, above the size limit, and with a bad name', async () => {
    const path = await fresh('refused')
    const assets = `${path}/issues/1/assets`
    const files = await filesCount()
    const statuses = async (
      uploads: readonly (readonly [string, Parameters<typeof upload>[2]])[],
    ) =>
      Promise.all(
        uploads.map(async ([query, content]) => {
          const { status, body } = await upload(users.eve, `${assets}${query}`, content)
          return [status, body.reason ?? body.message]
        }),
      )
    const noFile = [422, '[Attachment]: Required']
    expect(
      await statuses([
        ['', formOf('a.png', 'x', 'other')],
        ['', new FormData()],
        ['?name=a.png', null],
      ]),
    ).toEqual([noFile, noFile, noFile])
    const large = 'x'.repeat(MAX_BYTES + 1)
    const tooLarge = [413, `a file can have at most ${MAX_BYTES} bytes`]
    expect(
      await statuses([
        ['', formOf('a.png', large)],
        ['?name=a.png', large],
      ]),
    ).toEqual([tooLarge, tooLarge])
    const names = ['', '..', 'a/b', 'a\nb', 'ü'.repeat(256)]
    for (const name of names) {
      const refused = await upload(users.eve, `${assets}?name=${encodeURIComponent(name)}`, 'x')
      expect([name, refused.status]).toEqual([name, 422])
    }
    const longest = encodeURIComponent('ü'.repeat(255))
    const accepted = await upload(users.eve, `${assets}?name=${longest}`, 'x')
    expect(accepted.status).toBe(201)
    const one = `${assets}/${accepted.body.id}`
    expect((await forge.rest(users.eve, 'PATCH', one, { name: 'a/b' })).status).toBe(422)
    expect((await forge.rest(users.eve, 'PATCH', one, { name: 'a.exe' })).status).toBe(422)
    const program = await upload(users.eve, assets, formOf('setup.EXE', 'MZ'))
    expect([program.status, program.body.message]).toEqual([
      422,
      'files of this type are not allowed, only: */*',
    ])
    expect(await filesCount()).toBe(files + 1)
  })

  it('is one of at most 250 of the issue and its comments', async () => {
    const path = await fresh('many')
    const assets = `${path}/issues/1/assets`
    await upload(users.eve, `${assets}?name=x`, 'x')
    const { db } = server.app
    const { id: _, ...row } = await db
      .selectFrom('issue_attachments')
      .selectAll()
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow()
    const rows = Array.from({ length: 248 }, (_, i) => ({ ...row, uuid: `many-${i}` }))
    await db.insertInto('issue_attachments').values(rows).execute()
    expect((await upload(users.eve, `${assets}?name=last`, 'x')).status).toBe(201)
    const refused = await upload(users.eve, `${assets}?name=more`, 'x')
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'the limit of 250 attachments has been reached',
    ])
    await db.deleteFrom('issue_attachments').where('uuid', 'like', 'many-%').execute()
  })

  it('is an edit of the issue that leaves the version of its text', async () => {
    const path = await fresh('edited')
    const before = await forge.ask(users.bob, 'GET', `${path}/issues/1`)
    await server.app.db
      .updateTable('issues')
      .set({ update_time: 1 })
      .where('id', '=', before.id)
      .execute()
    await upload(users.eve, `${path}/issues/1/assets?name=x`, 'x')
    const after = await forge.ask(users.bob, 'GET', `${path}/issues/1`)
    expect(after.content_version).toBe(before.content_version)
    expect(Date.parse(after.updated_at)).toBeGreaterThan(1000)
  })

  it('is changed by the author and by writers only, and while the repository is not archived', async () => {
    const path = await fresh('rights')
    const assets = `${path}/issues/1/assets`
    const { body } = await upload(users.eve, `${assets}?name=x`, 'x')
    const one = `${assets}/${body.id}`
    const tries = async (who: Who) => [
      (await upload(who, `${assets}?name=y`, 'y')).status,
      (await forge.rest(who, 'PATCH', one, { name: 'z' })).status,
      (await forge.rest(who, 'DELETE', `${assets}/999999`)).status,
    ]
    expect(await tries(undefined)).toEqual([401, 401, 401])
    expect(await tries(dave)).toEqual([403, 403, 403])
    expect(await tries(users.carol)).toEqual([201, 201, 404])
    expect(await tries(users.eve)).toEqual([201, 201, 404])
    await forge.ask(users.bob, 'PUT', `${path}/issues/1/lock`, {})
    expect(await tries(users.eve)).toEqual([403, 403, 404])
    expect(await tries(users.carol)).toEqual([201, 201, 404])
    await forge.ask(users.bob, 'DELETE', `${path}/issues/1/lock`)
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    expect(await tries(users.eve)).toEqual([423, 423, 423])
    expect(await tries(users.bob)).toEqual([423, 423, 423])
    expect((await forge.rest(dave, 'GET', assets)).status).toBe(200)
  })

  it('needs the scope of issues', async () => {
    const path = await fresh('scopes')
    const { body } = await upload(users.eve, `${path}/issues/1/assets?name=x`, 'x')
    const url = body.browser_download_url
    const status = async (...scopes: string[]) => {
      const authorization = `token ${await createToken(server.url, users.eve, scopes)}`
      return (await download({ authorization }, url)).status
    }
    expect(await status('read:issue')).toBe(200)
    expect(await status('read:repository')).toBe(403)
  })

  it('of another issue or repository is not found', async () => {
    const path = await fresh('elsewhere')
    const other = await fresh('other-place')
    await forge.ask(users.eve, 'POST', `${path}/issues`, { title: 'two' })
    const { body } = await upload(users.eve, `${path}/issues/1/assets?name=x`, 'x')
    for (const place of [`${path}/issues/2`, `${other}/issues/1`]) {
      const { status } = await forge.rest(users.bob, 'GET', `${place}/assets/${body.id}`)
      expect(status).toBe(404)
    }
    const [, , owner, repo] = other.split('/')
    const wrong = `${server.url}/${owner}/${repo}/attachments/${body.uuid}`
    expect((await download(users.bob, wrong)).status).toBe(404)
  })
})

describe('a download', () => {
  it('of a private issue is for its readers only', async () => {
    const path = await fresh('secret', { private: true })
    const { body } = await upload(users.carol, `${path}/issues/1/assets?name=x`, 'x')
    const statuses = [undefined, dave, users.carol].map(
      async (who) => (await download(who, body.browser_download_url)).status,
    )
    expect(await Promise.all(statuses)).toEqual([404, 404, 200])
  })

  it.each([
    ['a.png', 'image/png', 'inline'],
    ['a.JPG', 'image/jpeg', 'inline'],
    ['a.webp', 'image/webp', 'inline'],
    ['a.mp4', 'video/mp4', 'inline'],
    ['a.log', 'text/plain; charset=utf-8', 'inline'],
    ['a.svg', 'application/octet-stream', 'attachment'],
    ['a.html', 'application/octet-stream', 'attachment'],
    ['a.pdf', 'application/octet-stream', 'attachment'],
    ['a', 'application/octet-stream', 'attachment'],
  ])('of %s is safe for browsers', async (name, type, disposition) => {
    const path = await fresh(`safe-${name.replace('.', '-').toLowerCase()}`)
    const { body } = await upload(users.eve, `${path}/issues/1/assets?name=${name}`, '<script>')
    const { headers } = await download(undefined, body.browser_download_url)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': type,
      'content-disposition': expect.stringMatching(new RegExp(`^${disposition};`)),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, max-age=300',
      etag: `"${body.uuid}"`,
    })
  })

  it('can be of a part, and counts once', async () => {
    const path = await fresh('parts')
    const assets = `${path}/issues/1/assets`
    const { body } = await upload(users.eve, `${assets}?name=digits`, '0123456789')
    const url = body.browser_download_url
    const part = await download(undefined, url, { range: 'bytes=2-4' })
    expect([part.status, part.text]).toEqual([206, '234'])
    await fetch(url, { method: 'HEAD' })
    await download(undefined, url, { 'if-none-match': `"${body.uuid}"` })
    expect((await forge.ask(users.bob, 'GET', assets))[0].download_count).toBe(0)
    await download(undefined, url)
    await download(undefined, url, { range: 'bytes=0-1' })
    expect((await forge.ask(users.bob, 'GET', assets))[0].download_count).toBe(2)
    expect((await download(undefined, url, { range: 'bytes=10-' })).status).toBe(416)
  })
})

describe('an attachment of a comment', () => {
  it('is of the comment only, and for its author', async () => {
    const path = await fresh('comments')
    const comment = await forge.ask(dave, 'POST', `${path}/issues/1/comments`, { body: 'a' })
    const assets = `${path}/issues/comments/${comment.id}/assets`
    const made = await upload(dave, `${assets}?name=x`, 'x')
    expect(made.status).toBe(201)
    expect((await upload(users.eve, `${assets}?name=x`, 'x')).status).toBe(403)
    const issue = await forge.ask(users.bob, 'GET', `${path}/issues/1`)
    expect([issue.assets, issue.content_version]).toEqual([[], 0])
    expect(await forge.ask(users.bob, 'GET', assets)).toEqual([made.body])
    const read = await forge.ask(users.bob, 'GET', `${path}/issues/comments/${comment.id}`)
    expect(read.assets).toEqual([made.body])
    const [listed] = await forge.ask(users.bob, 'GET', `${path}/issues/1/comments`)
    expect(listed.assets).toEqual([made.body])
    const one = `${assets}/${made.body.id}`
    expect((await forge.rest(dave, 'PATCH', one, { name: 'y' })).status).toBe(201)
    const ofIssue = `${path}/issues/1/assets/${made.body.id}`
    expect((await forge.rest(users.bob, 'GET', ofIssue)).status).toBe(404)
    expect((await forge.rest(users.carol, 'DELETE', one)).status).toBe(204)
    expect((await forge.rest(users.bob, 'GET', one)).status).toBe(404)
  })
})

describe('a pull request', () => {
  it('has attachments as issues do', async () => {
    const { path } = await forge.repository(users.bob, 'of-pull')
    await forge.change(users.bob, path, 'change')
    const draft = { title: 'pull', base: 'main', head: 'change' }
    await forge.ask(users.bob, 'POST', `${path}/pulls`, draft)
    const { body } = await upload(users.bob, `${path}/issues/1/assets?name=x`, 'x')
    expect((await forge.ask(users.bob, 'GET', `${path}/issues/1`)).assets).toEqual([body])
    expect((await download(undefined, body.browser_download_url)).text).toBe('x')
    expect((await upload(dave, `${path}/issues/1/assets?name=x`, 'x')).status).toBe(403)
  })
})

describe('an upload', () => {
  it('belongs to its uploader until an issue or a comment takes it', async () => {
    const path = await fresh('uploads')
    const [one, two] = await Promise.all(
      ['a.png', 'b.png'].map((name) => upload(dave, `${path}/issue_uploads?name=${name}`, name)),
    )
    expect([one?.status, two?.status]).toEqual([201, 201])
    const url = one?.body.browser_download_url
    expect((await download(dave, url)).text).toBe('a.png')
    expect((await download(users.bob, url)).status).toBe(404)
    const attachments = [one?.body.uuid, one?.body.uuid]
    const draft = { title: 'with', attachments }
    expect((await forge.rest(users.eve, 'POST', `${path}/issues`, draft)).status).toBe(404)
    const other = await fresh('uploads-2')
    expect((await forge.rest(dave, 'POST', `${other}/issues`, draft)).status).toBe(404)
    const issue = await forge.ask(dave, 'POST', `${path}/issues`, draft)
    expect([issue.number, issue.assets]).toEqual([2, [{ ...one?.body, download_count: 1 }]])
    expect((await forge.rest(dave, 'POST', `${path}/issues`, draft)).status).toBe(404)
    expect((await download(users.bob, url)).text).toBe('a.png')
    const comment = await forge.ask(dave, 'POST', `${path}/issues/1/comments`, {
      body: 'with',
      attachments: [two?.body.uuid],
    })
    expect(comment.assets).toEqual([two?.body])
  })

  it('is deleted after a day, and one of at most 50', async () => {
    const path = await fresh('late')
    const { db } = server.app
    const { body } = await upload(dave, `${path}/issue_uploads?name=x`, 'x')
    const row = await db
      .selectFrom('issue_attachments')
      .select(['repository_id', 'uploader_id'])
      .where('uuid', '=', body.uuid)
      .executeTakeFirstOrThrow()
    const extra = { ...row, name: 'x', bytes: 0, create_time: Math.floor(Date.now() / 1000) }
    const rows = Array.from({ length: 49 }, (_, i) => ({ ...extra, uuid: `late-${i}` }))
    await db.insertInto('issue_attachments').values(rows).execute()
    const refused = await upload(dave, `${path}/issue_uploads?name=x`, 'x')
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'the limit of 50 attachments has been reached',
    ])
    await db
      .updateTable('issue_attachments')
      .set({ create_time: 1 })
      .where('issue_id', 'is', null)
      .execute()
    expect((await download(dave, body.browser_download_url)).status).toBe(404)
    const late = { title: 'late', attachments: [body.uuid] }
    expect((await forge.rest(dave, 'POST', `${path}/issues`, late)).status).toBe(404)
    // Files that other tests have deleted may still be on the way.
    await server.app.background.settled()
    const files = await filesCount()
    await sweepUploads(server.app)
    await server.app.background.settled()
    expect(await filesCount()).toBe(files - 1)
    expect((await upload(dave, `${path}/issue_uploads?name=x`, 'x')).status).toBe(201)
  })
})

describe('a deletion', () => {
  it('of a comment, an issue or a repository deletes the files', async () => {
    const path = await fresh('deleted')
    const files = await filesCount()
    const comment = () => forge.ask(dave, 'POST', `${path}/issues/1/comments`, { body: 'a' })
    const [first, second] = [await comment(), await comment()]
    for (const { id } of [first, second])
      await upload(dave, `${path}/issues/comments/${id}/assets?name=x`, 'x')
    await upload(users.eve, `${path}/issues/1/assets?name=x`, 'x')
    await upload(users.eve, `${path}/issue_uploads?name=x`, 'x')
    expect(await filesCount()).toBe(files + 4)
    await forge.ask(dave, 'DELETE', `${path}/issues/comments/${first.id}`)
    await server.app.background.settled()
    expect(await filesCount()).toBe(files + 3)
    await forge.ask(users.bob, 'DELETE', `${path}/issues/1`)
    await server.app.background.settled()
    expect(await filesCount()).toBe(files + 1)
    await forge.ask(users.bob, 'DELETE', path)
    await server.app.background.settled()
    expect(await filesCount()).toBe(files)
  })
})

describe('the data', () => {
  it('is complete after a restore, and the doctor finds files without rows and rows without files', async () => {
    const path = await fresh('kept')
    const content = randomBytes(100_000)
    const { body } = await upload(users.eve, `${path}/issues/1/assets?name=kept`, content)
    const gone = (await upload(users.eve, `${path}/issues/1/assets?name=gone`, 'x')).body
    const folder = join(server.data, 'attachments')
    const names = await readdir(folder, { recursive: true })
    await rm(join(folder, names.find((name) => name.endsWith(gone.uuid)) ?? ''))
    const restoredFolder = await mkdtemp(join(tmpdir(), 'branchline-'))
    const data = join(restoredFolder, 'restored')
    await restoreTo(data, await backUp(server.app), await databaseOf(data))
    const restored = await startTestServer({ data })
    const listed = await restAt(restored.url)(undefined, 'GET', `${path}/issues/1/assets`)
    expect(listed.body.map(({ uuid }: { uuid: string }) => uuid)).toEqual([body.uuid])
    const response = await fetch(`${restored.url}/attachments/${body.uuid}`)
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true)
    await restored.app.db.deleteFrom('issue_attachments').where('uuid', '=', body.uuid).execute()
    // A file whose deletion is queued is no problem.
    await restored.app.db.deleteFrom('storage_deletions').execute()
    const problems: string[] = []
    for (const app of [restored.app, server.app])
      for await (const { subject, problem } of examine(app, { fsck: false, fix: false }))
        problems.push(`${subject}: ${problem}`)
    expect(problems).toContain(`attachment ${body.uuid}: nothing leads to its file`)
    expect(problems).toContain(`attachment ${gone.uuid}: its file is missing`)
    await restored.stop()
    await rm(restoredFolder, { recursive: true })
    await forge.ask(users.eve, 'DELETE', `${path}/issues/1/assets/${gone.id}`)
  })
})

describe('the service', () => {
  it.each(
    RPC_PROTOCOLS.filter((protocol) => protocol !== 'gRPC-Web' && protocol !== 'Connect JSON'),
  )('takes uploads over %s', async (protocol) => {
    const path = await fresh(`over-${protocol.replace(' ', '-').toLowerCase()}`)
    const [, , owner = '', repo = ''] = path.split('/')
    const client = createClient(
      IssueAttachmentService,
      transportTo(server.url, protocol, users.eve.authorization),
    )
    const place = { owner, repo, index: 1n }
    const content = randomBytes(200_000)
    async function* parts() {
      yield { ...place, name: 'parts', attachment: { data: content.subarray(0, 100_000) } }
      yield { attachment: { data: content.subarray(100_000) } }
    }
    const made = await client.createIssueAttachment(parts())
    expect(made).toMatchObject({ name: 'parts', size: 200_000n })
    expect(await client.listIssueAttachments(place)).toMatchObject({ attachments: [made] })
    const chunks: Uint8Array[] = []
    for await (const { data } of client.downloadAttachment({ uuid: made.uuid })) chunks.push(data)
    expect(Buffer.concat(chunks).equals(content)).toBe(true)
    await client.deleteIssueAttachment({ ...place, id: made.id })
    expect(await refusalOf(client.getIssueAttachment({ ...place, id: made.id }))).toMatchObject({
      code: 'NotFound',
      reason: 'ATTACHMENT_NOT_FOUND',
    })
  })
})
