import { join } from 'node:path'
import { Code, createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { createProcessSlots } from '../../../src/platform/git/processes/process-slots.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { execFileSync } from '../../support/programs.ts'
import { pushSample, type Sample, SUBMODULE_ID } from '../../support/sample-repository.ts'
import { createToken, PASSWORD, RPC_PROTOCOLS, transportTo } from '../../support/server.ts'

/** Larger than a file that is read at once. */
const LARGE = Buffer.alloc(5_000_000, 'large ')

/** Larger than the buffers of two sockets. */
const HUGE = Buffer.alloc(60_000_000, 'huge ')

const { server, users, rest, ask } = await openForge()
let sample: Sample

beforeAll(async () => {
  sample = await pushSample(server.url, users.bob, 'engine')
  await ask(users.bob, 'POST', '/user/repos', { name: 'empty' })
  const files = Array.from({ length: 1001 }, (_, i) => [`many/${String(i).padStart(5, '0')}`, 'x'])
  importHistory(join(sample.home, 'engine'), [
    { on: 'refs/heads/many', message: 'many', files: Object.fromEntries(files) },
    { on: 'refs/heads/large', message: 'large', files: { empty: '', large: LARGE, huge: HUGE } },
  ])
  await sample.git(
    'engine',
    'push',
    '-q',
    remoteOf(server.url, 'bob/engine', 'bob', PASSWORD),
    'many',
    'large',
  )
})
afterAll(() => sample.remove())

const idOf = (message: string) => sample.ids[message] ?? ''
const get = (path: string) => rest(undefined, 'GET', `/repos/bob/engine${path}`)
const raw = (path: string) => fetch(`${server.url}/api/v1/repos/bob/engine${path}`)

describe('contents', () => {
  it('of a file are an object with its content', async () => {
    const { status, body } = await get('/contents/README.md')
    const main = idOf('odds')
    expect(status).toBe(200)
    const self = `${server.url}/api/v1/repos/bob/engine/contents/README.md?ref=main`
    const sha = await sample.git('engine', 'rev-parse', 'main:README.md')
    const git = `${server.url}/api/v1/repos/bob/engine/git/blobs/${sha}`
    const html = `${server.url}/bob/engine/src/commit/${main}/README.md`
    expect(body).toEqual({
      name: 'README.md',
      path: 'README.md',
      sha,
      last_commit_sha: idOf('third'),
      last_committer_date: '2026-02-02T02:40:03Z',
      last_author_date: '2026-02-02T02:40:03Z',
      last_commit_message: 'third',
      type: 'file',
      size: 13,
      encoding: 'base64',
      content: Buffer.from('one\ntwo\ndrei\n').toString('base64'),
      target: null,
      url: self,
      html_url: html,
      git_url: git,
      download_url: `${server.url}/bob/engine/raw/commit/${main}/README.md`,
      submodule_git_url: null,
      _links: { self, git, html },
    })
    expect((await fetch(body.git_url)).status).toBe(200)
    expect(await (await fetch(body.download_url)).text()).toBe('one\ntwo\ndrei\n')
  })

  it('of a directory are a list, each entry with its last commit', async () => {
    const { body } = await get('/contents')
    const brief = body.map((entry: Record<string, string>) => [
      entry.path,
      entry.type,
      entry.last_commit_sha,
    ])
    expect(brief).toEqual([
      ['.gitmodules', 'file', idOf('odds')],
      ['README.md', 'file', idOf('third')],
      ['"bytes\\377"', 'file', idOf('odds')],
      ['docs', 'dir', idOf('second')],
      ['link', 'symlink', idOf('odds')],
      ['picture.png', 'file', idOf('odds')],
      ['sp ace #?%', 'dir', idOf('odds')],
      ['vendor', 'dir', idOf('odds')],
    ])
    expect(body[1]).toMatchObject({ size: 13, encoding: null, content: null })
    expect(body[3]).toMatchObject({ size: 0, download_url: null })
    expect((await get('/contents/')).body).toEqual(body)
    expect((await get('/contents/docs/')).body.map(({ path }: { path: string }) => path)).toEqual([
      'docs/guide',
      'docs/run.sh',
    ])
  })

  it('of links and submodules have their targets', async () => {
    expect((await get('/contents/link')).body).toMatchObject({
      type: 'symlink',
      target: 'README.md',
      content: null,
      size: 9,
    })
    expect((await get('/contents/vendor/module')).body).toMatchObject({
      type: 'submodule',
      sha: SUBMODULE_ID,
      submodule_git_url: 'https://example.org/m.git',
      download_url: null,
    })
    expect((await get('/contents/vendor')).body).toMatchObject([
      { submodule_git_url: 'https://example.org/m.git' },
    ])
  })

  it.each(['docs/guide/start.md', 'docs%2Fguide%2Fstart.md'])('answer to %s', async (path) => {
    expect((await get(`/contents/${path}?ref=v1`)).body).toMatchObject({
      path: 'docs/guide/start.md',
    })
  })

  it('have URLs that lead to the entry, whatever its name', async () => {
    const { body } = await get('/contents')
    const { url: directory } = body.find(({ name }: { name: string }) => name === 'sp ace #?%')
    const files = (await (await fetch(directory)).json()) as { url: string; download_url: string }[]
    const { url = '', download_url = '' } = files[0] ?? {}
    expect(await (await fetch(url)).json()).toMatchObject({
      path: 'sp ace #?%/ü.html',
      type: 'file',
    })
    expect(await (await fetch(download_url)).text()).toBe('<script>alert(1)</script>\n')
  })

  it.each([
    ['/contents/nothing', 'not found'],
    ['/contents/README.md/x', 'not found'],
    ['/contents/docs%2F..%2FREADME.md', 'not found'],
    ['/contents/%2E%2E%2F%2E%2E%2Fetc%2Fpasswd', 'not found'],
    ['/contents//etc/passwd', 'not found'],
    ['/contents/a%00b', 'not found'],
    ['/contents/bytes%EF%BF%BD', 'not found'],
    [`/contents/${'a/'.repeat(3000)}`, 'not found'],
    ['/contents/README.md?ref=nothing', 'not found'],
    ['/contents/README.md?ref=refs/branchline/x', 'not found'],
    ['/raw/docs', 'not found'],
    ['/raw/vendor/module', 'not found'],
    ['/raw/nothing', 'not found'],
    ['/raw/README.md?ref=nothing', 'not found'],
    ['/archive/nothing.zip', 'not found'],
  ])('do not exist at %s', async (path, message) => {
    const { status, body } = await get(path)
    expect([status, body.message]).toEqual([404, message])
  })

  it('of an empty repository are empty', async () => {
    expect((await rest(users.bob, 'GET', '/repos/bob/empty/contents')).status).toBe(404)
  })

  it('of a large directory are truncated and say so', async () => {
    const { body, headers } = await get('/contents/many?ref=many')
    expect([body.length, headers.get('x-truncated')]).toEqual([1000, 'true'])
    expect(body[999]).toMatchObject({
      path: 'many/00999',
      last_commit_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
    })
  })
})

describe('raw files', () => {
  it.each([
    ['README.md', 'text/plain; charset=utf-8', 'inline', 'one\ntwo\ndrei\n'],
    ['link', 'text/plain; charset=utf-8', 'inline', 'README.md'],
    ['picture.png', 'application/octet-stream', 'attachment', '\0\u0001\u0002\ufffd'],
    [
      'sp%20ace%20%23%3F%25/%C3%BC.html',
      'text/plain; charset=utf-8',
      'inline',
      '<script>alert(1)</script>\n',
    ],
  ])(
    'have headers that keep browsers from running them: %s',
    async (path, type, disposition, text) => {
      const response = await raw(`/raw/${path}?ref=main`)
      expect(response.headers.get('content-type')).toBe(type)
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
      expect(response.headers.get('content-disposition')).toMatch(
        new RegExp(`^${disposition}; filename="[\\w.%-]+"; filename\\*=UTF-8''[\\w.%-]+$`),
      )
      expect(await response.text()).toBe(text)
    },
  )

  it('may be empty or large, and answer HEAD', async () => {
    const empty = await raw('/raw/empty?ref=large')
    expect([empty.status, empty.headers.get('content-type'), await empty.text()]).toEqual([
      200,
      'text/plain; charset=utf-8',
      '',
    ])
    const bytes = Buffer.from(await (await raw('/raw/large?ref=large')).arrayBuffer())
    expect(bytes.equals(LARGE)).toBe(true)
    const head = await fetch(`${server.url}/api/v1/repos/bob/engine/raw/large?ref=large`, {
      method: 'HEAD',
    })
    expect([head.status, head.headers.get('content-type')]).toEqual([
      200,
      'text/plain; charset=utf-8',
    ])
  })

  it('release their slot when a client disconnects', async () => {
    const { streams } = server.app.git
    Object.assign(server.app.git, { streams: createProcessSlots({ max: 1, firstPlaces: 0 }) })
    const leaving = new AbortController()
    const ask = (signal?: AbortSignal) =>
      fetch(`${server.url}/api/v1/repos/bob/engine/raw/huge?ref=large`, signal ? { signal } : {})
    await (await ask(leaving.signal)).body?.getReader().read()
    const busy = await ask()
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '5'])
    leaving.abort()
    await expect
      .poll(async () => {
        const { status, body } = await ask()
        await body?.cancel()
        return status
      })
      .toBe(200)
    Object.assign(server.app.git, { streams })
  })
})

describe('raw files by ref and path in one', () => {
  beforeAll(async () => {
    importHistory(join(sample.home, 'engine'), [
      {
        on: 'refs/heads/docs',
        message: 'guide',
        files: { 'guide.md': 'of the branch docs\n', 'feature/x': 'in a folder of docs\n' },
      },
    ])
    const git = (...args: string[]) => sample.git('engine', ...args)
    await git('tag', 'rel/2.0', 'main')
    // A tag with the name of a branch's first component.
    await git('tag', 'feature', 'docs')
    const remote = remoteOf(server.url, 'bob/engine', 'bob', PASSWORD)
    await git('push', '-q', remote, 'docs', 'rel/2.0', 'feature')
  })

  const text = async (path: string) => {
    const response = await raw(path)
    return [response.status, response.status === 200 ? await response.text() : '']
  }

  it.each([
    ['/raw/main/README.md', 'one\ntwo\ndrei\n'],
    ['/raw/README.md', 'one\ntwo\ndrei\n'],
    ['/raw/HEAD/README.md', 'one\ntwo\ndrei\n'],
    ['/raw/refs/heads/main/README.md', 'one\ntwo\ndrei\n'],
    ['/raw/refs%2Ftags%2Frel%2F2.0/README.md', 'one\ntwo\ndrei\n'],
    ['/raw/rel/2.0/README.md', 'one\ntwo\ndrei\n'],
    ['/raw/rel%2F2.0/README.md', 'one\ntwo\ndrei\n'],
    ['/raw/docs/guide.md', 'of the branch docs\n'],
    ['/raw/docs/feature/x', 'in a folder of docs\n'],
    ['/raw/docs/feature%2Fx?ref=', 'in a folder of docs\n'],
    ['/raw/feature/x?ref=docs', 'in a folder of docs\n'],
  ])('are at %s', async (path, content) => {
    expect(await text(path)).toEqual([200, content])
  })

  it('are found by the full id of a commit, and by a branch before a tag', async () => {
    const docs = await sample.git('engine', 'rev-parse', 'docs')
    expect(await text(`/raw/${docs}/guide.md`)).toEqual([200, 'of the branch docs\n'])
    expect(await text('/raw/feature/x/README.md')).toEqual([200, expect.any(String)])
    expect(await text('/raw/feature/guide.md')).toEqual([200, 'of the branch docs\n'])
  })

  it.each([
    '/raw/docs/guide/start.md',
    '/raw/main',
    '/raw/main/nothing',
    '/raw/main/README.md?ref=main',
    '/raw/0000000000000000000000000000000000000000/README.md',
    '/raw/refs/branchline/x/README.md',
    '/raw/refs/pull/1/head/README.md',
    `/raw/${'a/'.repeat(500)}README.md`,
    '/raw/main/..%2FREADME.md',
    '/raw/a..b/README.md',
    '/raw/a%00b/README.md',
  ])('do not exist at %s', async (path) => {
    expect(await text(path)).toEqual([404, ''])
  })

  it('have the ref in a field of its own over RPC, where a path is never a ref', async () => {
    const client = createClient(ContentService, transportTo(server.url, 'gRPC'))
    const read = async (request: object) => {
      let content = ''
      const asked = { owner: 'bob', repo: 'engine', ...request }
      for await (const { data } of client.getRawFile(asked)) content += Buffer.from(data).toString()
      return content
    }
    expect(await read({ refPath: 'docs/guide.md' })).toBe('of the branch docs\n')
    await expect(read({ path: 'docs/guide.md' })).rejects.toThrow('not found')
    expect(await read({ path: 'README.md' })).toBe('one\ntwo\ndrei\n')
  })
})

describe('archives', () => {
  const list = (command: string, args: string[], input: Buffer) =>
    execFileSync(command, args, { input, encoding: 'utf8' }).trim().split('\n')

  it('contain all files of a commit in a folder', async () => {
    const response = await raw('/archive/feature/x.tar.gz')
    expect(response.headers.get('content-type')).toBe('application/gzip')
    expect(response.headers.get('content-disposition')).toBe(
      `attachment; filename="engine-feature-x.tar.gz"; filename*=UTF-8''engine-feature-x.tar.gz`,
    )
    const names = list('tar', ['-tz'], Buffer.from(await response.arrayBuffer()))
    expect(names).toContain('engine/docs/guide/start.md')
    expect(names).toContain('engine/strange')
  })

  it('are also zip files, at the address that browsers use', async () => {
    const response = await fetch(`${server.url}/bob/engine/archive/v1.zip`)
    expect(response.headers.get('content-type')).toBe('application/zip')
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(bytes.subarray(0, 4).toString('latin1')).toBe('PK\u0003\u0004')
    expect(bytes.includes('engine/docs/run.sh')).toBe(true)
  })

  it.each(['/archive/main.rar', '/archive/main', '/archive/'])(
    'come in known formats only: %s',
    async (path) => {
      expect((await get(path)).status).toBe(422)
    },
  )
})

describe('the contents of a private repository', () => {
  let secret: Sample

  beforeAll(async () => {
    secret = await pushSample(server.url, users.bob, 'secret', { private: true })
  })
  afterAll(() => secret.remove())

  it.each([
    '/api/v1/repos/bob/secret/contents',
    '/api/v1/repos/bob/secret/contents/README.md',
    '/api/v1/repos/bob/secret/raw/README.md',
    '/api/v1/repos/bob/secret/raw/main/README.md',
    '/bob/secret/raw/commit/main/README.md',
    '/api/v1/repos/bob/secret/archive/main.zip',
    '/bob/secret/archive/main.zip',
  ])('do not exist for other callers: %s', async (path) => {
    const statusFor = async (authorization?: string) =>
      (
        await fetch(server.url + path, {
          headers: authorization === undefined ? {} : { authorization },
        })
      ).status
    const token = async (...scopes: string[]) =>
      `token ${await createToken(server.url, users.bob, scopes)}`
    expect(await statusFor(users.bob.authorization)).toBe(200)
    expect(await statusFor(await token('read:repository'))).toBe(200)
    expect(await statusFor(users.carol.authorization)).toBe(404)
    expect(await statusFor()).toBe(404)
    expect(await statusFor(await token('read:repository', 'public-only'))).toBe(404)
    expect(await statusFor(await token('read:user'))).toBe(403)
  })
})

describe('over RPC', () => {
  it.each(RPC_PROTOCOLS)(
    'a client that disconnects in the middle of a file releases its slot: %s',
    async (protocol) => {
      const client = createClient(ContentService, transportTo(server.url, protocol))
      const { streams } = server.app.git
      Object.assign(server.app.git, { streams: createProcessSlots({ max: 1, firstPlaces: 0 }) })
      const open = (signal: AbortSignal) => {
        const request = { owner: 'bob', repo: 'engine', path: 'huge', ref: 'large' }
        return client.getRawFile(request, { signal })[Symbol.asyncIterator]().next()
      }
      const leaving = new AbortController()
      await open(leaving.signal)
      await expect(open(new AbortController().signal)).rejects.toMatchObject({
        code: Code.Unavailable,
      })
      leaving.abort()
      const next = new AbortController()
      await expect
        .poll(() =>
          open(next.signal)
            .then(() => true)
            .catch(() => false),
        )
        .toBe(true)
      next.abort()
      Object.assign(server.app.git, { streams })
    },
  )

  it.each(RPC_PROTOCOLS)('contents are the same: %s', async (protocol) => {
    const client = createClient(ContentService, transportTo(server.url, protocol))
    const repository = { owner: 'bob', repo: 'engine' }
    const file = await client.getContents({ ...repository, path: 'README.md' })
    expect([file.entry?.size, file.entries, file.truncated]).toEqual([13n, [], false])
    expect((await client.getContents(repository)).entries).toHaveLength(8)
    const chunks: Uint8Array[] = []
    for await (const { data } of client.getRawFile({ ...repository, path: 'README.md' }))
      chunks.push(data)
    expect(Buffer.concat(chunks).toString()).toBe('one\ntwo\ndrei\n')
    const missing = client
      .getRawFile({ ...repository, path: 'nothing' })
      [Symbol.asyncIterator]()
      .next()
    await expect(missing).rejects.toMatchObject({ code: 5 })
  })
})
