import { createClient } from '@connectrpc/connect'
import { beforeAll, describe, expect, it } from 'vitest'
import { CommitStatusService } from '#gen/branchline/v1/commit_status_service_pb.ts'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { findUserByNameKey } from '../../../src/forge/accounts/users/users.rows.ts'
import { openRepository } from '../../../src/forge/repositories/access/permissions.ts'
import { insertCommitStatus } from '../../../src/forge/repositories/commits/commit-statuses.rows.ts'
import { createCommitStatus } from '../../../src/forge/repositories/commits/commit-statuses.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { LOCAL_PEER } from '../../support/app.ts'
import { callerNamed } from '../../support/callers.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { PASSWORD, transportTo } from '../../support/server.ts'

const forge = await openForge()
const { server, users: testUsers, rest, ask, client } = forge
beforeAll(async () => {
  for (const name of ['engine', 'secret']) {
    await ask(testUsers.bob, 'POST', '/user/repos', {
      name,
      auto_init: true,
      private: name === 'secret',
    })
    await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  }
})

/** Creates and pushes a commit, and returns its id. */
async function push(refs: readonly string[] = ['main'], folder = 'engine'): Promise<string> {
  const id = await client.commit(folder, 'more')
  await client.git(
    folder,
    'push',
    '-q',
    '--force',
    'origin',
    ...refs.map((ref) => `HEAD:refs/${ref}`),
  )
  return id
}

/** Creates a status and returns it. */
async function post(sha: string, body: object) {
  const made = await rest(testUsers.bob, 'POST', `/repos/bob/engine/statuses/${sha}`, body)
  expect([made.status, made.body.message]).toEqual([201, undefined])
  return made.body
}

describe('a commit status', () => {
  it('has a commit and a creator', async () => {
    const sha = await push(['heads/main'])
    const said = {
      target_url: 'https://ci.example.org/1',
      description: 'all green',
      context: 'ci/build',
    }
    const status = await post(sha, { state: 'success', ...said })
    expect(status).toEqual({
      id: 1,
      status: 'success',
      ...said,
      url: `${server.url}/api/v1/repos/bob/engine/statuses/${sha}`,
      creator: expect.objectContaining({ login: 'bob', username: 'bob' }),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      updated_at: status.created_at,
    })
    const list = await rest(undefined, 'GET', `/repos/bob/engine/statuses/${sha}`)
    expect([list.body, list.headers.get('x-total-count')]).toEqual([
      [{ ...status, creator: expect.objectContaining({ login: 'bob' }) }],
      '1',
    ])
  })

  it('has the context `default` by default', async () => {
    const sha = await push(['heads/main'])
    expect((await post(sha, { state: 'pending' })).context).toBe('default')
    expect((await post(sha, { state: 'pending', context: '' })).context).toBe('default')
  })

  it.each(['ci.example.org/1', 'build 7', 'ssh://ci.example.org', 'javascript:alert(1)'])(
    'has any text as its address, such as %j, and returns it unchanged',
    async (target_url) => {
      const sha = await push(['heads/main'])
      expect((await post(sha, { state: 'success', target_url })).target_url).toBe(target_url)
    },
  )

  it('can name the commit by any revision', async () => {
    const sha = await push(['heads/topic/a', 'tags/v1'])
    for (const name of [sha, sha.slice(0, 8), 'v1', 'topic%2Fa', 'refs%2Fheads%2Ftopic%2Fa']) {
      const { url } = await post(name, { state: 'pending', context: name })
      expect(url).toBe(`${server.url}/api/v1/repos/bob/engine/statuses/${sha}`)
    }
  })

  it.each([
    [{}, '"" is not a valid status state'],
    [{ state: '' }, '"" is not a valid status state'],
    [{ state: 'great' }, '"great" is not a valid status state'],
    [{ state: 'SUCCESS' }, '"SUCCESS" is not a valid status state'],
    [{ state: 'success', context: 'x'.repeat(256) }, 'context is longer than 255 characters'],
    [
      { state: 'success', description: 'x'.repeat(1025) },
      'description is longer than 1024 characters',
    ],
    [
      { state: 'success', target_url: 'https://ci.example.org/\u0000' },
      'target_url is missing or not allowed',
    ],
    [
      { state: 'success', target_url: `https://${'x'.repeat(2048)}` },
      'target_url is longer than 2048 characters',
    ],
  ])('is not created from %j', async (body, message) => {
    const refused = await rest(testUsers.bob, 'POST', '/repos/bob/engine/statuses/main', body)
    expect([refused.status, refused.body.message]).toEqual([422, message])
  })

  it.each(['0'.repeat(40), 'abcdef0', 'nothing', 'main^{tree}', 'a..b', 'HEAD@{0}', ':/more'])(
    'is not made of %j, which is no commit',
    async (name) => {
      const path = encodeURIComponent(name)
      const refused = await rest(testUsers.bob, 'POST', `/repos/bob/engine/statuses/${path}`, {
        state: 'success',
      })
      expect([refused.status, refused.body.message]).toEqual([404, `commit doesn't exist: ${name}`])
      expect((await rest(testUsers.bob, 'GET', `/repos/bob/engine/statuses/${path}`)).status).toBe(
        404,
      )
      expect(
        (await rest(testUsers.bob, 'GET', `/repos/bob/engine/commits/${path}/status`)).status,
      ).toBe(404)
    },
  )

  it('is not created for a tree', async () => {
    const tree = await client.git('engine', 'rev-parse', 'HEAD^{tree}')
    expect(
      (
        await rest(testUsers.bob, 'POST', `/repos/bob/engine/statuses/${tree}`, {
          state: 'success',
        })
      ).status,
    ).toBe(404)
  })

  it('is not created in an empty repository', async () => {
    await rest(testUsers.bob, 'POST', '/user/repos', { name: 'empty' })
    expect(
      (await rest(testUsers.bob, 'POST', '/repos/bob/empty/statuses/main', { state: 'success' }))
        .status,
    ).toBe(404)
    expect((await rest(testUsers.bob, 'GET', '/repos/bob/empty/commits/main/status')).status).toBe(
      404,
    )
  })

  it('outlives its creator', async () => {
    const sha = await push(['heads/main'])
    const users = createClient(
      UserService,
      transportTo(server.url, 'Connect JSON', testUsers.ada.authorization),
    )
    await users.createUser({ user: { username: 'temp', password: PASSWORD, role: User_Role.USER } })
    await rest(testUsers.bob, 'PUT', '/repos/bob/engine/collaborators/temp', {
      permission: 'write',
    })
    const temp = { authorization: `Basic ${Buffer.from(`temp:${PASSWORD}`).toString('base64')}` }
    expect(
      (await rest(temp, 'POST', `/repos/bob/engine/statuses/${sha}`, { state: 'success' })).status,
    ).toBe(201)
    await users.deleteUser({ name: 'users/temp', force: true })
    const { body } = await rest(undefined, 'GET', `/repos/bob/engine/statuses/${sha}`)
    expect(body[0].creator).toMatchObject({ id: -1, login: 'Ghost' })
  })
})

describe('statuses', () => {
  let sha: string

  beforeAll(async () => {
    sha = await push(['heads/release/1.0'])
    for (const state of ['pending', 'failure', 'pending', 'success'])
      await post(sha, { state, context: 'ci' })
    await post(sha, { state: 'skipped', context: 'lint' })
  })

  it.each([
    ['', [5, 4, 3, 2, 1]],
    ['?sort=recentupdate', [5, 4, 3, 2, 1]],
    ['?sort=highestindex', [5, 4, 3, 2, 1]],
    ['?sort=nonsense', [5, 4, 3, 2, 1]],
    ['?sort=oldest', [1, 2, 3, 4, 5]],
    ['?sort=leastupdate', [1, 2, 3, 4, 5]],
    ['?sort=leastindex', [1, 2, 3, 4, 5]],
    ['?state=pending', [3, 1]],
    ['?state=pending&sort=oldest', [1, 3]],
    ['?state=error', []],
    ['?state=nonsense', [5, 4, 3, 2, 1]],
    ['?limit=2&page=2', [3, 2]],
  ])('are listed with %j', async (query, ids) => {
    const paths = [`/statuses/${sha}`, `/commits/${sha}/statuses`, '/commits/release/1.0/statuses']
    for (const path of [...paths, '/commits/release%2F1.0/statuses']) {
      const { status, body } = await rest(undefined, 'GET', `/repos/bob/engine${path}${query}`)
      expect([status, body.map(({ id }: { id: number }) => id)]).toEqual([200, ids])
    }
  })

  it('have a total that does not depend on the page', async () => {
    const page = await rest(
      undefined,
      'GET',
      `/repos/bob/engine/commits/release/1.0/statuses?limit=2&state=pending`,
    )
    expect(page.headers.get('x-total-count')).toBe('2')
    const first = await rest(
      undefined,
      'GET',
      `/repos/bob/engine/commits/release/1.0/statuses?limit=2`,
    )
    expect(first.headers.get('link')).toContain('/commits/release/1.0/statuses?limit=2&page=2')
  })

  it.each<[caller: string, repository: string, read: number, write: number]>([
    ['nobody', 'engine', 200, 401],
    ['carol', 'engine', 200, 403],
    ['ada', 'engine', 200, 201],
    ['nobody', 'secret', 404, 401],
    ['carol', 'secret', 404, 404],
    ['read:repository', 'secret', 200, 403],
    ['write:repository', 'secret', 200, 201],
    ['write:issue', 'secret', 403, 403],
    ['public-only', 'secret', 404, 404],
    ['bob', 'archived', 200, 423],
    ['carol', 'archived', 200, 403],
  ])('to %s, of %s', async (caller, repository, read, write) => {
    if (repository === 'archived') {
      await rest(testUsers.bob, 'POST', '/user/repos', { name: 'archived', auto_init: true })
      await rest(testUsers.bob, 'PATCH', '/repos/bob/archived', { archived: true })
    }
    const who = await callerNamed(server.url, testUsers, caller)
    const home = `/repos/bob/${repository}`
    for (const path of ['statuses/main', 'commits/main/statuses', 'commits/main/status']) {
      expect((await rest(who, 'GET', `${home}/${path}`)).status).toBe(read)
    }
    expect((await rest(who, 'POST', `${home}/statuses/main`, { state: 'success' })).status).toBe(
      write,
    )
    if (write !== 201)
      expect((await rest(who, 'POST', `${home}/statuses/nothing`, {})).status).toBe(write)
  })
})

describe('the combined status', () => {
  it.each<[states: string[], combined: string]>([
    [[], 'pending'],
    [['success'], 'success'],
    [['skipped'], 'success'],
    [['success', 'skipped'], 'success'],
    [['success', 'pending'], 'pending'],
    [['pending', 'failure'], 'failure'],
    [['success', 'error'], 'failure'],
    [['success', 'warning'], 'failure'],
  ])('of %j is %s', async (states, combined) => {
    const sha = await push(['heads/main'])
    for (const [i, state] of states.entries()) await post(sha, { state, context: `context ${i}` })
    const { status, body } = await rest(undefined, 'GET', '/repos/bob/engine/commits/main/status')
    expect(status).toBe(200)
    expect(body).toMatchObject({ state: combined, sha, total_count: states.length })
    expect(body.statuses.map((each: { status: string }) => each.status)).toEqual(
      states.toReversed(),
    )
  })

  it('is a page with the number of contexts and links to other pages', async () => {
    const sha = await push(['heads/main'])
    for (const context of ['a', 'b', 'c']) await post(sha, { state: 'success', context })
    const path = `/repos/bob/engine/commits/${sha}/status`
    const whole = await rest(undefined, 'GET', path)
    expect([whole.headers.get('x-total-count'), whole.headers.get('link')]).toEqual(['3', null])
    expect(whole.body).not.toHaveProperty('limit')
    const page = await rest(undefined, 'GET', `${path}?limit=2`)
    expect(page.body.statuses).toHaveLength(2)
    expect(page.headers.get('link')).toContain(
      `<${server.url}/api/v1${path}?limit=2&page=2>; rel="next"`,
    )
  })

  it('combines the latest status of each context', async () => {
    const sha = await push(['heads/feature/x'])
    for (const state of ['pending', 'failure', 'success']) await post(sha, { state, context: 'ci' })
    await post(sha, { state: 'success', context: 'lint' })
    await post(sha, { state: 'success', context: 'docs' })
    for (const ref of ['feature/x', 'feature%2Fx', 'refs/heads/feature/x', sha, sha.slice(0, 10)]) {
      const { body } = await rest(
        undefined,
        'GET',
        `/repos/bob/engine/commits/${ref}/status?limit=2`,
      )
      expect(body).toMatchObject({ state: 'success', sha, total_count: 3 })
      expect(body.statuses.map(({ context }: { context: string }) => context)).toEqual([
        'docs',
        'lint',
      ])
      expect(body.repository).toMatchObject({
        full_name: 'bob/engine',
        permissions: { pull: true, push: false },
      })
      const api = `${server.url}/api/v1/repos/bob/engine`
      expect([body.url, body.commit_url]).toEqual([
        `${api}/commits/${sha}/status`,
        `${api}/git/commits/${sha}`,
      ])
    }
    const rest2 = await rest(
      undefined,
      'GET',
      `/repos/bob/engine/commits/${sha}/status?limit=2&page=2`,
    )
    expect(rest2.body.statuses.map(({ id }: { id: number }) => id)).toEqual([3])
  })

  it('stays with its commit', async () => {
    const before = await push(['heads/main'])
    await post('main', { state: 'failure' })
    await push(['heads/main'])
    expect((await rest(undefined, 'GET', '/repos/bob/engine/commits/main/status')).body.state).toBe(
      'pending',
    )
    const old = await rest(undefined, 'GET', `/repos/bob/engine/commits/${before}/status`)
    expect(old.body.state).toBe('failure')
  })

  it('is limited in contexts, but not in statuses', async () => {
    const sha = await push(['heads/main'])
    const { id } = (await rest(testUsers.bob, 'GET', '/repos/bob/engine')).body
    const status = {
      repository_id: id,
      commit_id: sha,
      target_url: '',
      description: '',
      creator_id: 1,
      create_time: 1,
    }
    await transaction(server.app.db, async (tx) => {
      for (let i = 0; i < 1000; i++) {
        await insertCommitStatus(tx, { ...status, context: `context ${i}`, state: 'success' })
      }
    })
    const refused = await rest(testUsers.bob, 'POST', `/repos/bob/engine/statuses/${sha}`, {
      state: 'success',
      context: 'x',
    })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'a commit can have statuses of at most 1000 contexts',
    ])
    await post(sha, { state: 'failure', context: 'context 7' })
    const { body } = await rest(undefined, 'GET', `/repos/bob/engine/commits/${sha}/status`)
    expect([body.state, body.total_count, body.statuses.length]).toEqual(['failure', 1000, 30])
  })
})

describe('a commit with very many statuses', () => {
  it('loses old statuses that no longer count', async () => {
    const sha = await push(['heads/main'])
    for (const context of ['ci', 'ci', 'rare']) await post(sha, { state: 'failure', context })
    const { id } = (await rest(testUsers.bob, 'GET', '/repos/bob/engine')).body
    const common = {
      repository_id: id,
      commit_id: sha,
      target_url: '',
      description: '',
      creator_id: 1,
      create_time: 1,
    }
    await server.app.db
      .insertInto('commit_statuses')
      .values({ ...common, context: 'ci', state: 'pending', number: 5003 })
      .execute()
    await post(sha, { state: 'success', context: 'ci' })
    const { body } = await rest(undefined, 'GET', `/repos/bob/engine/statuses/${sha}`)
    expect(
      body.map((status: { id: number; context: string }) => [status.id, status.context]),
    ).toEqual([
      [5004, 'ci'],
      [5003, 'ci'],
      [3, 'rare'],
    ])
    const combined = await rest(undefined, 'GET', `/repos/bob/engine/commits/${sha}/status`)
    expect(combined.body).toMatchObject({ state: 'failure', total_count: 2 })
  })
})

describe('CommitStatusService', () => {
  it('does the same over gRPC, with reasons', async () => {
    const statuses = forge.grpc(CommitStatusService, testUsers.bob)
    const home = { owner: 'bob', repo: 'engine' }
    const sha = await push(['heads/main'])
    const made = await statuses.createCommitStatus({
      ...home,
      sha,
      state: 'success',
      context: 'ci',
    })
    expect(made).toMatchObject({ id: 1n, status: 'success', creator: { login: 'bob' } })
    const listed = await statuses.listCommitStatuses({ ...home, ref: 'main' })
    expect(listed).toMatchObject({ statuses: [made], total: 1n, limit: 30 })
    const combined = await statuses.getCombinedStatus({ ...home, ref: 'main' })
    expect(combined).toMatchObject({ state: 'success', sha, totalCount: 1n, statuses: [made] })
    const refused = statuses.createCommitStatus({ ...home, sha, state: 'great' })
    expect(await refusalOf(refused)).toMatchObject({
      code: 'InvalidArgument',
      reason: 'INVALID_STATUS_STATE',
      metadata: { state: 'great' },
    })
  })
})

describe('a repository that is archived while a status is created', () => {
  it('takes no status', async () => {
    await ask(testUsers.bob, 'POST', '/user/repos', { name: 'closing', auto_init: true })
    const user = await findUserByNameKey(server.app.db, 'bob')
    if (!user) throw new Error('bob is missing')
    const credential = { kind: 'password' } as const
    const caller = { kind: 'user', peer: LOCAL_PEER, user, credential } as const
    const { repository } = await openRepository(
      server.app,
      caller,
      { owner: 'bob', repo: 'closing' },
      'write',
    )
    await ask(testUsers.bob, 'PATCH', '/repos/bob/closing', { archived: true })
    const draft = { state: 'success', context: '', description: '', targetUrl: '' }
    await expect(
      createCommitStatus(server.app, caller, repository, 'main', draft),
    ).rejects.toMatchObject({ reason: 'REPOSITORY_ARCHIVED' })
    expect(await ask(testUsers.bob, 'GET', '/repos/bob/closing/commits/main/statuses')).toEqual([])
  })
})
