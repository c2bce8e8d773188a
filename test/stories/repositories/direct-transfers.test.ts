import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

let s3: S3Server
let proxy: FaultyProxy
let server: TestServer
let bob: { readonly authorization: string }
let rest: ReturnType<typeof restAt>

beforeAll(async () => {
  if (obstacle) return
  s3 = await startS3Server()
  proxy = await startFaultyProxy(s3.url)
  server = await startTestServer(optionsFor(await s3.bucket('files', proxy.url)))
  bob = (await createTestUsers(server.url)).bob
  rest = restAt(server.url)
}, 900_000)
afterAll(async () => {
  if (obstacle) return
  await server.stop()
  await proxy.stop()
  await s3.stop()
})

function optionsFor(address: string) {
  return {
    objectStorage: addressOf(address),
    objectStorageKeyFile: s3.keyFile,
    objectStorageDirect: true,
  }
}

async function upload(path: string, name: string, content: string) {
  const answer = await fetch(`${server.url}/api/v1${path}?name=${encodeURIComponent(name)}`, {
    method: 'POST',
    headers: { ...bob, 'content-type': 'application/octet-stream' },
    body: content,
  })
  return JSON.parse(await answer.text())
}

/** Creates a private repository with a release that has a file. @returns the file. */
async function asset(repo: string, name: string, content: string) {
  await rest(bob, 'POST', '/user/repos', { name: repo, auto_init: true, private: true })
  const path = `/repos/bob/${repo}/releases`
  const { id } = (await rest(bob, 'POST', path, { tag_name: 'v1' })).body
  return { file: await upload(`${path}/${id}/assets`, name, content), path: `${path}/${id}/assets` }
}

async function ask(url: string, init: RequestInit = {}) {
  const answer = await fetch(url, { redirect: 'manual', ...init })
  const header = (name: string) => answer.headers.get(name)
  return { status: answer.status, header, text: await answer.text() }
}

describe.skipIf(obstacle)(`direct transfers${obstacle ? ` (${obstacle})` : ''}`, () => {
  it('send those who may read a file to the store, and count the download', async () => {
    const { file, path } = await asset('engine', 'Füße "1".bin', 'content')
    const url = file.browser_download_url
    expect((await ask(url)).status).toBe(404)
    const sent = await ask(url, { headers: bob })
    expect([sent.status, sent.header('cache-control'), sent.text]).toEqual([302, 'no-store', ''])
    const location = sent.header('location') ?? ''
    expect(new URL(location).origin).toBe(proxy.url)
    expect(location).not.toContain('authorization')
    const content = await ask(location)
    expect([content.status, content.text]).toEqual([200, 'content'])
    expect(content.header('content-type')).toBe('application/octet-stream')
    expect(content.header('content-disposition')).toBe(
      `attachment; filename="F__e _1_.bin"; filename*=UTF-8''F%C3%BC%C3%9Fe%20%221%22.bin`,
    )
    const part = await ask(location, { headers: { range: 'bytes=1-3' } })
    expect([part.status, part.text]).toEqual([206, 'ont'])
    const head = await ask(url, { headers: bob, method: 'HEAD' })
    expect(head.status).toBe(302)
    const there = await ask(head.header('location') ?? '', { method: 'HEAD' })
    expect([there.status, there.header('content-length')]).toEqual([200, '7'])
    expect((await rest(bob, 'GET', path)).body[0].download_count).toBe(1)
    expect(JSON.stringify(server.logged)).not.toMatch(/X-Amz|Signature/)
    const changed = await ask(location.replace('engine', 'other').replace(/.$/, '0'))
    expect(changed.status).toBe(403)
  })

  it('leave pictures of pages, ranges of nothing and clients with the file to the server', async () => {
    const { file } = await asset('pump', 'x.bin', 'content')
    const url = file.browser_download_url
    const image = await ask(url, { headers: { ...bob, 'sec-fetch-dest': 'image' } })
    expect([image.status, image.text]).toEqual([200, 'content'])
    const known = { ...bob, 'if-none-match': `"${file.uuid}"` }
    expect((await ask(url, { headers: known })).status).toBe(304)
    expect((await ask(url, { headers: { ...bob, range: 'bytes=9-' } })).status).toBe(416)
    await rest(bob, 'POST', '/repos/bob/pump/issues', { title: 'Leak' })
    const picture = await upload('/repos/bob/pump/issues/1/assets', 'leak.png', 'a picture')
    const shown = await ask(picture.browser_download_url, { headers: bob })
    expect([shown.status, shown.header('cache-control')]).toEqual([302, 'no-store'])
    const content = await ask(shown.header('location') ?? '')
    expect([content.text, content.header('content-type')]).toEqual(['a picture', 'image/png'])
  })

  it('give an upload that takes its own content only', async () => {
    const { direct } = server.app.objects.current
    const sha256 = createHash('sha256').update('content').digest('hex')
    const put = await direct?.upload('lfs/ab/cd/abcd', { bytes: 7, sha256 })
    const send = (body: string, headers = put?.headers ?? {}) =>
      ask(put?.url ?? '', { method: 'PUT', headers, body })
    expect((await send('another')).status).toBe(400)
    expect((await send('content', {})).status).toBe(403)
    expect(await server.app.objects.current.size('lfs/ab/cd/abcd')).toBeUndefined()
    expect((await send('content')).status).toBe(200)
    expect(await server.app.objects.current.size('lfs/ab/cd/abcd')).toBe(7)
    const tooLarge = { bytes: 6 * 1024 ** 3, sha256 }
    expect(await direct?.upload('lfs/ab/cd/abce', tooLarge)).toBeUndefined()
  })

  it('have no uploads where the store does not compare checksums', async () => {
    proxy.fault = ({ headers }, response) => {
      if (headers['x-amz-checksum-sha256'] === undefined) return undefined
      response.end()
      return 'handled'
    }
    const careless = await startTestServer(optionsFor(await s3.bucket('careless', proxy.url)))
    proxy.fault = () => undefined
    const content = { bytes: 7, sha256: '0'.repeat(64) }
    expect(await careless.app.objects.current.direct?.upload('lfs/x', content)).toBeUndefined()
    const warned = careless.logged.filter(({ msg }) => String(msg).includes('their checksum'))
    expect(warned).toHaveLength(1)
    await careless.stop()
  })
})
