import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lfsAt, lfsObject, pointerOf } from '../../../support/lfs.ts'
import { restAt } from '../../../support/rest.ts'
import { addressOf, type S3Server, s3Obstacle, startS3Server } from '../../../support/s3-server.ts'
import { createTestUsers, startTestServer, type TestServer } from '../../../support/server.ts'

const obstacle = s3Obstacle()

let s3: S3Server
let server: TestServer
let bob: { readonly authorization: string }
let carol: { readonly authorization: string }

beforeAll(async () => {
  if (obstacle) return
  s3 = await startS3Server()
  server = await startTestServer({
    objectStorage: addressOf(await s3.bucket('films', s3.url)),
    objectStorageKeyFile: s3.keyFile,
    objectStorageDirect: true,
  })
  ;({ bob, carol } = await createTestUsers(server.url))
  const rest = restAt(server.url)
  await rest(bob, 'POST', '/user/repos', { name: 'films', private: true })
  await rest(carol, 'POST', '/user/repos', { name: 'other' })
}, 900_000)
afterAll(async () => {
  if (obstacle) return
  await server.stop()
  await s3.stop()
})

const put = (action: { href: string; header: Record<string, string> }, body: string) =>
  fetch(action.href, { method: 'PUT', headers: action.header, body })

describe.skipIf(obstacle)(
  `transfers of Git LFS with the store${obstacle ? ` (${obstacle})` : ''}`,
  () => {
    it('take the bytes of the object only, and need a verification', async () => {
      const films = lfsAt(`${server.url}/bob/films`)
      const film = lfsObject('a film for the store')
      const { body } = await films.batch(bob, 'upload', [film])
      const { upload, verify } = body.objects[0].actions
      expect(new URL(upload.href).origin).toBe(s3.url)
      expect(upload.header).not.toHaveProperty('Authorization')
      const link = { authorization: verify.header.Authorization }
      const asked = { oid: film.oid, size: film.size }
      expect((await films.send(link, 'POST', verify.href, asked)).status).toBe(404)
      expect((await put(upload, 'a film of others')).status).toBe(400)
      expect((await put(upload, film.content)).status).toBe(200)
      expect((await films.batch(bob, 'download', [film])).body.objects[0].error.code).toBe(404)
      for (let i = 0; i < 2; i++)
        expect((await films.send(link, 'POST', verify.href, asked)).status).toBe(200)
      const { download } = (await films.batch(bob, 'download', [film])).body.objects[0].actions
      expect(new URL(download.href).origin).toBe(s3.url)
      expect(download.header).toEqual({})
      const content = await fetch(download.href)
      expect([await content.text(), content.headers.get('content-type')]).toEqual([
        film.content,
        'application/octet-stream',
      ])
      const left = await server.app.objects.current.list('incoming/').next()
      expect(left.done).toBe(true)
      expect(JSON.stringify(server.logged)).not.toMatch(/X-Amz|Signature/)
    })

    it('send those who read a file to its object in the store, but not pages', async () => {
      const film = await lfsAt(`${server.url}/bob/films`).upload(bob, 'a film of a path')
      const content = Buffer.from(pointerOf(film)).toString('base64')
      const path = '/repos/bob/films/contents/a film.bin'
      const rest = restAt(server.url)
      expect((await rest(bob, 'POST', path, { content, message: 'Film' })).status).toBe(201)
      const media = `${server.url}/api/v1/repos/bob/films/media/a%20film.bin`
      const ask = (headers: object, method = 'GET') =>
        fetch(media, { method, redirect: 'manual', headers: { ...bob, ...headers } })
      const sent = await ask({})
      expect([sent.status, sent.headers.get('cache-control')]).toEqual([302, 'no-store'])
      const location = sent.headers.get('location') ?? ''
      expect(new URL(location).origin).toBe(s3.url)
      const part = await fetch(location, { headers: { range: 'bytes=2-5' } })
      expect([part.status, await part.text()]).toEqual([206, 'film'])
      expect(part.headers.get('content-disposition')).toContain('attachment; filename="a film.bin"')
      const head = await ask({}, 'HEAD')
      const there = await fetch(head.headers.get('location') ?? '', { method: 'HEAD' })
      expect([head.status, there.headers.get('content-length')]).toEqual([302, '16'])
      for (const use of ['image', 'empty'])
        expect(await (await ask({ 'sec-fetch-dest': use })).text()).toBe('a film of a path')
      expect((await ask({ 'if-none-match': `"${film.oid}"` })).status).toBe(304)
      expect((await fetch(media, { redirect: 'manual' })).status).toBe(404)
    })

    it('give nobody an object whose bytes somebody else has sent', async () => {
      const film = await lfsAt(`${server.url}/bob/films`).upload(bob, 'a secret film')
      const other = lfsAt(`${server.url}/carol/other`)
      const { body } = await other.batch(carol, 'upload', [film])
      const { verify } = body.objects[0].actions
      const link = { authorization: verify.header.Authorization }
      const asked = { oid: film.oid, size: film.size }
      expect((await other.send(link, 'POST', verify.href, asked)).status).toBe(404)
      expect((await other.batch(carol, 'download', [film])).body.objects[0].error.code).toBe(404)
    })
  },
)
