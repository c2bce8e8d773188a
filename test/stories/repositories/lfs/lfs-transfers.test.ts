import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { openForge, startForge } from '../../../support/forge.ts'
import { sendHttp1, sendHttp2 } from '../../../support/http-request.ts'
import { LFS_JSON, type LfsClient, lfsAt, lfsObject } from '../../../support/lfs.ts'
import { PASSWORD } from '../../../support/server.ts'

const { server, users, ask, rest } = await openForge()
const { ada, bob, carol } = users
const FILM = lfsObject('a film of the engine')
const EMPTY = lfsObject('')
let open: LfsClient
let hidden: LfsClient

beforeAll(async () => {
  await ask(bob, 'POST', '/user/repos', { name: 'open' })
  await ask(bob, 'POST', '/user/repos', { name: 'hidden', private: true })
  open = lfsAt(`${server.url}/bob/open.git`)
  hidden = lfsAt(`${server.url}/bob/hidden`)
})

/** Returns the action of the only object of a batch. */
async function actionOf(
  lfs: LfsClient,
  operation: 'download' | 'upload',
  object: { readonly oid: string; readonly size: number },
  who = bob,
) {
  const { status, body } = await lfs.batch(who, operation, [object])
  expect(status).toBe(200)
  const { href, header } = body.objects[0].actions[operation]
  return { href, header }
}

const put = (href: string, headers: Record<string, string>, body: string) =>
  fetch(href, { method: 'PUT', headers, body })

describe('a batch', () => {
  it('gives an upload a link, and needs none for an object that is there', async () => {
    const { status, headers, body } = await open.batch(bob, 'upload', [FILM, FILM])
    expect([status, headers.get('content-type')]).toEqual([200, LFS_JSON])
    expect(body).toMatchObject({ transfer: 'basic', hash_algo: 'sha256' })
    const base = `${server.url}/bob/open.git/info/lfs/objects/${FILM.oid}`
    const [first, second] = body.objects
    expect(first).toMatchObject({
      oid: FILM.oid,
      size: FILM.size,
      authenticated: true,
      actions: {
        upload: { href: `${base}/${FILM.size}`, expires_in: 3600 },
        verify: { href: `${base}/verify` },
      },
    })
    expect(second.oid).toBe(FILM.oid)
    await open.upload(bob, FILM.content)
    const { id } = await ask(bob, 'GET', '/user')
    await vi.waitFor(() => {
      const line = server.logged.findLast(({ lfs }) => lfs === 'upload')
      expect(line).toMatchObject({ repository: 'bob/open', status: 200, user: id })
    })
    const again = await open.batch(bob, 'upload', [FILM])
    expect(again.body.objects).toEqual([{ oid: FILM.oid, size: FILM.size }])
  })

  it('answers each object for itself', async () => {
    await open.upload(bob, FILM.content)
    const wanted = [
      { oid: FILM.oid.toUpperCase(), size: 1 },
      { oid: FILM.oid, size: -1 },
      { oid: FILM.oid, size: 2 ** 60 },
      { oid: FILM.oid, size: FILM.size + 1 },
      lfsObject('nowhere'),
      FILM,
      EMPTY,
    ]
    const { status, body } = await open.batch(undefined, 'download', wanted)
    expect(status).toBe(200)
    const codes = body.objects.map((object: { error?: { code: number } }) => object.error?.code)
    expect(codes).toEqual([422, 422, 422, 422, 404, undefined, undefined])
    const other = await open.batch(bob, 'upload', [FILM], { hash_algo: 'sha512' })
    expect(other.body.objects[0].error.code).toBe(409)
    const large = await open.batch(bob, 'upload', [{ oid: 'a'.repeat(64), size: 2 ** 30 }])
    expect(large.body.objects[0].error.code).toBe(413)
    for (const ref of [{}, null, { name: 'refs/heads/main' }])
      expect((await open.batch(bob, 'download', [FILM], { ref })).status).toBe(200)
  })

  it('refuses what is no batch', async () => {
    const send = (body: object) => open.send(bob, 'POST', 'objects/batch', body)
    expect((await send({ objects: [] })).status).toBe(422)
    expect((await send({ operation: 'look', objects: [] })).status).toBe(422)
    expect((await send({ operation: 'download' })).status).toBe(422)
    expect((await send([])).status).toBe(400)
    const objects = Array.from({ length: 1001 }, () => ({ oid: 'a'.repeat(64), size: 1 }))
    expect((await open.batch(bob, 'download', objects)).status).toBe(413)
    expect((await open.batch(bob, 'download', objects.slice(1))).status).toBe(200)
    expect(
      (await send({ operation: 'download', objects: [], padding: ' '.repeat(2 ** 21) })).status,
    ).toBe(413)
    const url = `${server.url}/bob/open.git/info/lfs/objects/batch`
    const headers = { authorization: bob.authorization, 'content-type': 'text/plain' }
    expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(415)
    const typed = { ...headers, 'content-type': 'application/json; charset=utf-8' }
    const accepting = { ...typed, accept: 'text/html' }
    expect((await fetch(url, { method: 'POST', headers: accepting, body: '{}' })).status).toBe(406)
    const missing = await fetch(url, { method: 'POST', headers: typed, body: '{' })
    expect([missing.status, await missing.json()]).toEqual([
      400,
      { message: 'the body is not JSON', request_id: expect.any(String) },
    ])
    expect((await open.send(bob, 'GET', 'objects/batch')).status).toBe(405)
    expect((await open.send(bob, 'GET', 'nothing')).status).toBe(404)
  })

  it('asks strangers for credentials, and hides what they may not see', async () => {
    const asked = [
      await hidden.batch(undefined, 'download', [FILM]),
      await open.batch(undefined, 'upload', [FILM]),
      await lfsAt(`${server.url}/bob/nothing`).batch(undefined, 'download', [FILM]),
      await hidden.batch({ authorization: 'Basic Ym9iOndyb25n' }, 'download', [FILM]),
    ]
    for (const { status, headers } of asked) {
      expect(status).toBe(401)
      expect(headers.get('lfs-authenticate')).toBe('Basic realm="Branchline"')
      expect(headers.get('www-authenticate')).toBe('Basic realm="Branchline"')
    }
    const { status, body } = await hidden.batch(carol, 'download', [FILM])
    expect([status, body.message]).toEqual([404, 'Repository not found'])
    expect((await open.batch(carol, 'upload', [FILM])).status).toBe(403)
    expect((await open.batch(carol, 'download', [FILM])).status).toBe(200)
  })

  it('keeps to the scopes of tokens', async () => {
    const authorization = `Basic ${Buffer.from(`bob:${PASSWORD}`).toString('base64')}`
    const token = async (name: string, scopes: string[]) => {
      const path = `${server.url}/api/v1/users/bob/tokens`
      const headers = { authorization, 'content-type': 'application/json' }
      const made = await fetch(path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ name, scopes }),
      })
      return { authorization: `token ${JSON.parse(await made.text()).sha1}` }
    }
    const reader = await token('reader', ['read:repository'])
    const pub = await token('public', ['write:repository', 'public-only'])
    expect((await hidden.batch(reader, 'download', [FILM])).status).toBe(200)
    expect((await hidden.batch(reader, 'upload', [FILM])).status).toBe(403)
    expect((await hidden.batch(pub, 'download', [FILM])).status).toBe(404)
    expect((await open.batch(pub, 'upload', [FILM])).status).toBe(200)
  })
})

describe('an upload', () => {
  it('is stored only if its content is that of the object', async () => {
    const part = lfsObject('the part that was measured')
    const { href, header } = await actionOf(hidden, 'upload', part)
    const wrong = await put(href, header, 'the part that was not here')
    expect([wrong.status, JSON.parse(await wrong.text()).message]).toEqual([
      422,
      'the content has another SHA-256',
    ])
    expect((await put(href, header, 'short')).status).toBe(422)
    expect((await put(href, header, `${part.content} and more`)).status).toBe(422)
    expect((await put(href, { ...header, 'content-encoding': 'gzip' }, part.content)).status).toBe(
      415,
    )
    const { body } = await hidden.batch(bob, 'download', [part])
    expect(body.objects[0].error.code).toBe(404)
    expect(await rowsOf(part.oid)).toEqual({ contents: 0, deletions: 0 })
    expect((await put(href, header, part.content)).status).toBe(200)
    expect(await rowsOf(part.oid)).toEqual({ contents: 1, deletions: 0 })
  })

  it('takes a body of unknown length, and cuts one that is too long', async () => {
    const part = lfsObject('sent in pieces')
    const { href, header } = await actionOf(hidden, 'upload', part)
    const chunked = { 'transfer-encoding': 'chunked', ...header }
    const long = await sendHttp1(href, {
      method: 'PUT',
      headers: chunked,
      body: 'x'.repeat(100_000),
    })
    expect(long.status).toBe(422)
    const sent = await sendHttp2(href, { method: 'PUT', headers: header, body: part.content })
    expect(sent.status).toBe(200)
  })

  it('needs the link of its object', async () => {
    const [one, other] = [lfsObject('one wheel'), lfsObject('another wheel')]
    const { href, header } = await actionOf(open, 'upload', one)
    const foreign = await actionOf(open, 'upload', other)
    const own = { authorization: bob.authorization }
    expect((await put(href, own, one.content)).status).toBe(403)
    expect((await put(href, {}, one.content)).status).toBe(401)
    expect((await put(href, foreign.header, one.content)).status).toBe(403)
    expect((await put(href, { authorization: 'Bearer branchline_lfs_e30.AA' }, '')).status).toBe(
      403,
    )
    expect((await put(href.replace('/open', '/hidden'), header, one.content)).status).toBe(403)
    const down = await open.upload(bob, one.content)
    const reading = await actionOf(open, 'download', down)
    expect((await put(href, reading.header, one.content)).status).toBe(403)
    // Somebody else's link, for a repository that its holder may not know.
    await ask(carol, 'POST', '/user/repos', { name: 'own' })
    const carols = lfsAt(`${server.url}/carol/own`)
    const hers = await actionOf(carols, 'upload', one, carol)
    const hiddenHref = href.replace('/open', '/hidden')
    expect((await put(hiddenHref, hers.header, one.content)).status).toBe(404)
    const verified = await open.send(own, 'POST', `objects/${one.oid}/verify`, one)
    expect(verified.status).toBe(403)
  })

  it('ends with the right of its link', async () => {
    await ask(carol, 'POST', '/user/repos', { name: 'shared', private: true })
    await ask(carol, 'PUT', '/repos/carol/shared/collaborators/bob', { permission: 'write' })
    const shared = lfsAt(`${server.url}/carol/shared`)
    const part = lfsObject('a shared part')
    const { href, header } = await actionOf(shared, 'upload', part)
    await ask(carol, 'PUT', '/repos/carol/shared/collaborators/bob', { permission: 'read' })
    expect((await put(href, header, part.content)).status).toBe(403)
    await ask(carol, 'DELETE', '/repos/carol/shared/collaborators/bob')
    expect((await put(href, header, part.content)).status).toBe(404)
    const own = await actionOf(shared, 'upload', part, carol)
    await ask(carol, 'PATCH', '/repos/carol/shared', { archived: true })
    const refused = await put(own.href, own.header, part.content)
    expect([refused.status, JSON.parse(await refused.text()).message]).toEqual([
      403,
      expect.stringContaining('This repo is archived.'),
    ])
  })

  it('is verified', async () => {
    const part = lfsObject('a verified part')
    const { body } = await open.batch(bob, 'upload', [part])
    const { upload, verify } = body.objects[0].actions
    const link = { authorization: verify.header.Authorization }
    const check = (size: number) => open.send(link, 'POST', verify.href, { oid: part.oid, size })
    expect((await check(part.size)).status).toBe(404)
    await put(upload.href, upload.header, part.content)
    expect((await check(part.size)).body).toEqual({})
    expect((await check(1)).status).toBe(422)
  })

  it('of nothing needs no row', async () => {
    const { href, header } = await actionOf(hidden, 'upload', EMPTY)
    expect((await put(href, header, '')).status).toBe(200)
    expect(await rowsOf(EMPTY.oid)).toEqual({ contents: 0, deletions: 0 })
    const down = await actionOf(hidden, 'download', EMPTY)
    const got = await fetch(down.href, { headers: down.header })
    expect([got.status, await got.text()]).toEqual([200, ''])
  })

  it('of two clients at once stores the right content', async () => {
    const part = lfsObject('a contested part')
    const { href, header } = await actionOf(open, 'upload', part)
    const contents = [part.content, 'A CONTESTED PART', part.content]
    const answers = await Promise.all(contents.map((content) => put(href, header, content)))
    expect(answers.map(({ status }) => status)).toEqual([200, 422, 200])
    const down = await actionOf(open, 'download', part)
    const got = await fetch(down.href, { headers: down.header })
    expect(
      createHash('sha256')
        .update(await got.text())
        .digest('hex'),
    ).toBe(part.oid)
  })
})

/** Returns the number of rows of a content. */
async function rowsOf(oid: string) {
  const { db } = server.app
  const contents = await db
    .selectFrom('lfs_contents')
    .select('oid')
    .where('oid', '=', oid)
    .execute()
  const deletions = await db
    .selectFrom('storage_deletions')
    .select('id')
    .where('object_key', 'like', `%${oid}`)
    .execute()
  return { contents: contents.length, deletions: deletions.length }
}

describe('a download', () => {
  it('gives the object, or a part of it', async () => {
    const part = await open.upload(bob, 'a part to download')
    const { href, header } = await actionOf(open, 'download', part)
    const get = (headers: Record<string, string>) =>
      fetch(href, { headers: { ...header, ...headers } })
    const whole = await get({})
    expect(await whole.text()).toBe('a part to download')
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'accept-ranges': 'bytes',
      etag: `"${part.oid}"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, max-age=31536000, immutable',
    })
    const some = await get({ range: 'bytes=2-5' })
    expect([some.status, await some.text(), some.headers.get('content-range')]).toEqual([
      206,
      'part',
      `bytes 2-5/${part.size}`,
    ])
    const beyond = await get({ range: 'bytes=100-' })
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([
      416,
      `bytes */${part.size}`,
    ])
    expect((await get({ range: 'bytes=0-1,3-4' })).status).toBe(200)
    expect((await get({ range: 'bytes=2-5', 'if-range': '"other"' })).status).toBe(200)
    expect((await get({ 'if-none-match': `"${part.oid}"` })).status).toBe(304)
    const head = await fetch(href, { method: 'HEAD', headers: header })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(part.size)])
    expect((await sendHttp2(href, { headers: header })).body).toBe('a part to download')
  })

  it('of a file that is gone is not found, and an upload repairs the object', async () => {
    const content = 'a part that gets lost'
    const part = await hidden.upload(bob, content)
    const key = `lfs/${part.oid.slice(0, 2)}/${part.oid.slice(2, 4)}/${part.oid}`
    await server.app.objects.of('disk').delete(key)
    const { body } = await hidden.batch(bob, 'download', [part])
    expect(body.objects[0].error.code).toBe(404)
    await hidden.upload(bob, content)
    const down = await actionOf(hidden, 'download', part)
    expect(await (await fetch(down.href, { headers: down.header })).text()).toBe(content)
  })

  it('of a renamed repository works under the former name', async () => {
    await ask(bob, 'POST', '/user/repos', { name: 'former' })
    const former = lfsAt(`${server.url}/bob/former.git`)
    const part = await former.upload(bob, 'a renamed part')
    await ask(bob, 'PATCH', '/repos/bob/former', { name: 'latter' })
    const { status, body } = await former.batch(undefined, 'download', [part])
    expect([status, body.objects[0].actions.download.href]).toEqual([
      200,
      `${server.url}/bob/latter.git/info/lfs/objects/${part.oid}`,
    ])
  })
})

describe('an object of another repository', () => {
  it('stays unknown, and its upload is read and verified', async () => {
    const secret = await hidden.upload(bob, 'a secret film')
    await ask(carol, 'POST', '/user/repos', { name: 'curious' })
    const curious = lfsAt(`${server.url}/carol/curious`)
    const nowhere = { oid: 'b'.repeat(64), size: secret.size }
    const [known, unknown] = await Promise.all(
      [secret, nowhere].map((object) => curious.batch(carol, 'download', [object])),
    )
    expect(known?.body.objects[0].error).toEqual(unknown?.body.objects[0].error)
    const { href, header } = await actionOf(curious, 'upload', secret, carol)
    expect((await put(href, header, 'x'.repeat(secret.size))).status).toBe(422)
    const wrongSize = await curious.batch(carol, 'upload', [{ oid: secret.oid, size: 1 }])
    expect(wrongSize.body.objects[0].actions).toBeDefined()
    const got = await curious.send(carol, 'GET', `objects/${secret.oid}`)
    expect(got.status).toBe(404)
  })

  it('is there at once in a fork, and in the parent once it can be read in the fork', async () => {
    await ask(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
    const engine = lfsAt(`${server.url}/bob/engine`)
    const part = await engine.upload(bob, 'a part of the engine')
    await ask(carol, 'POST', '/repos/bob/engine/forks', {})
    const fork = lfsAt(`${server.url}/carol/engine`)
    const { body } = await fork.batch(undefined, 'download', [part])
    expect(body.objects[0].actions.download).toBeDefined()
    const change = await fork.upload(carol, 'a change of the part')
    expect((await engine.batch(bob, 'download', [change])).body.objects[0].error.code).toBe(404)
    const stored = await engine.batch(bob, 'upload', [change])
    expect(stored.body.objects[0].actions).toBeUndefined()
    expect((await engine.batch(bob, 'download', [change])).body.objects[0].actions).toBeDefined()
    await ask(carol, 'DELETE', '/repos/carol/engine')
    const kept = await engine.batch(bob, 'download', [change, part])
    expect(kept.body.objects.every((object: { error?: object }) => !object.error)).toBe(true)
  })
})

describe('the objects of a deleted repository', () => {
  it('go a week after the last repository that has them', async () => {
    await ask(bob, 'POST', '/user/repos', { name: 'short' })
    const part = await lfsAt(`${server.url}/bob/short`).upload(bob, 'a short film')
    const sizes = async () =>
      (
        await server.app.db
          .selectFrom('repositories')
          .select('lfs_bytes')
          .where('name', '=', 'short')
          .execute()
      ).map(({ lfs_bytes }) => lfs_bytes)
    expect(await sizes()).toEqual([part.size])
    await ask(bob, 'DELETE', '/repos/bob/short')
    expect(await rowsOf(part.oid)).toEqual({ contents: 0, deletions: 1 })
    const key = `lfs/${part.oid.slice(0, 2)}/${part.oid.slice(2, 4)}/${part.oid}`
    expect(await server.app.objects.of('disk').size(key)).toBe(part.size)
    // An upload needs the content again.
    await hidden.upload(bob, 'a short film')
    expect(await rowsOf(part.oid)).toEqual({ contents: 1, deletions: 0 })
  })
})

describe('quotas', () => {
  it('bound the objects of all batches together, and each upload', async () => {
    const forge = await startForge()
    try {
      const { bob } = forge.users
      await forge.ask(bob, 'POST', '/user/repos', { name: 'small' })
      const lfs = lfsAt(`${forge.server.url}/bob/small`)
      const { db, settings } = forge.server.app
      Object.assign(settings, { quotas: { ...settings.quotas, repository: 100 } })
      const [one, other] = [lfsObject('x'.repeat(60)), lfsObject('y'.repeat(60))]
      const ask = async (...objects: (typeof one)[]) =>
        (await lfs.batch(bob, 'upload', objects)).status
      const both = await lfs.batch(bob, 'upload', [one, other])
      expect([both.status, both.body.message]).toEqual([413, expect.stringContaining('uota')])
      expect((await Promise.all([ask(one), ask(other)])).sort()).toEqual([200, 413])
      await db.deleteFrom('lfs_reservations').execute()
      // A client that repeats its request has reserved the bytes already.
      const late = await actionOf(lfs, 'upload', one, bob)
      expect([await ask(one), await ask(other)]).toEqual([200, 413])
      // The links of a batch have expired.
      await db.updateTable('lfs_reservations').set({ expire_time: 1 }).execute()
      const { href, header } = await actionOf(lfs, 'upload', other, bob)
      expect((await put(href, header, 'y'.repeat(60))).status).toBe(200)
      expect(await db.selectFrom('lfs_reservations').select('oid').execute()).toEqual([])
      expect((await put(late.href, late.header, 'x'.repeat(60))).status).toBe(413)
      expect(await ask(one)).toBe(413)
    } finally {
      await forge.stop()
    }
  })
})

describe('Git LFS that is off', () => {
  it('says so', async () => {
    const forge = await startForge({ settings: { lfs: false } })
    try {
      const lfs = lfsAt(`${forge.server.url}/bob/any`)
      const { status, body } = await lfs.batch(forge.users.bob, 'download', [FILM])
      expect([status, body.message]).toEqual([404, 'Git LFS is off'])
      const settings = await forge.rest(undefined, 'GET', '/settings/repository')
      expect(settings.body.lfs_disabled).toBe(true)
    } finally {
      await forge.stop()
    }
    expect((await rest(ada, 'GET', '/settings/repository')).body.lfs_disabled).toBe(false)
  })
})
