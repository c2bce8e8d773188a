import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { EMPTY_TREE } from '../../../src/platform/git/core/object-ids.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { pushSample, type Sample, SIGNATURE } from '../../support/sample-repository.ts'
import { createToken, PASSWORD, RPC_PROTOCOLS, transportTo } from '../../support/server.ts'

const { server, users, rest, ask } = await openForge()
let sample: Sample

beforeAll(async () => {
  sample = await pushSample(server.url, users.bob, 'engine')
  await ask(users.bob, 'POST', '/user/repos', { name: 'empty' })
})
afterAll(() => sample.remove())

const idOf = (message: string) => sample.ids[message] ?? ''
const get = (path: string, who = users.bob) => rest(who, 'GET', `/repos/bob/engine${path}`)
/** Returns a difference without its last line feed. */
const diffOf = async (basehead: string) => {
  const response = await fetch(`${server.url}/api/v1/repos/bob/engine/diffs/${basehead}`)
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  return (await response.text()).trimEnd()
}
const messagesOf = (list: { commit: { message: string } }[]) =>
  list.map(({ commit }) => commit.message)

describe('commits', () => {
  it('are listed newest first, with all requested parts', async () => {
    const { status, body, headers } = await rest(
      undefined,
      'GET',
      '/repos/BOB/Engine/commits?limit=2',
    )
    expect(status).toBe(200)
    expect(messagesOf(body)).toEqual(['odds', 'third'])
    const api = `${server.url}/api/v1/repos/bob/engine`
    expect(body[1]).toEqual({
      url: `${api}/git/commits/${idOf('third')}`,
      sha: idOf('third'),
      created: '2026-02-02T02:40:03Z',
      html_url: `${server.url}/bob/engine/commit/${idOf('third')}`,
      commit: {
        url: `${api}/git/commits/${idOf('third')}`,
        author: { name: 'Bob', email: 'BOB@example.org', date: '2026-02-02T03:40:03+01:00' },
        committer: { name: 'Bob', email: 'BOB@example.org', date: '2026-02-02T03:40:03+01:00' },
        message: 'third',
        tree: expect.objectContaining({
          sha: await sample.git('engine', 'rev-parse', 'main~1^{tree}'),
        }),
        verification: {
          verified: false,
          reason: 'gpg.error.not_signed_commit',
          signature: '',
          signer: null,
          payload: '',
        },
      },
      author: expect.objectContaining({ login: 'bob' }),
      committer: expect.objectContaining({ login: 'bob' }),
      parents: [
        {
          url: `${api}/git/commits/${idOf('second')}`,
          sha: idOf('second'),
          created: '0001-01-01T00:00:00Z',
        },
      ],
      files: [{ filename: 'README.md', status: 'modified' }],
      stats: { total: 2, additions: 2, deletions: 0 },
    })
    const paging = ['x-total-count', 'x-total', 'x-page', 'x-perpage', 'x-pagecount', 'x-hasmore']
    expect(paging.map((name) => headers.get(name))).toEqual(['4', '4', '1', '2', '2', 'true'])
    expect(headers.get('link')).toContain('page=2>; rel="next"')
  })

  it.each([
    ['a branch with a slash', '?sha=feature/x', ['strange', 'third', 'second', 'first']],
    ['a tag object', '?sha=v1', ['second', 'first']],
    ['a path', '?path=README.md', ['third', 'first']],
    ['a path that is a directory', '?path=/docs/', ['second', 'first']],
    ['a path of many branches', '?path=%3A(glob)**', []],
    ['a page past the end', '?page=7', []],
    ['the largest page that there is', '?page=2147483647&limit=50', []],
    ['without others', '?sha=feature/x&not=main', ['strange']],
    ['since a time', '?since=2026-02-02T02:40:03Z', ['odds', 'third']],
    ['until a time', '?until=2026-02-02T03:40:02%2B01:00', ['second', 'first']],
  ])('are listed from %s', async (_, query, expected) => {
    const { status, body, headers } = await get(`/commits${query}`)
    expect([status, messagesOf(body)]).toEqual([200, expected])
    if (!query.includes('page')) expect(headers.get('x-total-count')).toBe(String(expected.length))
  })

  it('have only the requested parts', async () => {
    const { body } = await get('/commits?limit=1&stat=false&verification=0&files=false')
    expect(body[0]).toMatchObject({ files: null, stats: null, commit: { verification: null } })
  })

  it('name the accounts of their addresses, unless a token set the address', async () => {
    const [strange] = (await get('/commits?sha=feature/x')).body
    expect([strange.author, strange.committer]).toEqual([null, null])
    await server.app.db
      .updateTable('users')
      .set({ email_by_token: 1 })
      .where('username', '=', 'bob')
      .execute()
    expect((await get('/commits')).body[0].author).toBeNull()
    await server.app.db
      .updateTable('users')
      .set({ email_by_token: 0 })
      .where('username', '=', 'bob')
      .execute()
  })

  it('show the signature and the signed payload', async () => {
    const { body } = await get('/git/commits/signed')
    const { verification, message } = body.commit
    expect(verification).toMatchObject({
      verified: false,
      reason: 'gpg.error.extract_sign',
      signature: SIGNATURE,
    })
    expect(verification.payload).toMatch(
      /^tree .*\nparent .*\nauthor .*\ncommitter .*\n\nsigned\n$/,
    )
    expect(message).toBe('signed\n')
  })

  it.each([
    ['/empty/commits', 409, 'Git Repository is empty.'],
    ['/empty/commits?sha=main', 409, 'Git Repository is empty.'],
    ['/engine/commits?sha=nothing', 404, 'not found'],
    ['/engine/commits?sha=refs/branchline/x', 404, 'not found'],
    ['/engine/commits?sha=--all', 404, 'not found'],
    ['/engine/commits?not=nothing', 404, 'not found'],
    ['/engine/commits?path=../x', 404, 'not found'],
    ['/engine/commits?path=a%00b', 404, 'not found'],
    ['/engine/git/commits/a..b', 422, 'no valid ref or sha: a..b'],
    ['/engine/git/commits/-x', 422, 'no valid ref or sha: -x'],
    ['/engine/git/commits/nothing', 404, "commit doesn't exist: nothing"],
    [`/engine/git/commits/${'0'.repeat(40)}`, 404, "commit doesn't exist"],
    ['/engine/compare/main...nothing', 404, 'not found'],
    ['/engine/compare/nothing...main', 404, 'not found'],
    ['/engine/compare/main...nobody:main', 404, 'not found'],
    ['/engine/diffs/main...nothing', 404, 'not found'],
    ['/engine/diffs/--output=x...main', 404, 'not found'],
    ['/nothing/commits', 404, 'not found'],
  ])('cannot be read at %s', async (path, status, message) => {
    const refused = await rest(users.carol, 'GET', `/repos/bob${path}`)
    expect([refused.status, refused.body.message]).toEqual([
      status,
      expect.stringContaining(message),
    ])
  })

  it('are found by id, abbreviated id and name', async () => {
    for (const name of [
      idOf('second'),
      idOf('second').slice(0, 12),
      'v1',
      'main~2',
      'refs%2Ftags%2Fv1',
      'feature%2Fx~2',
    ]) {
      expect((await get(`/git/commits/${name}`)).body.sha).toBe(idOf('second'))
    }
  })

  it('of an archived repository are readable', async () => {
    await rest(users.bob, 'PATCH', '/repos/bob/engine', { archived: true })
    expect((await get('/commits?limit=1')).status).toBe(200)
    await rest(users.bob, 'PATCH', '/repos/bob/engine', { archived: false })
  })

  it('are available as text', async () => {
    const text = async (format: string) => {
      const response = await fetch(
        `${server.url}/api/v1/repos/bob/engine/git/commits/${idOf('third')}.${format}`,
      )
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      return response.text()
    }
    expect(await text('diff')).toMatch(/^diff --git a\/README.md b\/README.md\n[\s\S]*\+drei\n$/)
    expect(await text('patch')).toMatch(
      /^From .*\nFrom: Bob <BOB@example.org>\n[\s\S]*Subject: \[PATCH\] third\n/,
    )
  })
})

describe('a comparison', () => {
  it.each([
    ['main...feature/x', ['strange']],
    ['main..feature%2Fx', ['strange']],
    ['feature/x...main', ['odds']],
    ['feature/x', ['strange']],
    ['main...bob:feature/x', ['strange']],
    ['v1...main', ['odds', 'third']],
    ['main...main', []],
  ])('%s lists the commits of the head that the base lacks', async (basehead, expected) => {
    const { status, body } = await get(`/compare/${basehead}`)
    expect([status, body.total_commits, messagesOf(body.commits)]).toEqual([
      200,
      expected.length,
      expected,
    ])
  })

  it.each(['main...feature/x', 'main..feature/x', 'feature/x...main', 'v1...main'])(
    '%s has the changes that Git shows since the merge base',
    async (basehead) => {
      const sides = basehead.replace(/\.+/, '...')
      expect(await diffOf(basehead)).toBe(await sample.git('engine', 'diff', sides))
    },
  )

  it('is available as mails, which have the commits of the head', async () => {
    const mails = await diffOf('v1...main?format=patch')
    expect(mails.match(/^Subject: .*$/gm)).toEqual([
      'Subject: [PATCH 1/2] third',
      'Subject: [PATCH 2/2] odds',
    ])
    const { status, body } = await get('/diffs/v1...main?format=html')
    expect([status, body.message]).toEqual([422, expect.stringContaining('format')])
  })

  it('of histories without a common commit has everything in the head', async () => {
    await sample.git('engine', 'checkout', '-q', '--orphan', 'other')
    await sample.git('engine', 'rm', '-rfq', '.')
    await sample.commit('engine', 'alone')
    const remote = remoteOf(server.url, 'bob/engine', 'bob', PASSWORD)
    await sample.git('engine', 'push', '-q', remote, 'other')
    expect(await diffOf('main...other')).toBe(
      await sample.git('engine', 'diff', EMPTY_TREE, 'other'),
    )
  })

  it('includes forks that the caller can read', async () => {
    await rest(users.carol, 'POST', '/repos/bob/engine/forks', {})
    await sample.git('engine', 'checkout', '-q', 'feature/x')
    await sample.commit('engine', 'forked')
    const remote = new URL(`${server.url}/carol/engine.git`)
    Object.assign(remote, { username: 'carol', password: 'correct horse battery' })
    await sample.git('engine', 'push', '-q', remote.href, 'HEAD:topic')
    for (const head of ['carol:topic', 'carol/engine:topic']) {
      expect(messagesOf((await get(`/compare/main...${head}`)).body.commits)).toEqual([
        'forked\n',
        'strange',
      ])
      expect(await diffOf(`main...${head}`)).toBe(
        await sample.git('engine', 'diff', 'main...feature/x'),
      )
    }
    expect(
      messagesOf(
        (await rest(users.carol, 'GET', '/repos/carol/engine/compare/topic...bob:main')).body
          .commits,
      ),
    ).toEqual(['odds'])
    await server.app.db
      .updateTable('repositories')
      .set({ private: 1 })
      .where('parent_id', 'is not', null)
      .execute()
    for (const path of ['compare', 'diffs']) {
      expect((await get(`/${path}/main...carol:topic`)).status).toBe(404)
      expect((await get(`/${path}/main...carol/engine:topic`)).status).toBe(404)
    }
  })
})

describe('the commits of a private repository', () => {
  let secret: Sample

  beforeAll(async () => {
    secret = await pushSample(server.url, users.bob, 'secret', { private: true })
  })
  afterAll(() => secret.remove())

  it.each([
    '/commits',
    '/git/commits/main',
    '/git/commits/main.diff',
    '/compare/main...feature/x',
    '/diffs/main...feature/x',
  ])('are hidden from other users: %s', async (path) => {
    const url = `${server.url}/api/v1/repos/bob/secret${path}`
    const statusFor = async (authorization?: string) =>
      (await fetch(url, { headers: authorization === undefined ? {} : { authorization } })).status
    const token = async (...scopes: string[]) =>
      `token ${await createToken(server.url, users.bob, scopes)}`
    expect(await statusFor(users.bob.authorization)).toBe(200)
    expect(await statusFor(await token('read:repository'))).toBe(200)
    expect(await statusFor(users.ada.authorization)).toBe(200)
    expect(await statusFor(users.carol.authorization)).toBe(404)
    expect(await statusFor()).toBe(404)
    expect(await statusFor(await token('read:repository', 'public-only'))).toBe(404)
    expect(await statusFor(await token('read:user'))).toBe(403)
  })
})

describe('over RPC', () => {
  it.each(RPC_PROTOCOLS)('commits are the same: %s', async (protocol) => {
    const client = createClient(
      CommitService,
      transportTo(server.url, protocol, users.bob.authorization),
    )
    const repository = { owner: 'bob', repo: 'engine' }
    const { commits, total } = await client.listCommits({ ...repository, path: 'README.md' })
    expect([total, commits.map(({ sha }) => sha)]).toEqual([2n, [idOf('third'), idOf('first')]])
    await expect(client.getCommit({ ...repository, sha: 'nothing' })).rejects.toMatchObject({
      code: 5,
    })
    let diff = ''
    for await (const { data } of client.getCommitDiff({
      ...repository,
      sha: 'main',
      format: 'diff',
    })) {
      diff += Buffer.from(data).toString()
    }
    expect(diff).toContain('+Subproject commit')
  })
})
