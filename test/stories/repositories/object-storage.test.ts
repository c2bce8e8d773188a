import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { abortEndedUploads } from '../../../src/forge/repositories/attachments/multipart-uploads.ts'
import { S3Store } from '../../../src/platform/objects/s3/s3-store.ts'
import { databaseOf, dropDatabaseOf } from '../../support/database.ts'
import { restAt } from '../../support/rest.ts'
import {
  addressOf,
  type FaultyProxy,
  type S3Server,
  s3Obstacle,
  startFaultyProxy,
  startS3Server,
} from '../../support/s3-server.ts'
import { createTestUsers, startTestServer, type TestServer } from '../../support/server.ts'

const obstacle = s3Obstacle()
const MIB = 1024 * 1024

let s3: S3Server
let proxy: FaultyProxy
let server: TestServer
let bob: { readonly authorization: string }
let rest: ReturnType<typeof restAt>

beforeAll(async () => {
  if (obstacle) return
  s3 = await startS3Server()
  proxy = await startFaultyProxy(s3.url)
  server = await startTestServer({
    objectStorage: addressOf(await s3.bucket('files', proxy.url)),
    objectStorageKeyFile: s3.keyFile,
    settings: { maxAssetBytes: 100 * MIB },
  })
  bob = (await createTestUsers(server.url)).bob
  rest = restAt(server.url)
}, 900_000)
afterAll(async () => {
  if (obstacle) return
  await server.stop()
  await dropDatabaseOf(server.data)
  await rm(server.data, { recursive: true })
  await proxy.stop()
  await s3.stop()
})

/** Creates a repository with a release, and returns the path of its assets. */
async function release(name: string): Promise<string> {
  await rest(bob, 'POST', '/user/repos', { name, auto_init: true })
  const { id } = (await rest(bob, 'POST', `/repos/bob/${name}/releases`, { tag_name: 'v1' })).body
  return `/repos/bob/${name}/releases/${id}/assets`
}

async function upload(path: string, content: Buffer<ArrayBuffer>) {
  const answer = await fetch(`${server.url}/api/v1${path}?name=x.bin`, {
    method: 'POST',
    headers: { ...bob, 'content-type': 'application/octet-stream' },
    body: content,
  })
  const body = JSON.parse(await answer.text())
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body }
}

async function download(url: string, headers: object = {}) {
  const answer = await fetch(url, { headers: { ...bob, ...headers } })
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) }
}

/** The keys of the objects, without those of the instance itself. */
async function stored(): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of server.app.objects.current.list('attachments/')) keys.push(key)
  return keys
}

describe.skipIf(obstacle)(`files in an object storage${obstacle ? ` (${obstacle})` : ''}`, () => {
  it('are uploaded, read in whole and in part, and deleted with their release and repository', async () => {
    const path = await release('engine')
    const content = randomBytes(80 * MIB)
    const { status, body } = await upload(path, content)
    expect([status, body.size]).toEqual([201, content.length])
    expect((await download(body.browser_download_url)).bytes.equals(content)).toBe(true)
    const part = await download(body.browser_download_url, { range: 'bytes=1000-1999' })
    expect([part.status, part.bytes.equals(content.subarray(1000, 2000))]).toEqual([206, true])
    expect(await readdir(join(server.data, 'incoming'))).toEqual([])
    await expect(readdir(join(server.data, 'attachments'))).rejects.toThrow('ENOENT')
    await upload(path, Buffer.from('another one'))
    expect(await stored()).toHaveLength(2)
    expect((await rest(bob, 'DELETE', `${path}/${body.id}`)).status).toBe(204)
    expect((await download(body.browser_download_url)).status).toBe(404)
    await server.app.background.settled()
    expect(await stored()).toHaveLength(1)
    await rest(bob, 'DELETE', '/repos/bob/engine')
    await server.app.background.settled()
    expect(await stored()).toEqual([])
  })

  it('follow a transferred issue', async () => {
    for (const name of ['pump', 'valve']) await rest(bob, 'POST', '/user/repos', { name })
    await rest(bob, 'POST', '/repos/bob/pump/issues', { title: 'Leak' })
    const { body } = await upload('/repos/bob/pump/issues/1/assets', Buffer.from('a picture'))
    const there = { owner: 'bob', repo: 'valve' }
    await rest(bob, 'POST', '/repos/bob/pump/issues/1:transfer', there)
    await rest(bob, 'DELETE', '/repos/bob/pump')
    await server.app.background.settled()
    expect((await download(body.browser_download_url)).bytes.toString()).toBe('a picture')
    expect(await stored()).toHaveLength(1)
    await rest(bob, 'DELETE', '/repos/bob/valve')
    await server.app.background.settled()
  })

  it('are not stored where the upload is cut or too large', async () => {
    const path = await release('cut')
    const large = await upload(path, Buffer.alloc(101 * MIB))
    expect(large.status).toBe(413)
    expect((await rest(bob, 'GET', path)).body).toEqual([])
    expect(await stored()).toEqual([])
  })

  it('are not there while the storage is away, and everything else is', async () => {
    const path = await release('away')
    const { body } = await upload(path, Buffer.from('content'))
    await s3.halt()
    const calls = [1, 2, 3].map(() => download(body.browser_download_url))
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([503, 503, 503])
    const refused = await upload(path, Buffer.from('more'))
    expect([refused.status, refused.retryAfter]).toEqual([503, '10'])
    expect(refused.body.message).toBe('the storage of files does not answer; try again soon')
    const ready = await fetch(`${server.url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([200, 'ready\nstorage: away\n'])
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toMatch(/^branchline_object_storage_away 1$/m)
    expect(metrics).toMatch(
      /^branchline_object_storage_requests_total\{method="GET",outcome="failed"\} /m,
    )
    expect((await rest(bob, 'GET', path)).body).toHaveLength(1)
    // The row goes at once, and the content when the storage is back.
    expect((await rest(bob, 'DELETE', `${path}/${body.id}`)).status).toBe(204)
    await server.app.background.settled()
    await s3.resume()
    await expect
      .poll(async () => (await upload(path, Buffer.from('again'))).status, { interval: 500 })
      .toBe(201)
    expect(await (await fetch(`${server.url}/readyz`)).text()).toBe('ready\n')
    const told = server.logged.filter(({ msg }) => String(msg).startsWith('the object storage'))
    expect(told.filter(({ msg }) => String(msg).endsWith('is unavailable'))).toHaveLength(1)
    const rows = await server.app.db
      .selectFrom('storage_deletions')
      .selectAll()
      .where('object_key', 'like', `%${body.uuid}`)
      .execute()
    expect(rows).toMatchObject([{ store: 's3', tries: 1 }])
  })

  it('leave no parts behind where a server was killed', async () => {
    const { current } = server.app.objects
    if (!(current instanceof S3Store)) throw new Error('the files are on the disk')
    await current.client.send({ method: 'POST', key: 'attachments/1/x', query: { uploads: '' } })
    const [upload] = await current.uploads.list()
    const row = { server_id: 999_999, object_key: 'attachments/1/x', create_time: 0 }
    await server.app.db
      .insertInto('multipart_uploads')
      .values({ ...row, upload_id: upload?.uploadId ?? '' })
      .execute()
    await abortEndedUploads(server.app, 0)
    expect(await current.uploads.list()).toEqual([])
    expect(await server.app.db.selectFrom('multipart_uploads').selectAll().execute()).toEqual([])
  })

  it('belong to one instance, and are found again after a restart', async () => {
    const storage = {
      objectStorage: addressOf(`s3://files/forge?endpoint=${s3.url}`),
      objectStorageKeyFile: s3.keyFile,
    }
    await expect(startTestServer(storage)).rejects.toThrow('belongs to another instance')
    const path = await release('kept')
    const { body } = await upload(path, Buffer.from('content'))
    await server.close(0)
    server = await startTestServer({
      ...storage,
      data: server.data,
      database: await databaseOf(server.data),
    })
    const url = `${server.url}${new URL(body.browser_download_url).pathname}`
    expect((await download(url)).bytes.toString()).toBe('content')
  })
})
