import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { execFileSync } from '../../support/programs.ts'
import { type Actor, PASSWORD } from '../../support/server.ts'

const { server, users, client, rest, grpc } = await openForge()

const SMALL = 'The quick brown fox jumps over the lazy dog.\n'
/** Larger than a file that is read at once. */
const LARGE = Buffer.from(Array.from({ length: 400_000 }, (_, i) => `line ${i}\n`).join(''))
const LFS_OID = '4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393'
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${LFS_OID}\nsize 12345\n`
/** `café.txt` and a folder `föö` in ISO 8859-1. */
const LATIN1_FILE = Buffer.from('caf\xe9.txt', 'latin1')
const LATIN1_FOLDER = Buffer.from('f\xf6\xf6', 'latin1')
let blobId: string
let head: string

beforeAll(async () => {
  await rest(users.bob, 'POST', '/user/repos', { name: 'files', private: true })
  await client.git('.', 'init', '-q', '-b', 'main', 'files')
  const folder = join(client.home, 'files')
  await mkdir(join(folder, 'docs/deep'), { recursive: true })
  await writeFile(join(folder, 'small.txt'), SMALL)
  await writeFile(join(folder, 'large.txt'), LARGE)
  await writeFile(join(folder, 'docs/deep/guide.md'), 'guide\n')
  await writeFile(join(folder, 'docs/index.md'), 'index\n')
  await writeFile(join(folder, 'film.mp4'), POINTER)
  await writeFile(Buffer.concat([Buffer.from(`${folder}/`), LATIN1_FILE]), 'coffee\n')
  await mkdir(Buffer.concat([Buffer.from(`${folder}/`), LATIN1_FOLDER]))
  await writeFile(
    Buffer.concat([Buffer.from(`${folder}/`), LATIN1_FOLDER, Buffer.from('/bar.txt')]),
    'bar\n',
  )
  await client.git('files', 'add', '-A')
  await client.commit('files', 'files')
  await client.git('files', 'tag', '-a', '-m', 'one', 'v1')
  await client.commit('files', 'more')
  head = await client.git('files', 'rev-parse', 'HEAD')
  blobId = await client.git('files', 'rev-parse', 'HEAD:small.txt')
  await client.git(
    'files',
    'push',
    '-q',
    remoteOf(server.url, 'bob/files', 'bob', PASSWORD),
    'main',
    'v1',
  )
})

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

async function get(
  path: string,
  headers: Record<string, string> = {},
  who?: Actor,
  method = 'GET',
): Promise<Answer> {
  const { authorization } = who ?? users.bob
  const response = await fetch(`${server.url}/api/v1/repos/bob/files${path}`, {
    method,
    headers: { authorization, ...headers },
  })
  return {
    status: response.status,
    headers: response.headers,
    body: Buffer.from(await response.arrayBuffer()),
  }
}

describe('a raw file', () => {
  it('has its length and ETag, for HEAD and GET', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, body } = await get('/raw/small.txt', {}, users.bob, method)
      expect([status, headers.get('etag'), headers.get('accept-ranges')]).toEqual([
        200,
        `"${blobId}"`,
        'bytes',
      ])
      expect(headers.get('content-length')).toBe(String(SMALL.length))
      expect(body.toString()).toBe(method === 'GET' ? SMALL : '')
    }
  })

  it('is not sent again to a caller with its ETag, which discloses nothing to strangers', async () => {
    const known = { 'if-none-match': `"${blobId}"` }
    expect(await get('/raw/small.txt', known)).toMatchObject({ status: 304, body: Buffer.alloc(0) })
    expect(
      (await get('/raw/small.txt', { 'if-none-match': `"other", W/"${blobId}"` })).status,
    ).toBe(304)
    expect((await get('/raw/small.txt', { 'if-none-match': '"other"' })).status).toBe(200)
    expect((await get('/raw/small.txt', known, users.carol)).status).toBe(404)
  })

  it.each([
    ['bytes=0-3', SMALL.slice(0, 4), `bytes 0-3/${SMALL.length}`],
    ['bytes=4-', SMALL.slice(4), `bytes 4-${SMALL.length - 1}/${SMALL.length}`],
    ['bytes=-5', SMALL.slice(-5), `bytes ${SMALL.length - 5}-${SMALL.length - 1}/${SMALL.length}`],
  ])('is sent partially for %s', async (range, part, contentRange) => {
    const { status, headers, body } = await get('/raw/small.txt', { range })
    expect([status, body.toString(), headers.get('content-range')]).toEqual([
      206,
      part,
      contentRange,
    ])
    expect(headers.get('content-length')).toBe(String(part.length))
  })

  it('is sent partially if it is large, and with If-Range only while it is unchanged', async () => {
    const range = `bytes=3000000-3000099`
    const { status, body } = await get('/raw/large.txt', { range })
    expect([status, body.toString()]).toEqual([
      206,
      LARGE.subarray(3_000_000, 3_000_100).toString(),
    ])
    const other = await get('/raw/large.txt', { range, 'if-range': '"other"' })
    expect([other.status, other.body.equals(LARGE)]).toEqual([200, true])
    const tag = other.headers.get('etag') ?? ''
    expect((await get('/raw/large.txt', { range, 'if-range': tag })).status).toBe(206)
  })

  it('answers 416 beyond its end over REST, and the reason over gRPC', async () => {
    const { status, headers } = await get('/raw/small.txt', { range: 'bytes=100-' })
    expect([status, headers.get('x-error-reason')]).toEqual([416, 'RANGE_NOT_SATISFIABLE'])
    const contents = grpc(ContentService, users.bob)
    const request = { owner: 'bob', repo: 'files', path: 'small.txt' }
    const read = async () => {
      for await (const _ of contents.getRawFile(request, { headers: { range: 'bytes=100-' } }));
    }
    expect(await refusalOf(read())).toMatchObject({ reason: 'RANGE_NOT_SATISFIABLE' })
  })
})

describe('an archive', () => {
  it('has an ETag, and is not created again for a caller with the ETag', async () => {
    const first = await get('/archive/main.tar.gz')
    expect([first.status, first.headers.get('etag')]).toEqual([200, `W/"${head}"`])
    expect(first.headers.get('accept-ranges')).toBe('none')
    const again = await get('/archive/main.tar.gz', { 'if-none-match': `W/"${head}"` })
    expect(again).toMatchObject({ status: 304, body: Buffer.alloc(0) })
    expect((await get('/archive/v1.zip', { 'if-none-match': `W/"${head}"` })).status).toBe(200)
  })

  it('has only the requested paths', async () => {
    const list = (body: Buffer) =>
      execFileSync('tar', ['-tzf', '-'], { input: body, encoding: 'utf8' })
        .split('\n')
        .filter((name) => name !== '' && !name.endsWith('/'))
    const { body } = await get('/archive/main.tar.gz?path=docs/deep&path=small.txt')
    expect(list(body)).toEqual(['files/docs/deep/guide.md', 'files/small.txt'])
    expect(list((await get('/archive/main.tar.gz?path=/')).body)).toHaveLength(7)
    expect(list((await get('/archive/main.tar.gz?path=')).body)).toHaveLength(7)
    expect((await get('/archive/main.bundle?path=')).status).toBe(200)
  })

  it('is refused for a missing path, too many paths, and a bundle with paths', async () => {
    expect((await get('/archive/main.tar.gz?path=nowhere')).status).toBe(404)
    expect((await get('/archive/main.zip?path=:(glob)*')).status).toBe(404)
    const many = Array.from({ length: 101 }, () => 'path=docs').join('&')
    expect((await get(`/archive/main.zip?${many}`)).status).toBe(422)
    expect((await get('/archive/main.bundle?path=docs')).status).toBe(422)
    expect((await get('/archive/nowhere.bundle')).status).toBe(404)
    expect((await get('/archive/main.bundle', {}, users.carol)).status).toBe(404)
  })

  it.each([
    ['main', 'refs/heads/main'],
    ['v1', 'refs/tags/v1'],
  ])('is a bundle of %s that Git verifies and clones', async (ref, name) => {
    const { status, headers, body } = await get(`/archive/${ref}.bundle`)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-git-bundle'])
    const file = join(client.home, `${ref}.bundle`)
    await writeFile(file, body)
    expect(await client.git('files', 'bundle', 'list-heads', file)).toContain(name)
    await client.git('files', 'bundle', 'verify', '-q', file)
    await client.git('.', 'clone', '-q', file, `from-${ref}`)
    const commit = await client.git('files', 'rev-parse', `${ref}^{commit}`)
    expect(await client.git(`from-${ref}`, 'rev-parse', 'HEAD')).toBe(commit)
    await client.git(`from-${ref}`, 'fsck', '--full', '--strict')
  })

  it('is a bundle of a commit by its id', async () => {
    const first = await client.git('files', 'rev-parse', 'v1^{commit}')
    const { body } = await get(`/archive/${first}.bundle`)
    await writeFile(join(client.home, 'commit.bundle'), body)
    expect(
      await client.git('files', 'bundle', 'list-heads', join(client.home, 'commit.bundle')),
    ).toBe(`${first} HEAD`)
  })
})

describe('a file whose name is not UTF-8', () => {
  const entriesOf = async (path: string): Promise<{ path: string; url: string; type: string }[]> =>
    (await rest(users.bob, 'GET', `/repos/bob/files/contents${path}?ref=main`)).body

  it('is read by the path that lists return', async () => {
    const listed = (await entriesOf('')).map(({ path }) => path)
    expect(listed).toContain('"caf\\351.txt"')
    const { status, body } = await get(`/raw/${encodeURIComponent('"caf\\351.txt"')}`)
    expect([status, body.toString()]).toEqual([200, 'coffee\n'])
    const entry = await rest(
      users.bob,
      'GET',
      `/repos/bob/files/contents/${encodeURIComponent('"caf\\351.txt"')}`,
    )
    expect([entry.status, entry.body.content]).toEqual([
      200,
      Buffer.from('coffee\n').toString('base64'),
    ])
    for (const { url } of await entriesOf('')) {
      expect([
        url,
        (await fetch(url, { headers: { authorization: users.bob.authorization } })).status,
      ]).toEqual([url, 200])
    }
  })

  it('is read from a folder with such a name', async () => {
    const [inside] = await entriesOf(`/${encodeURIComponent('"f\\366\\366"')}`)
    expect(inside?.path).toBe('"f\\366\\366"/bar.txt')
    expect((await get(`/raw/${encodeURIComponent(inside?.path ?? '')}`)).body.toString()).toBe(
      'bar\n',
    )
    const tree = await rest(users.bob, 'GET', '/repos/bob/files/git/trees/main?recursive=true')
    expect(tree.body.tree.map(({ path }: { path: string }) => path)).toContain(
      '"f\\366\\366"/bar.txt',
    )
  })
})

describe('a Git LFS pointer', () => {
  it('describes its file', async () => {
    const { body } = await rest(users.bob, 'GET', '/repos/bob/files/contents/film.mp4')
    expect([body.lfs_oid, body.lfs_size]).toEqual([LFS_OID, 12345])
    const other = await rest(users.bob, 'GET', '/repos/bob/files/contents/small.txt')
    expect(other.body).not.toHaveProperty('lfs_oid')
  })
})
