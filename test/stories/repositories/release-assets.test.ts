import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { type Client, createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import { writeBackup } from '../../../src/forge/administration/backup.ts'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { backUp, noProgress, restoreTo } from '../../support/backups.ts'
import { callerNamed } from '../../support/callers.ts'
import { databaseOf } from '../../support/database.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { restAt } from '../../support/rest.ts'
import {
  type Actor,
  RPC_PROTOCOLS,
  type RpcProtocol,
  startTestServer,
  transportTo,
} from '../../support/server.ts'

const MAX_BYTES = 1024 * 1024

const { server, users, rest } = await openForge({ settings: { maxAssetBytes: MAX_BYTES } })

/** Makes a repository of bob with a release, and returns the path of its assets. */
async function release(name: string, fields: object = {}, settings: object = {}): Promise<string> {
  await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true, ...settings })
  const { body } = await rest(users.bob, 'POST', `/repos/bob/${name}/releases`, {
    tag_name: 'v1',
    ...fields,
  })
  return `/repos/bob/${name}/releases/${body.id}/assets`
}

/** Uploads raw bytes, or whatever else fetch takes for content. */
async function upload(
  who: Pick<Actor, 'authorization'> | undefined,
  path: string,
  content: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = { 'content-type': 'application/octet-stream' },
) {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { ...headers, ...(who && { authorization: who.authorization }) },
    body: content,
    ...{ duplex: 'half' },
  })
  // biome-ignore lint/suspicious/noExplicitAny: as in support/rest.ts
  return { status: response.status, body: (await response.json()) as any }
}

/** What is downloaded from a URL. */
async function download(
  who: Pick<Actor, 'authorization'> | undefined,
  url: string,
  headers: object = {},
) {
  const response = await fetch(url, {
    headers: { ...headers, ...(who && { authorization: who.authorization }) },
  })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}

/** Files of attachments, whoever they belong to. */
async function storedFiles(): Promise<string[]> {
  const entries = await readdir(join(server.data, 'attachments'), {
    recursive: true,
    withFileTypes: true,
  })
  return entries.flatMap((entry) => (entry.isFile() ? join(entry.parentPath, entry.name) : []))
}

describe('a file of a release', () => {
  it('is uploaded, listed, read, renamed, downloaded and deleted', async () => {
    const path = await release('plain')
    const content = randomBytes(300_000)
    const made = await upload(users.bob, `${path}?name=engine%20%C3%BC.tar.gz`, content)
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      id: expect.any(Number),
      name: 'engine ü.tar.gz',
      size: 300_000,
      download_count: 0,
      created_at: expect.stringMatching(/^20.*Z$/),
      uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      browser_download_url: `${server.url}/attachments/${made.body.uuid}`,
    })
    expect((await rest(undefined, 'GET', path)).body).toEqual([made.body])
    expect((await rest(undefined, 'GET', `${path}/${made.body.id}`)).body).toEqual(made.body)
    expect((await rest(undefined, 'GET', path.replace('/assets', ''))).body.assets).toEqual([
      made.body,
    ])

    const url = made.body.browser_download_url
    const { status, headers, bytes } = await download(undefined, url)
    expect([status, bytes.equals(content)]).toEqual([200, true])
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="engine _.tar.gz"; filename*=UTF-8''engine%20%C3%BC.tar.gz`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'accept-ranges': 'bytes',
      'content-length': '300000',
    })
    const head = await fetch(url, { method: 'HEAD', headers: { range: 'bytes=0-9' } })
    expect([head.status, head.headers.get('content-length')]).toEqual([206, '10'])
    expect((await rest(undefined, 'GET', `${path}/${made.body.id}`)).body.download_count).toBe(1)

    const renamed = await rest(users.bob, 'PATCH', `${path}/${made.body.id}`, {
      name: 'engine.tgz',
    })
    expect([renamed.status, renamed.body]).toEqual([
      201,
      { ...made.body, download_count: 1, name: 'engine.tgz' },
    ])
    expect(
      (await rest(users.bob, 'PATCH', `${path}/${made.body.id}`, { name: '' })).body.name,
    ).toBe('engine.tgz')
    expect((await rest(users.bob, 'DELETE', `${path}/${made.body.id}`)).status).toBe(204)
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const gone = await rest(users.bob, method, `${path}/${made.body.id}`)
      expect([gone.status, gone.body.message]).toEqual([404, 'not found'])
    }
    expect((await download(undefined, url)).status).toBe(404)
    await server.app.background.settled()
    expect(await storedFiles()).toEqual([])
  })

  it('can be empty', async () => {
    const path = await release('empty')
    const { body } = await upload(users.bob, `${path}?name=nothing`, '')
    expect(body.size).toBe(0)
    expect((await download(undefined, body.browser_download_url)).bytes.length).toBe(0)
  })

  it.each<[range: string, status: number, expected: string, contentRange: string | null]>([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-30', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=8-30', 206, '89', 'bytes 8-9/10'],
    // What makes no sense, and what need not be understood, is ignored (RFC 9110 section 14.2).
    ['bytes=3-1', 200, '0123456789', null],
    ['bytes=0-1,3-4', 200, '0123456789', null],
    ['lines=0-1', 200, '0123456789', null],
    ['bytes=-', 200, '0123456789', null],
  ])('is downloaded in part for %s', async (range, status, expected, contentRange) => {
    const path = await release(`range-${range.replaceAll(/[^a-z0-9]/g, '-')}`)
    const { body } = await upload(users.bob, `${path}?name=digits`, '0123456789')
    const part = await download(undefined, body.browser_download_url, { range })
    expect([part.status, part.bytes.toString(), part.headers.get('content-range')]).toEqual([
      status,
      expected,
      contentRange,
    ])
  })

  it.each(['bytes=10-', 'bytes=-0', 'bytes=10-12'])('refuses the range %s', async (range) => {
    const path = await release(`beyond-${range.replaceAll(/[^a-z0-9]/g, '-')}`)
    const { body } = await upload(users.bob, `${path}?name=digits`, '0123456789')
    const { status, headers } = await download(undefined, body.browser_download_url, { range })
    expect([status, headers.get('content-range')]).toEqual([416, 'bytes */10'])
  })

  it('has a name that cannot end its header or begin another one', async () => {
    const path = await release('named')
    const { body } = await upload(
      users.bob,
      `${path}?name=${encodeURIComponent('a";x=\u0027%22*(😀).html')}`,
      '<b>',
    )
    const { headers } = await download(undefined, body.browser_download_url)
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'application/octet-stream',
      `attachment; filename="a_;x='_22*(_).html"; filename*=UTF-8''a%22%3Bx%3D%27%2522%2A%28%F0%9F%98%80%29.html`,
    ])
  })

  it('can be resumed by its entity tag, and is not sent again to a client that has it', async () => {
    const path = await release('tagged')
    const { body } = await upload(users.bob, `${path}?name=digits`, '0123456789')
    const url = body.browser_download_url
    const tag = (await download(undefined, url)).headers.get('etag') ?? ''
    const part = { range: 'bytes=4-' }
    expect((await download(undefined, url, { ...part, 'if-range': tag })).bytes.toString()).toBe(
      '456789',
    )
    expect(
      (await download(undefined, url, { ...part, 'if-range': '"other"' })).bytes.toString(),
    ).toBe('0123456789')
    for (const headers of [{}, part]) {
      const known = await download(undefined, url, {
        ...headers,
        'if-none-match': `"other", ${tag}`,
      })
      expect([known.status, known.bytes.length, known.headers.get('etag')]).toEqual([304, 0, tag])
      expect(known.headers.has('content-range')).toBe(false)
    }
    expect((await download(undefined, url, { 'if-none-match': '"other"' })).bytes.toString()).toBe(
      '0123456789',
    )
    expect((await rest(undefined, 'GET', `${path}/${body.id}`)).body.download_count).toBe(2)
  })

  it.each<[name: string, status: number, message: string]>([
    ['', 422, 'name is missing or not allowed'],
    ['..', 422, 'name is missing or not allowed'],
    ['a/b', 422, 'name is missing or not allowed'],
    ['a\\b', 422, 'name is missing or not allowed'],
    ['a\nb', 422, 'name is missing or not allowed'],
    ['ü'.repeat(128), 422, 'name is longer than 255 bytes'],
  ])('cannot have the name %j', async (name, status, message) => {
    const path = await release('misnamed')
    const existing = (await rest(users.bob, 'GET', '/repos/bob/misnamed/releases/tags/v1')).body
    const assets = path.includes('undefined')
      ? `/repos/bob/misnamed/releases/${existing.id}/assets`
      : path
    const refused = await upload(users.bob, `${assets}?name=${encodeURIComponent(name)}`, 'x')
    expect([refused.status, refused.body.message]).toEqual([status, message])
    if (name === '') return
    const { body } = await upload(users.bob, `${assets}?name=x`, 'x')
    expect((await rest(users.bob, 'PATCH', `${assets}/${body.id}`, { name })).status).toBe(status)
  })

  it('has a size limit, whether or not the client announces the size', async () => {
    const path = await release('large')
    const files = (await storedFiles()).length
    const announced = await upload(users.bob, `${path}?name=x`, Buffer.alloc(MAX_BYTES + 1))
    expect([announced.status, announced.body.message]).toEqual([
      413,
      `a file can have at most ${MAX_BYTES} bytes`,
    ])
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
    })
    const refused = await upload(users.bob, `${path}?name=x`, endless).catch(() => ({
      status: 413,
    }))
    expect(refused.status).toBe(413)
    expect(await storedFiles()).toHaveLength(files)
    expect((await upload(users.bob, `${path}?name=x`, Buffer.alloc(MAX_BYTES))).status).toBe(201)
  })

  it('counts towards a limit of the release', async () => {
    const path = await release('many')
    const release_id = Number(path.split('/').at(-2))
    const asset = { repository_id: 0, release_id, name: 'x', bytes: 0, create_time: 0 }
    const rows = Array.from({ length: 249 }, (_, i) => ({ ...asset, uuid: `many-${i}` }))
    await server.app.db.insertInto('release_assets').values(rows).execute()
    expect((await upload(users.bob, `${path}?name=last`, 'x')).status).toBe(201)
    const refused = await upload(users.bob, `${path}?name=more`, 'x')
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'a release can have at most 250 files',
    ])
    await server.app.db.deleteFrom('release_assets').where('uuid', 'like', 'many-%').execute()
  })

  it.each(
    RPC_PROTOCOLS.filter((protocol) => protocol !== 'gRPC-Web' && protocol !== 'Connect JSON'),
  )('is uploaded and downloaded over %s, too', async (protocol) => {
    const name = `over-${protocol.replace(' ', '-')}`
    const path = await release(name)
    const [, , owner = '', repo = '', , id = ''] = path.split('/')
    const client = clientOf(protocol, users.bob)
    const place = { owner, repo, id: BigInt(id) }
    async function* parts() {
      yield { ...place, name: 'parts', attachment: { data: Buffer.from('one ') } }
      yield { attachment: { data: Buffer.from('two') } }
    }
    const made = await client.createReleaseAsset(parts())
    expect(made).toMatchObject({ name: 'parts', size: 7n })
    expect(await client.listReleaseAssets(place)).toMatchObject({ assets: [made] })
    expect(await client.getReleaseAsset({ ...place, asset: made.id })).toEqual(made)
    const chunks: Uint8Array[] = []
    for await (const { data } of client.getAttachment({ uuid: made.uuid })) chunks.push(data)
    expect(Buffer.concat(chunks).toString()).toBe('one two')
    const renamed = await client.editReleaseAsset({ ...place, asset: made.id, name: 'whole' })
    expect(renamed).toMatchObject({ id: made.id, name: 'whole', downloadCount: 1n })
    await client.deleteReleaseAsset({ ...place, asset: made.id })
    const missing = client.getReleaseAsset({ ...place, asset: made.id })
    expect(await refusalOf(missing)).toMatchObject({ code: 'NotFound', reason: 'ASSET_NOT_FOUND' })
    const elsewhere = client.createReleaseAsset(once({ ...place, id: 0n, name: 'x' }))
    expect(await refusalOf(elsewhere)).toMatchObject({
      code: 'NotFound',
      reason: 'RELEASE_NOT_FOUND',
    })
    expect(await refusalOf(client.createReleaseAsset(once()))).toMatchObject({
      code: 'InvalidArgument',
      reason: 'INVALID_UPLOAD',
    })
  })
})

function clientOf(protocol: RpcProtocol, who: Actor): Client<typeof ReleaseService> {
  return createClient(ReleaseService, transportTo(server.url, protocol, who.authorization))
}

describe('a file in a form', () => {
  const form = (parts: readonly (readonly [name: string, content: string, file?: string])[]) => {
    const data = new FormData()
    for (const [name, content, file] of parts) {
      if (file === undefined) data.append(name, content)
      else data.append(name, new Blob([content]), file)
    }
    return data
  }

  it('is the field `attachment`, with the name of the form or of the query', async () => {
    const path = await release('form')
    const parts = form([
      ['note', 'ignored'],
      ['other', 'ignored', 'other.txt'],
      ['attachment', 'wanted', 'ü .txt'],
      ['attachment', 'ignored', 'second.txt'],
    ])
    const made = await upload(users.bob, path, parts, {})
    expect([made.status, made.body.name, made.body.size]).toEqual([201, 'ü .txt', 6])
    expect((await download(undefined, made.body.browser_download_url)).bytes.toString()).toBe(
      'wanted',
    )
    const named = await upload(
      users.bob,
      `${path}?name=mine.txt`,
      form([['attachment', 'x', 'x.txt']]),
      {},
    )
    expect(named.body.name).toBe('mine.txt')
    expect((await upload(users.bob, path, form([['attachment', '', 'empty']]), {})).body.size).toBe(
      0,
    )
  })

  it('can be large, and arrives unchanged', async () => {
    const path = await release('large-form')
    const content = randomBytes(1_000_000)
    const data = new FormData()
    data.append('attachment', new Blob([content]), 'large')
    const { body } = await upload(users.bob, path, data, {})
    expect((await download(undefined, body.browser_download_url)).bytes.equals(content)).toBe(true)
  })

  const BOUNDARY = 'multipart/form-data; boundary=edge'
  const PARTS = '--edge\r\nX: y\r\n\r\nz\r\n'.repeat(100)
  const HEAD = '--edge\r\nContent-Disposition: form-data; name="attachment"; filename="x"\r\n\r\n'
  it.each<[what: string, content: string, type: string, status: number]>([
    [
      'without the field',
      '--edge\r\nContent-Disposition: form-data; name="x"\r\n\r\nx\r\n--edge--\r\n',
      BOUNDARY,
      400,
    ],
    ['without anything', '', BOUNDARY, 400],
    ['without its end', `${HEAD}half`, BOUNDARY, 400],
    ['without content and its end', HEAD, BOUNDARY, 400],
    ['without a boundary', `${HEAD}x\r\n--edge--\r\n`, 'multipart/form-data', 400],
    ['of something else', 'nonsense', BOUNDARY, 400],
    ['with its end before the file', `--edge--\r\n${HEAD}x\r\n--edge--\r\n`, BOUNDARY, 400],
    ['of many parts', `${PARTS}${HEAD}x\r\n--edge--\r\n`, BOUNDARY, 400],
    ['of many parts behind the file', `${HEAD}x\r\n${PARTS}--edge--\r\n`, BOUNDARY, 400],
    [
      'with too much beside the file',
      `--edge\r\nContent-Disposition: form-data; name="x"\r\n\r\n${'x'.repeat(2 * MAX_BYTES)}`,
      BOUNDARY,
      413,
    ],
    [
      'with too much in the file',
      `${HEAD}${'x'.repeat(MAX_BYTES + 1)}\r\n--edge--\r\n`,
      BOUNDARY,
      413,
    ],
    [
      'whose file has no name',
      `--edge\r\nContent-Disposition: form-data; name="attachment"\r\n\r\nx\r\n--edge--\r\n`,
      BOUNDARY,
      422,
    ],
  ])('is refused %s', async (what, content, type, status) => {
    const path = await release(`form-${what.replaceAll(' ', '-')}`)
    const files = (await storedFiles()).length
    const refused = await upload(users.bob, path, content, { 'content-type': type })
    expect(refused.status).toBe(status)
    expect((await rest(undefined, 'GET', path)).body).toEqual([])
    expect(await storedFiles()).toHaveLength(files)
    expect((await upload(users.bob, `${path}?name=x`, 'x')).status).toBe(201)
  })
})

async function* once<T>(...items: T[]): AsyncGenerator<T> {
  yield* items
}

describe('a backup', () => {
  it('has the files of releases, but no rows of missing files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'branchline-'))
    const path = await release('backed-up')
    const content = randomBytes(100_000)
    const { body: kept } = await upload(users.bob, `${path}?name=kept`, content)
    const { body: gone } = await upload(users.bob, `${path}?name=gone`, 'x')
    const [file = ''] = (await storedFiles()).filter((name) => name.endsWith(gone.uuid))
    await rm(file)
    const data = join(folder, 'restored')
    await restoreTo(data, await backUp(server.app), await databaseOf(data))
    const restored = await startTestServer({ data })
    const listed = await restAt(restored.url)(undefined, 'GET', path)
    expect(listed.body.map(({ uuid }: { uuid: string }) => uuid)).toEqual([kept.uuid])
    const found = await download(undefined, `${restored.url}/attachments/${kept.uuid}`)
    expect(found.bytes.equals(content)).toBe(true)
    await restored.stop()
    await rm(folder, { recursive: true })
    await rest(users.bob, 'DELETE', `${path}/${gone.id}`)
  })
})

describe('a backup of a running server', () => {
  it('is complete, with or without files that are deleted at the same time', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'branchline-'))
    const path = await release('deleted-meanwhile')
    const others = await storedFiles()
    for (const name of ['one', 'two', 'three'])
      await upload(users.bob, `${path}?name=${name}`, randomBytes(100_000))
    const mine = (await storedFiles()).filter((file) => !others.includes(file))
    const parts: Buffer[] = []
    // As soon as the archive has the head of a file, that file goes.
    const output = new Writable({
      write(chunk: Buffer, _, done) {
        parts.push(chunk)
        const file = join(server.data, chunk.toString('latin1', 0, 100).replace(/\0.*/s, ''))
        if (mine.includes(file)) rmSync(file)
        done()
      },
    })
    await writeBackup(server.app, output, { version: '1.2.3', progress: noProgress() })
    const data = join(folder, 'restored')
    await restoreTo(data, Buffer.concat(parts), await databaseOf(data))
    const restored = await startTestServer({ data })
    const { body } = await restAt(restored.url)(undefined, 'GET', path)
    for (const { uuid, size } of body) {
      expect((await download(undefined, `${restored.url}/attachments/${uuid}`)).bytes.length).toBe(
        size,
      )
    }
    await restored.stop()
    await rm(folder, { recursive: true })
    await rest(users.bob, 'DELETE', path.replace('/assets', ''))
  })
})

describe('permission to download', () => {
  it.each<[who: string, fields: object, settings: object, status: number]>([
    ['nobody', {}, {}, 200],
    ['carol', {}, {}, 200],
    ['read:user', {}, {}, 403],
    ['nobody', {}, { private: true }, 404],
    ['carol', {}, { private: true }, 404],
    ['public-only', {}, { private: true }, 404],
    ['bob', {}, { private: true }, 200],
    ['nobody', { draft: true }, {}, 404],
    ['carol', { draft: true }, {}, 404],
    ['read:repository', { draft: true }, {}, 404],
    ['write:repository', { draft: true }, {}, 200],
    ['bob', {}, { has_releases: false }, 404],
    ['nobody', {}, { archived: true }, 200],
  ])('%s of a release %j in a repository %j: %i', async (who, fields, settings, status) => {
    const name = `of-${who.replace(':', '-')}-${Object.keys({ ...fields, ...settings }).join('-')}`
    const path = await release(name, fields, { private: 'private' in settings })
    const { body } = await upload(users.bob, `${path}?name=secret`, 'secret')
    await rest(users.bob, 'PATCH', `/repos/bob/${name}`, settings)
    const caller = await callerNamed(server.url, users, who)
    const found = await download(caller, body.browser_download_url)
    expect([found.status, found.bytes.includes('secret')]).toEqual([status, status === 200])
    // Missing and hidden are told alike.
    const missing = await download(
      caller,
      `${server.url}/attachments/00000000-0000-4000-8000-000000000000`,
    )
    if (status === 404) expect(found.bytes.toString()).toBe(missing.bytes.toString())
  })
})

describe('cleanup', () => {
  it('deletes the files of a deleted release and of a deleted repository', async () => {
    const files = await storedFiles()
    const kept = await release('kept-repository')
    const { body } = await upload(users.bob, `${kept}?name=x`, 'x')
    expect((await rest(users.bob, 'DELETE', kept.replace('/assets', ''))).status).toBe(204)
    expect((await download(users.bob, body.browser_download_url)).status).toBe(404)
    const again = await rest(users.bob, 'POST', '/repos/bob/kept-repository/releases', {
      tag_name: 'v1',
    })
    expect(again.body.assets).toEqual([])
    const gone = await release('gone-repository')
    await upload(users.bob, `${gone}?name=x`, 'x')
    expect((await rest(users.bob, 'DELETE', '/repos/bob/gone-repository')).status).toBe(204)
    await server.app.background.settled()
    expect(await storedFiles()).toEqual(files)
  })

  it.each<[what: string, type: string, head: string]>([
    ['as it is', 'application/octet-stream', ''],
    [
      'in a form',
      'multipart/form-data; boundary=edge',
      '--edge\r\nContent-Disposition: form-data; name="attachment"; filename="x"\r\n\r\n',
    ],
  ])('deletes an upload %s whose client disconnects', async (what, type, head) => {
    const path = await release(`cut-off-${what.replaceAll(' ', '-')}`)
    const files = await storedFiles()
    const aborting = new AbortController()
    const half = new ReadableStream({
      start: (controller) =>
        controller.enqueue(Buffer.concat([Buffer.from(head), Buffer.alloc(10_000)])),
      pull: async () => {
        while ((await storedFiles()).length === files.length) await new Promise(setImmediate)
        aborting.abort()
      },
    })
    const sent = fetch(`${server.url}/api/v1${path}?name=x`, {
      method: 'POST',
      headers: { authorization: users.bob.authorization, 'content-type': type },
      body: half,
      signal: aborting.signal,
      ...{ duplex: 'half' },
    })
    await expect(sent).rejects.toThrow()
    while ((await storedFiles()).length > files.length) await new Promise(setImmediate)
    expect((await rest(users.bob, 'GET', path)).body).toEqual([])
  })

  it('deletes an upload of a user who loses permission before its end', async () => {
    const path = await release('revoked')
    const collaborator = '/repos/bob/revoked/collaborators/carol'
    await rest(users.bob, 'PUT', collaborator, { permission: 'write' })
    const files = await storedFiles()
    const slow = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(10_000)),
      pull: async (controller) => {
        while ((await storedFiles()).length === files.length) await new Promise(setImmediate)
        await rest(users.bob, 'DELETE', collaborator)
        controller.close()
      },
    })
    expect((await upload(users.carol, `${path}?name=x`, slow)).status).toBe(403)
    expect((await rest(users.bob, 'GET', path)).body).toEqual([])
    expect(await storedFiles()).toEqual(files)
  })

  it('deletes an upload whose repository is deleted before its end', async () => {
    const path = await release('vanishing')
    const files = await storedFiles()
    const slow = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array(10_000)),
      pull: async (controller) => {
        while ((await storedFiles()).length === files.length) await new Promise(setImmediate)
        await rest(users.bob, 'DELETE', '/repos/bob/vanishing')
        controller.close()
      },
    })
    const refused = await upload(users.bob, `${path}?name=x`, slow)
    expect([refused.status, refused.body.message]).toEqual([404, 'not found'])
    expect(await storedFiles()).toEqual(files)
  })

  it('is finished by the doctor: a file without a row is removed, a row without a file is reported', async () => {
    const path = await release('examined')
    const { body } = await upload(users.bob, `${path}?name=x`, 'x')
    const [file = ''] = (await storedFiles()).filter((name) => name.endsWith(body.uuid))
    // As a kill between file and row leaves it.
    const orphan = join(file, '..', 'orphan')
    await writeFile(orphan, 'x')
    // Nobody's business: what operators and file systems put there.
    await mkdir(join(server.data, 'attachments', 'lost+found', 'x'), { recursive: true })
    await writeFile(join(server.data, 'attachments', '.keep'), '')
    await writeFile(join(server.data, 'attachments', 'lost+found', 'x', 'y'), '')
    const told = async (fix: boolean) => {
      const findings = []
      for await (const finding of examine(server.app, { fsck: false, fix })) findings.push(finding)
      return findings
    }
    const finding = { subject: 'attachment orphan', problem: 'nothing leads to its file' }
    expect(await told(false)).toEqual([{ ...finding, outcome: '--fix repairs it' }])
    expect((await download(users.bob, `${server.url}/attachments/orphan`)).status).toBe(404)
    expect(await told(true)).toEqual([{ ...finding, outcome: 'repaired' }])
    expect(await readFile(orphan).catch(({ code }) => code)).toBe('ENOENT')
    await rm(file)
    expect((await download(users.bob, body.browser_download_url)).status).toBe(404)
    expect(await told(true)).toMatchObject([
      { subject: `attachment ${body.uuid}`, problem: 'its file is missing' },
    ])
    await rest(users.bob, 'DELETE', `${path}/${body.id}`)
  })
})
