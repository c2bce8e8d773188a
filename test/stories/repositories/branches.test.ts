import { describe, expect, it } from 'vitest'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { pushSample, SIGNATURE } from '../../support/sample-repository.ts'
import { createToken, PASSWORD, type TestUsers } from '../../support/server.ts'

const forge = await openForge()
const { server, users, client, rest } = forge

/**
 * Makes a repository of bob with a first commit and some branches of it, and returns its path and
 * git in the server's folder.
 */
async function repository(name: string, branches: readonly string[], settings: object = {}) {
  const { body } = await rest(users.bob, 'POST', '/user/repos', {
    name,
    auto_init: true,
    ...settings,
  })
  const remote = remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD)
  await client.git('.', 'clone', '-q', remote, name)
  await client.git(
    name,
    'push',
    '-q',
    'origin',
    ...branches.map((branch) => `HEAD:refs/heads/${branch}`),
  )
  const behind = (...args: string[]) =>
    client.git('.', '-C', repositoryPath(server.app.git, body.id), ...args)
  return { path: `/repos/bob/${name}`, behind, head: await client.git(name, 'rev-parse', 'HEAD') }
}

const names = (branches: { name: string }[]) => branches.map(({ name }) => name)

describe('a branch', () => {
  it('has its last commit and no protection', async () => {
    const { ids, remove } = await pushSample(server.url, users.bob, 'sample')
    await remove()
    const { status, body } = await rest(undefined, 'GET', '/repos/bob/sample/branches/main')
    const bob = { name: 'Bob', email: 'BOB@example.org', username: 'bob' }
    expect([status, body]).toEqual([
      200,
      {
        name: 'main',
        commit: {
          id: ids.odds,
          message: 'odds',
          url: `${server.url}/bob/sample/commit/${ids.odds}`,
          author: bob,
          committer: bob,
          verification: {
            verified: false,
            reason: 'gpg.error.not_signed_commit',
            signature: '',
            signer: null,
            payload: '',
          },
          timestamp: '2026-02-02T02:40:05Z',
          added: null,
          removed: null,
          modified: null,
        },
        protected: false,
        required_approvals: 0,
        enable_status_check: false,
        status_check_contexts: [],
        user_can_push: false,
        user_can_merge: false,
        effective_branch_protection_name: '',
      },
    ])
    const signed = await rest(undefined, 'GET', '/repos/bob/sample/branches/signed')
    expect(signed.body.commit.verification).toMatchObject({
      verified: false,
      reason: 'gpg.error.extract_sign',
      signature: SIGNATURE,
    })
    const strange = await rest(undefined, 'GET', '/repos/bob/sample/branches/feature/x')
    expect(strange.body.commit.author).toEqual({
      name: 'Stranger',
      email: 'stranger@elsewhere.example',
      username: '',
    })
  })

  it.each([
    ['feature/x', 'feature/x'],
    ['feature/x', 'feature%2Fx'],
    ['topic/größe-日本', encodeURIComponent('topic/größe-日本')],
    ['100%', '100%25'],
    ['a#b&c=d+e', encodeURIComponent('a#b&c=d+e')],
    // As the path of the list ends.
    ['branches', 'branches'],
  ])('with the name %s is found at %s', async (name, path) => {
    const repo = `names-${Buffer.from(path).toString('hex').slice(0, 40)}`
    const { path: at, head } = await repository(repo, [name])
    const { status, body } = await rest(undefined, 'GET', `${at}/branches/${path}`)
    expect([status, body.name, body.commit?.id]).toEqual([200, name, head])
    const listed = await rest(undefined, 'GET', `${at}/branches`)
    expect(listed.body).toContainEqual(body)
  })

  it('differs from a branch whose name differs in case only', async () => {
    const { path } = await repository('cases', ['Feature'])
    expect((await rest(undefined, 'GET', `${path}/branches/Feature`)).body.name).toBe('Feature')
    expect((await rest(undefined, 'GET', `${path}/branches/feature`)).status).toBe(404)
    await client.git('cases', 'push', '-q', 'origin', 'HEAD:refs/heads/feature')
    expect((await rest(undefined, 'GET', `${path}/branches/feature`)).body.name).toBe('feature')
    await client.git('cases', 'push', '-q', 'origin', ':Feature')
    expect((await rest(undefined, 'GET', `${path}/branches/feature`)).status).toBe(200)
    expect((await rest(undefined, 'GET', `${path}/branches/Feature`)).status).toBe(404)
  })

  it('is found by its exact name only', async () => {
    const { path } = await repository('missing', ['feature/x'])
    await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'v1' })
    const others = ['nothing', 'feature', 'feature/x/y', 'refs/heads/main', 'HEAD', 'v1', 'main~0']
    const unfit = ['a..b', '%00', '%0A', 'x'.repeat(2000)]
    for (const name of [...others, ...unfit]) {
      const { status, body } = await rest(undefined, 'GET', `${path}/branches/${name}`)
      expect([name, status, body.message]).toEqual([name, 404, 'not found'])
    }
  })

  it('accepts pushes from users with write access', async () => {
    const { path } = await repository('rights', [])
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    const mayPush = async (who: TestUsers['bob'] | undefined) => {
      const { body } = await rest(who, 'GET', `${path}/branches/main`)
      const [listed] = (await rest(who, 'GET', `${path}/branches`)).body
      expect(listed).toEqual(body)
      return [body.user_can_push, body.user_can_merge]
    }
    expect(await mayPush(undefined)).toEqual([false, false])
    expect(await mayPush(users.carol)).toEqual([false, false])
    expect(await mayPush(users.bob)).toEqual([true, true])
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    expect(await mayPush(users.carol)).toEqual([true, true])
  })

  it('is available over gRPC', async () => {
    const { head } = await repository('grpc-branches', ['feature/x'])
    const grpc = forge.grpc(BranchService, users.bob)
    const place = { owner: 'bob', repo: 'grpc-branches' }
    const branch = await grpc.getBranch({ ...place, branch: 'feature/x' })
    expect(branch).toMatchObject({
      name: 'feature/x',
      userCanPush: true,
      commit: { id: head, added: [] },
    })
    expect(await grpc.listBranches({ ...place, q: 'FEAT' })).toMatchObject({
      branches: [branch],
      total: 1n,
      limit: 30,
    })
    await expect(grpc.getBranch({ ...place, branch: 'y' })).rejects.toThrow('not found')
  })
})

describe('the list of branches', () => {
  it('has the latest commit first', async () => {
    const { remove } = await pushSample(server.url, users.bob, 'ordered')
    await remove()
    const { body, headers } = await rest(undefined, 'GET', '/repos/bob/ordered/branches')
    expect(names(body)).toEqual(['signed', 'main', 'feature/x'])
    expect([headers.get('x-total-count'), headers.get('link')]).toEqual(['3', null])
  })

  it('sorts commits of the same time by name, and has pages', async () => {
    const { path } = await repository('paged', ['a', 'b', 'c', 'd'])
    const page = async (query: string) => {
      const { body, headers } = await rest(undefined, 'GET', `${path}/branches?${query}`)
      const links = [...(headers.get('link') ?? '').matchAll(/rel="(\w+)"/g)].map(([, rel]) => rel)
      return [names(body), headers.get('x-total-count'), links]
    }
    expect(await page('limit=2')).toEqual([['a', 'b'], '5', ['next', 'last']])
    expect(await page('limit=2&page=3')).toEqual([['main'], '5', ['first', 'prev']])
    expect(await page('limit=2&page=9')).toEqual([[], '5', ['first', 'prev']])
    expect(await page('limit=x&page=-1')).toEqual([['a', 'b', 'c', 'd', 'main'], '5', []])
  })

  it('can be filtered by a part of the name, in any case', async () => {
    const { path } = await repository('searched', ['Fix/one', 'prefix', 'x_y', 'xzy'])
    const search = async (q: string) => {
      const { body, headers } = await rest(
        undefined,
        'GET',
        `${path}/branches?limit=1&q=${encodeURIComponent(q)}`,
      )
      return [names(body), headers.get('x-total-count')]
    }
    expect(await search('fIX')).toEqual([['Fix/one'], '2'])
    // No pattern of SQL.
    expect(await search('x_')).toEqual([['x_y'], '1'])
    expect(await search('%')).toEqual([[], '0'])
    expect(await search('')).toEqual([['Fix/one'], '5'])
  })

  it('is empty for an empty repository', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'empty' })
    const { status, body, headers } = await rest(undefined, 'GET', '/repos/bob/empty/branches')
    expect([status, body, headers.get('x-total-count')]).toEqual([200, [], '0'])
    expect((await rest(undefined, 'GET', '/repos/bob/empty/branches/main')).status).toBe(404)
  })

  it('leaves out and does not count a branch that was deleted without the server', async () => {
    const { path, behind } = await repository('deleted', ['a', 'b', 'c', 'd'])
    for (const name of ['a', 'b']) await behind('update-ref', '-d', `refs/heads/${name}`)
    const { body, headers } = await rest(undefined, 'GET', `${path}/branches?limit=3`)
    expect([names(body), headers.get('x-total-count')]).toEqual([['c', 'd', 'main'], '3'])
    // What moves into the page meanwhile may be gone, too.
    for (const name of ['c', 'd']) await behind('update-ref', '-d', `refs/heads/${name}`)
    const first = await rest(undefined, 'GET', `${path}/branches?limit=1`)
    expect([names(first.body), first.headers.get('x-total-count')]).toEqual([[], '1'])
    expect(names((await rest(undefined, 'GET', `${path}/branches?limit=1`)).body)).toEqual(['main'])
  })

  it('has the current commit of a branch that was moved without the server', async () => {
    const { path, behind, head } = await repository('moved', ['a'])
    const person = ['-c', 'user.name=x', '-c', 'user.email=x@y.example']
    const moved = await behind(...person, 'commit-tree', `${head}^{tree}`, '-p', head, '-m', 'x')
    await behind('update-ref', 'refs/heads/a', moved)
    const { body } = await rest(undefined, 'GET', `${path}/branches`)
    expect(
      body.map(({ name, commit }: { name: string; commit: { id: string } }) => [name, commit.id]),
    ).toEqual([
      ['a', moved],
      ['main', head],
    ])
  })

  it('is read from Git when the database has no branch', async () => {
    const { path } = await repository('unknown', ['a'])
    const { body } = await rest(users.bob, 'GET', path)
    await server.app.db.deleteFrom('branches').where('repository_id', '=', body.id).execute()
    expect(names((await rest(undefined, 'GET', `${path}/branches`)).body)).toEqual(['a', 'main'])
  })

  it('is available only to users who can read the code', async () => {
    const { path } = await repository('hidden', ['secret'], { private: true })
    const readOnly = {
      authorization: `token ${await createToken(server.url, users.bob, ['read:repository'])}`,
    }
    const issuesOnly = {
      authorization: `token ${await createToken(server.url, users.bob, ['write:issue'])}`,
    }
    const publicOnly = {
      authorization: `token ${await createToken(server.url, users.bob, ['all', 'public-only'])}`,
    }
    for (const tail of ['', '/secret', '/nothing']) {
      const statusFor = async (who?: { authorization: string }) =>
        (await rest(who, 'GET', `${path}/branches${tail}`)).status
      expect(await statusFor()).toBe(404)
      expect(await statusFor(users.carol)).toBe(404)
      expect(await statusFor(publicOnly)).toBe(404)
      expect(await statusFor(issuesOnly)).toBe(403)
      expect(await statusFor(readOnly)).toBe(tail === '/nothing' ? 404 : 200)
    }
  })

  it('is available for an archived repository', async () => {
    const { path } = await repository('archived', ['a'])
    await rest(users.bob, 'PATCH', path, { archived: true })
    expect(names((await rest(undefined, 'GET', `${path}/branches`)).body)).toEqual(['a', 'main'])
  })
})
