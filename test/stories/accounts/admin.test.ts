import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { ServerService } from '#gen/branchline/v1/server_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import type { RestAnswer } from '../../support/rest.ts'
import { createToken, PASSWORD, signIn, transportTo } from '../../support/server.ts'

const { server, users, rest } = await openForge()

const outcome = ({ status, body }: RestAnswer) => [status, body.message]

/** Returns the request fields of a new account. */
const draft = (username: string) => ({
  username,
  email: `${username}@example.org`,
  password: PASSWORD,
})

describe('administrators', () => {
  it('create accounts', async () => {
    const made = await rest(users.ada, 'POST', '/admin/users', {
      ...draft('Eve'),
      full_name: 'Eve E.',
      visibility: 'limited',
      restricted: true,
      // Ignored by this server.
      login_name: 'eve',
      source_id: 0,
      must_change_password: false,
      send_notify: true,
      created_at: null,
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      login: 'Eve',
      full_name: 'Eve E.',
      email: 'Eve@example.org',
      is_admin: false,
      active: true,
      prohibit_login: false,
      restricted: true,
      visibility: 'limited',
    })
    expect((await signIn(server.url, 'eve')).username).toBe('eve')
    expect((await rest(undefined, 'GET', '/users/eve/keys')).status).toBe(404)
  })

  it('create accounts with addresses in any script, each mailbox once', async () => {
    const email = 'ü@exämple.org'
    const made = await rest(users.ada, 'POST', '/admin/users', { ...draft('umlaut'), email })
    expect([made.status, made.body.email]).toEqual([201, email])
    const same = { ...draft('other'), email: 'Ü@xn--exmple-cua.org' }
    expect(outcome(await rest(users.ada, 'POST', '/admin/users', same))).toEqual([
      422,
      'this e-mail address belongs to another account',
    ])
  })

  it.each([
    [{ ...draft('bob') }, 422, 'the username "bob" is taken'],
    [
      { ...draft('x'), email: 'bob@example.org' },
      422,
      'this e-mail address belongs to another account',
    ],
    [{ ...draft('x'), email: '' }, 422, 'the e-mail address is invalid'],
    [{ ...draft('-x-') }, 422, 'a username must have'],
    [{ ...draft('x'), password: 'short' }, 400, 'a password must have'],
    [{ ...draft('x'), visibility: 'secret' }, 422, 'visibility is missing or not allowed'],
  ])('cannot create accounts from %j', async (body, status, message) => {
    const refused = await rest(users.ada, 'POST', '/admin/users', body)
    expect(outcome(refused)).toEqual([status, expect.stringContaining(message)])
  })

  it('change only the named fields, and either all or none', async () => {
    await rest(users.ada, 'POST', '/admin/users', { ...draft('frank'), full_name: 'Frank' })
    const frank = await signIn(server.url, 'frank')
    const edited = await rest(users.ada, 'PATCH', '/admin/users/FRANK', {
      source_id: 0,
      login_name: '',
      email: null,
      password: '',
      description: 'writes',
      admin: true,
      visibility: 'private',
      restricted: null,
      allow_git_hook: null,
    })
    expect(edited.status).toBe(200)
    expect(edited.body).toMatchObject({
      login: 'frank',
      full_name: 'Frank',
      email: 'frank@example.org',
      description: 'writes',
      is_admin: true,
      visibility: 'private',
    })
    expect((await rest(frank, 'GET', '/user')).body.is_admin).toBe(true)
    const refused = await rest(users.ada, 'PATCH', '/admin/users/frank', {
      full_name: 'X',
      email: 'bob@example.org',
    })
    expect(refused.status).toBe(422)
    expect((await rest(frank, 'GET', '/user')).body.full_name).toBe('Frank')
  })

  it('archive and restore users', async () => {
    await rest(users.ada, 'POST', '/admin/users', draft('grace'))
    const { authorization } = await signIn(server.url, 'grace')
    const edit = async (body: object) =>
      (await rest(users.ada, 'PATCH', '/admin/users/grace', body)).body
    expect(await edit({ prohibit_login: true })).toMatchObject({
      active: false,
      prohibit_login: true,
    })
    expect((await rest({ authorization }, 'GET', '/user')).status).toBe(401)
    expect(await edit({ active: true, prohibit_login: false })).toMatchObject({
      active: true,
      prohibit_login: false,
    })
    expect(await edit({ active: false })).toMatchObject({ active: false })
    expect(await edit({ active: true, password: 'another fine password' })).toMatchObject({
      active: true,
    })
    expect((await signIn(server.url, 'grace', 'another fine password')).username).toBe('grace')
  })

  it('delete accounts, with their data if requested', async () => {
    await rest(users.ada, 'POST', '/admin/users', draft('heidi'))
    const heidi = await signIn(server.url, 'heidi')
    await rest(heidi, 'POST', '/user/repos', { name: 'left' })
    expect((await rest(users.ada, 'DELETE', '/admin/users/heidi')).status).toBe(422)
    expect((await rest(users.ada, 'DELETE', '/admin/users/heidi?purge=true')).status).toBe(204)
    expect((await rest(users.ada, 'DELETE', '/admin/users/heidi')).status).toBe(404)
    expect((await rest(undefined, 'GET', '/repos/heidi/left')).status).toBe(404)
  })

  it('delete accounts that only took part in repositories of others, where their words remain', async () => {
    await rest(users.ada, 'POST', '/admin/users', draft('ivan'))
    const ivan = await signIn(server.url, 'ivan')
    await rest(users.bob, 'POST', '/user/repos', { name: 'reviewed', auto_init: true })
    const path = '/repos/bob/reviewed'
    await rest(users.bob, 'POST', `${path}/contents/a.txt`, {
      content: 'YQ==',
      new_branch: 'topic',
    })
    await rest(users.bob, 'POST', `${path}/pulls`, {
      title: 'A topic',
      head: 'topic',
      base: 'main',
    })
    const comments = `${path}/issues/1/comments`
    expect((await rest(ivan, 'POST', comments, { body: 'Good' })).status).toBe(201)
    await rest(ivan, 'POST', `${path}/pulls/1/reviews`, { event: 'COMMENT', body: 'Well' })
    expect((await rest(users.ada, 'DELETE', '/admin/users/ivan')).status).toBe(204)
    const [comment] = (await rest(users.bob, 'GET', comments)).body
    expect([comment.body, comment.user.login]).toEqual(['Good', 'Ghost'])
  })

  it('always include at least one active account', async () => {
    const admins = await server.app.db
      .selectFrom('users')
      .select('username')
      .where('role', '=', 'ADMIN')
      .execute()
    for (const { username } of admins)
      if (username !== 'ada') await rest(users.ada, 'DELETE', `/admin/users/${username}`)
    for (const [method, body] of [
      ['DELETE', undefined],
      ['PATCH', { admin: false }],
      ['PATCH', { active: false }],
    ] as const) {
      expect((await rest(users.ada, method, '/admin/users/ada', body)).status).toBe(422)
    }
    expect((await rest(users.ada, 'GET', '/user')).body.is_admin).toBe(true)
  })

  it('are the only users with access to these methods', async () => {
    const token = async (scope: string) => ({
      authorization: `token ${await createToken(server.url, users.ada, [scope])}`,
    })
    for (const [method, path, body] of [
      ['POST', '/admin/users', draft('mallory')],
      ['PATCH', '/admin/users/bob', { admin: true }],
      ['PATCH', '/admin/users/carol', { admin: true }],
      ['DELETE', '/admin/users/bob', undefined],
    ] as const) {
      expect((await rest(undefined, method, path, body)).status).toBe(401)
      expect((await rest(users.bob, method, path, body)).status).toBe(403)
      expect((await rest(await token('read:admin'), method, path, body)).status).toBe(403)
      expect((await rest(await token('write:user'), method, path, body)).status).toBe(403)
    }
    const own = await rest(await token('all'), 'PATCH', '/admin/users/ada', {
      password: 'taken over by a token',
    })
    expect(own.status).toBe(403)
    expect(
      (await rest(await token('write:admin'), 'POST', '/admin/users', draft('ivan'))).status,
    ).toBe(201)
  })

  it('can do the same over gRPC', async () => {
    const ada = createClient(AdminService, transportTo(server.url, 'gRPC', users.ada.authorization))
    const made = await ada.adminCreateUser(draft('judy'))
    expect(made).toMatchObject({ login: 'judy', active: true })
    expect((await ada.adminEditUser({ username: 'judy', fullName: 'Judy' })).fullName).toBe('Judy')
    await ada.adminDeleteUser({ username: 'judy' })
    await expect(ada.adminDeleteUser({ username: 'judy' })).rejects.toThrow('does not exist')
  })
})

describe('the version of the server', () => {
  it('is public and comparable by clients', async () => {
    const { status, body } = await rest(undefined, 'GET', '/version')
    expect(status).toBe(200)
    expect(body).toEqual({
      version: expect.stringMatching(/^1\.\d+\.\d+\+branchline-\d+\.\d+\.\d+$/),
    })
    const client = createClient(ServerService, transportTo(server.url, 'gRPC'))
    expect((await client.getVersion({})).version).toBe(body.version)
  })
})
