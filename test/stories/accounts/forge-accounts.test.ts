import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { openGitClient, remoteOf } from '../../support/git-client.ts'
import { restAt } from '../../support/rest.ts'
import { type Actor, createToken, transportTo } from '../../support/server.ts'

const { server, users } = await openForge()

/** Sends a GET over REST as a user, with a token or anonymously. */
function get(who: Actor | string | undefined, path: string) {
  return restAt(server.url)(
    typeof who === 'string' ? { authorization: `token ${who}` } : who,
    'GET',
    path,
  )
}

const logins = (accounts: readonly { login: string }[]) => accounts.map(({ login }) => login)

describe('the authenticated account', () => {
  it('sees all of its own fields', async () => {
    const { status, body } = await get(users.ada, '/user')
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.any(Number),
      login: 'ada',
      login_name: '',
      source_id: 0,
      full_name: '',
      email: 'ada@example.org',
      avatar_url: expect.stringContaining('/file/avatars/'),
      html_url: `${server.url}/ada`,
      language: '',
      is_admin: true,
      last_login: '0001-01-01T00:00:00Z',
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      restricted: false,
      active: true,
      prohibit_login: false,
      location: '',
      website: '',
      description: '',
      visibility: 'public',
      followers_count: 0,
      following_count: 0,
      starred_repos_count: 0,
      username: 'ada',
    })
  })

  it('requires a signed-in caller with the right scope', async () => {
    expect((await get(undefined, '/user')).status).toBe(401)
    expect(
      (await get(await createToken(server.url, users.bob, ['write:repository']), '/user')).status,
    ).toBe(403)
    expect(
      (await get(await createToken(server.url, users.bob, ['read:user']), '/user')).body,
    ).toMatchObject({
      email: 'bob@example.org',
    })
  })

  it('shows only public fields to a public-only token', async () => {
    const token = await createToken(server.url, users.ada, ['read:user', 'public-only'])
    const { body } = await get(token, '/user')
    expect(body).toMatchObject({ login: 'ada', is_admin: false, active: false, language: '' })
    expect(body.email).toBe(`${body.id}+ada@noreply.127.0.0.1`)
  })

  it('has a picture with a working URL', async () => {
    const client = createClient(
      UserService,
      transportTo(server.url, 'gRPC', users.carol.authorization),
    )
    const pixel = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
    const user = { name: 'users/carol', avatarUrl: `data:image/gif;base64,${pixel}` }
    await client.updateUser({ user, updateMask: { paths: ['avatar_url'] } })
    const { avatar_url: url } = (await get(users.carol, '/user')).body
    expect(url).toBe(`${server.url}/file/users/carol/avatar`)
    expect((await fetch(url)).headers.get('content-type')).toBe('image/gif')
  })

  it('is the same over gRPC', async () => {
    const client = createClient(
      AccountService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    expect(await client.getAuthenticatedAccount({})).toMatchObject({
      login: 'bob',
      isAdmin: false,
      active: true,
    })
    const { results, total } = await client.searchAccounts({ q: 'AR' })
    expect([logins(results?.data ?? []), total]).toEqual([['carol'], 1n])
  })
})

describe('a search for users', () => {
  it('finds active users by part of a name, in order and in pages', async () => {
    const all = await get(users.bob, '/users/search')
    expect(all.body).toMatchObject({ ok: true })
    expect(logins(all.body.data)).toEqual(['ada', 'bob', 'carol'])
    expect(Object.keys(all.body)).toEqual(['ok', 'data'])
    expect(all.headers.get('x-total-count')).toBe('3')
    const page = await get(users.bob, '/users/search?page=2&limit=1')
    expect(logins(page.body.data)).toEqual(['bob'])
    expect(page.headers.get('link')).toContain('rel="next"')
    expect(logins((await get(users.bob, '/users/search?q=A')).body.data)).toEqual(['ada', 'carol'])
    expect(logins((await get(users.bob, '/users/search?q=dan')).body.data)).toEqual([])
    const { id } = (await get(users.carol, '/user')).body
    expect(logins((await get(users.bob, `/users/search?uid=${id}`)).body.data)).toEqual(['carol'])
    expect(logins((await get(users.bob, `/users/search?uid=${id}&q=bob`)).body.data)).toEqual([])
  })

  it('finds users by their addresses for administrators only', async () => {
    const found = async (who: Actor) => logins((await get(who, '/users/search?q=ol@exa')).body.data)
    expect(await found(users.ada)).toEqual(['carol'])
    expect(await found(users.bob)).toEqual([])
  })

  it('shows no address of other users, except to administrators', async () => {
    const emails = async (who: Actor) =>
      (await get(who, '/users/search')).body.data.map(({ email }: { email: string }) => email)
    expect(await emails(users.bob)).toEqual([
      expect.stringMatching(/^\d+\+ada@noreply\.127\.0\.0\.1$/),
      'bob@example.org',
      expect.stringMatching(/^\d+\+carol@noreply\.127\.0\.0\.1$/),
    ])
    expect(await emails(users.ada)).toEqual([
      'ada@example.org',
      'bob@example.org',
      'carol@example.org',
    ])
  })

  it('is not confused with a user named search, and requires a caller and a scope', async () => {
    expect((await get(undefined, '/users/search')).status).toBe(401)
    const token = await createToken(server.url, users.bob, ['read:repository'])
    expect((await get(token, '/users/search')).status).toBe(403)
  })
})

describe('a renamed account', () => {
  it('is found with its repositories under the old name, over REST and by Git', async () => {
    await restAt(server.url)(users.carol, 'POST', '/user/repos', { name: 'tools', auto_init: true })
    const client = createClient(
      UserService,
      transportTo(server.url, 'gRPC', users.carol.authorization),
    )
    const user = { name: 'users/carol', username: 'Caroline' }
    await client.updateUser({ user, updateMask: { paths: ['username'] } })
    const { status, headers } = await get(undefined, '/repos/Carol/tools/labels?page=2&limit=5')
    expect([status, headers.get('location')]).toEqual([
      307,
      '/api/v1/repos/Caroline/tools/labels?page=2&limit=5',
    ])
    expect((await get(undefined, '/repos/carol/nothing')).status).toBe(404)
    expect((await get(undefined, '/repos/caroline/tools')).body).toMatchObject({
      owner: { login: 'Caroline' },
    })
    const git = await openGitClient()
    await git.git('.', 'clone', '-q', remoteOf(server.url, 'carol/tools'))
    expect(await git.git('tools', 'log', '--format=%s')).toBe('Initial commit')
    await git.remove()
  })
})
