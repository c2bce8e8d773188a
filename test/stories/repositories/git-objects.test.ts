import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GitObjectService } from '#gen/branchline/v1/git_object_service_pb.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { pushSample, type Sample } from '../../support/sample-repository.ts'
import { PASSWORD, RPC_PROTOCOLS, transportTo } from '../../support/server.ts'

const { server, users, rest, ask } = await openForge()
let sample: Sample

beforeAll(async () => {
  sample = await pushSample(server.url, users.bob, 'engine')
  await ask(users.bob, 'POST', '/user/repos', { name: 'empty' })
})
afterAll(() => sample.remove())

const idOf = (message: string) => sample.ids[message] ?? ''
const get = (path: string) => rest(undefined, 'GET', `/repos/bob/engine/git${path}`)
const idAt = (spec: string) => sample.git('engine', 'rev-parse', spec)
const api = (path: string) => `${server.url}/api/v1/repos/bob/engine/git${path}`

describe('refs', () => {
  it('are listed by a prefix, or one by its full name', async () => {
    const names = async (prefix: string) =>
      (await get(`/refs${prefix}`)).body.map(({ ref }: { ref: string }) => ref)
    const all = [
      'refs/heads/feature/x',
      'refs/heads/main',
      'refs/heads/signed',
      'refs/tags/light',
      'refs/tags/v1',
    ]
    expect(await names('')).toEqual(all)
    expect(await names('/')).toEqual(all)
    expect(await names('/heads/fea')).toEqual(['refs/heads/feature/x'])
    expect(await names('/tags')).toEqual(['refs/tags/light', 'refs/tags/v1'])
    const main = { type: 'commit', sha: idOf('odds'), url: api(`/commits/${idOf('odds')}`) }
    const exact = { ref: 'refs/heads/main', url: api('/refs/heads/main'), object: main }
    expect((await get('/refs/heads/main')).body).toEqual(exact)
    expect((await get('/refs/refs/heads/main')).body).toEqual(exact)
    expect((await get('/refs/tags/v1')).body.object).toMatchObject({
      type: 'tag',
      sha: await idAt('v1'),
    })
  })

  it('internal to the server are hidden', async () => {
    const { id } = (await rest(undefined, 'GET', '/repos/bob/engine')).body
    const folder = repositoryPath(server.app.git, id)
    await sample.git('engine', '--git-dir', folder, 'update-ref', 'refs/branchline/x', 'main')
    for (const path of ['/refs/branchline', '/refs/branchline/x'])
      expect((await get(path)).status).toBe(404)
    expect(JSON.stringify((await get('/refs')).body)).not.toContain('branchline/x')
    expect((await get('/trees/refs%2Fbranchline%2Fx')).status).toBe(404)
  })

  it.each(['/refs/heads/nothing', '/refs/heads/*', '/refs/heads/a%00', '/refs/--all', '/refs/..'])(
    'are not found at %s',
    async (path) => {
      expect((await get(path)).status).toBe(404)
    },
  )
})

describe('trees', () => {
  it('are listed in pages, recursively on request', async () => {
    const { body } = await get('/trees/v1?recursive=1&per_page=2&page=2')
    const tree = await idAt('v1^{tree}')
    const entry = async (path: string, mode: string, type: string, size: number) => {
      const sha = await idAt(`v1:${path}`)
      return { path, mode, type, size, sha, url: api(`/${type}s/${sha}`) }
    }
    expect(body).toEqual({
      sha: tree,
      url: api(`/trees/${tree}`),
      tree: [
        await entry('docs/guide', '040000', 'tree', 0),
        await entry('docs/guide/start.md', '100644', 'blob', 6),
      ],
      truncated: true,
      page: 2,
      total_count: 5,
    })
    expect(
      (await get(`/trees/${tree}`)).body.tree.map(({ path }: { path: string }) => path),
    ).toEqual(['README.md', 'docs'])
    expect((await get(`/trees/${idOf('second')}`)).body).toMatchObject({
      sha: tree,
      truncated: false,
    })
    expect((await get(`/trees/${tree}?page=2000000000`)).body.tree).toEqual([])
  })

  it('may have submodules, and names that are not UTF-8', async () => {
    const { tree } = (await get('/trees/main?recursive=true')).body
    const found = (path: string) => tree.find((entry: { path: string }) => entry.path === path)
    expect(found('vendor/module')).toMatchObject({ mode: '160000', type: 'commit', url: '' })
    expect(found('"bytes\\377"')).toMatchObject({ type: 'blob', size: 2 })
    const { content } = (await (await fetch(found('"bytes\\377"').url)).json()) as {
      content: string
    }
    expect(Buffer.from(content, 'base64').toString()).toBe('b\n')
  })

  it('may be very deep', async () => {
    const path = `${'d/'.repeat(1500)}x`
    importHistory(join(sample.home, 'engine'), [
      { on: 'refs/heads/deep', message: 'deep', files: { [path]: 'x' } },
    ])
    await sample.git(
      'engine',
      'push',
      '-q',
      remoteOf(server.url, 'bob/engine', 'bob', PASSWORD),
      'deep',
    )
    const { status, body } = await get('/trees/deep?recursive=true&per_page=1&page=1501')
    expect([status, body.total_count, body.tree[0].path.length]).toEqual([200, 1501, 3001])
    expect(
      (await rest(undefined, 'GET', `/repos/bob/engine/contents/${path}?ref=deep`)).body.size,
    ).toBe(1)
  })

  it('do not exist for other objects', async () => {
    for (const sha of ['nothing', '0'.repeat(40), await idAt('main:README.md')]) {
      expect((await get(`/trees/${sha}`)).status).toBe(404)
    }
    expect((await rest(users.bob, 'GET', '/repos/bob/empty/git/trees/main')).status).toBe(404)
  })
})

describe('blobs', () => {
  it('are read by their ids only', async () => {
    const sha = await idAt('main:README.md')
    expect((await get(`/blobs/${sha}`)).body).toEqual({
      content: Buffer.from('one\ntwo\ndrei\n').toString('base64'),
      encoding: 'base64',
      url: api(`/blobs/${sha}`),
      sha,
      size: 13,
    })
    for (const other of [idOf('odds'), 'main', '0'.repeat(40), sha.slice(0, 10), '%2D-all']) {
      expect((await get(`/blobs/${other}`)).status).toBe(404)
    }
  })
})

describe('annotated tags', () => {
  it('are read by their ids', async () => {
    const sha = await idAt('v1')
    expect((await get(`/tags/${sha}`)).body).toEqual({
      tag: 'v1',
      sha,
      url: api(`/tags/${sha}`),
      message: 'version 1\n',
      tagger: { name: 'Bob', email: 'bob@example.org', date: expect.stringMatching(/^20.*[Z\d]$/) },
      object: { type: 'commit', sha: idOf('second'), url: api(`/commits/${idOf('second')}`) },
      verification: {
        verified: false,
        reason: 'gpg.error.not_signed_commit',
        signature: '',
        signer: null,
        payload: '',
      },
    })
  })

  it('are distinguished from other objects', async () => {
    const { status, body } = await get(`/tags/${idOf('second')}`)
    expect([status, body.message]).toEqual([400, `${idOf('second')} is not an annotated tag`])
    expect((await get('/tags/v1')).status).toBe(404)
    expect((await get(`/tags/${'0'.repeat(40)}`)).status).toBe(404)
  })
})

describe('objects', () => {
  it('of one repository do not exist in another one', async () => {
    const secret = await pushSample(server.url, users.bob, 'secret', { private: true })
    await secret.commit('secret', 'only here')
    await secret.git(
      'secret',
      'push',
      '-q',
      remoteOf(server.url, 'bob/secret', 'bob', PASSWORD),
      'HEAD:refs/heads/main',
    )
    const commit = await secret.git('secret', 'rev-parse', 'HEAD')
    for (const path of [
      `/git/commits/${commit}`,
      `/git/trees/${commit}`,
      `/commits?sha=${commit}`,
      `/contents?ref=${commit}`,
    ]) {
      expect((await rest(users.bob, 'GET', `/repos/bob/secret${path}`)).status).toBe(200)
      expect((await rest(users.bob, 'GET', `/repos/bob/engine${path}`)).status).toBe(404)
      expect((await rest(users.carol, 'GET', `/repos/bob/secret${path}`)).status).toBe(404)
    }
    for (const path of [
      '/git/refs',
      '/git/trees/main',
      `/git/blobs/${await idAt('main:README.md')}`,
      `/git/tags/${await idAt('v1')}`,
    ]) {
      expect((await rest(users.carol, 'GET', `/repos/bob/secret${path}`)).status).toBe(404)
    }
    await secret.remove()
  })

  it.each(RPC_PROTOCOLS)('are the same over RPC: %s', async (protocol) => {
    const client = createClient(GitObjectService, transportTo(server.url, protocol))
    const repository = { owner: 'bob', repo: 'engine' }
    expect(
      (await client.listGitRefs({ ...repository, prefix: 'heads/main' })).ref?.object?.sha,
    ).toBe(idOf('odds'))
    expect((await client.listGitRefs({ ...repository, prefix: 'tags' })).refs).toHaveLength(2)
    expect((await client.getGitTree({ ...repository, sha: 'v1' })).totalCount).toBe(2)
    await expect(client.getGitBlob({ ...repository, sha: 'x' })).rejects.toMatchObject({ code: 5 })
    await expect(
      client.getAnnotatedTag({ ...repository, sha: idOf('odds') }),
    ).rejects.toMatchObject({ code: 3 })
  })
})
