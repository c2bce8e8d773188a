import { fromJson } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { IdentityProviderSchema } from '#gen/branchline/v1/identity_provider_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { createToken, signIn } from '../../support/server.ts'

const forge = await openForge()
const { server, users, rest, ask, client } = forge
const { ada, bob, carol } = users

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl work'

/** Adds a provider of identities, and returns its number. */
async function identityProvider(): Promise<number> {
  await forge.grpc(IdentityProviderService, ada).createIdentityProvider({
    identityProvider: fromJson(IdentityProviderSchema, {
      type: 'OAUTH2',
      title: 'Work',
      config: {
        oauth2Config: {
          clientId: 'branchline',
          clientSecret: 'a secret of ours',
          authUrl: 'https://sso.example.org/authorize',
          tokenUrl: 'https://sso.example.org/token',
          userInfoUrl: 'https://sso.example.org/userinfo',
          scopes: ['openid'],
          fieldMapping: { identifier: 'sub' },
        },
      },
    }),
  })
  const { id } = await server.app.db
    .selectFrom('identity_providers')
    .select('id')
    .executeTakeFirstOrThrow()
  return id
}

const loginsOf = (answer: unknown) =>
  (answer as readonly { login: string }[]).map(({ login }) => login)

describe('administrators look at everything', () => {
  it('accounts are listed by name, page by page, archived ones too', async () => {
    expect(loginsOf(await ask(ada, 'GET', '/admin/users'))).toEqual(['ada', 'bob', 'carol', 'dan'])
    expect(loginsOf(await ask(ada, 'GET', '/admin/users?limit=2&page=2'))).toEqual(['carol', 'dan'])
    const { headers } = await fetch(`${server.url}/api/v1/admin/users?limit=1`, {
      headers: { authorization: ada.authorization },
    })
    expect(headers.get('x-total-count')).toBe('4')
  })

  it('filters name the identity that an account is linked with', async () => {
    const source = await identityProvider()
    const { id } = await server.app.db
      .selectFrom('users')
      .select('id')
      .where('username', '=', 'bob')
      .executeTakeFirstOrThrow()
    await server.app.db
      .insertInto('linked_identities')
      .values({ user_id: id, provider_id: source, extern_uid: 'b.builder' })
      .execute()
    expect(loginsOf(await ask(ada, 'GET', `/admin/users?source_id=${source}`))).toEqual(['bob'])
    expect(loginsOf(await ask(ada, 'GET', '/admin/users?login_name=b.builder'))).toEqual(['bob'])
    expect(loginsOf(await ask(ada, 'GET', `/admin/users?source_id=${source + 1}`))).toEqual([])
    expect(
      loginsOf(await ask(ada, 'GET', `/admin/users?source_id=${source}&login_name=x`)),
    ).toEqual([])
  })

  it('private organisations are listed for them, and for nobody else', async () => {
    await ask(ada, 'POST', '/admin/users/bob/orgs', { username: 'acme', visibility: 'private' })
    expect(await ask(ada, 'GET', '/admin/orgs')).toMatchObject([{ username: 'acme' }])
    expect(await ask(ada, 'GET', '/admin/users/bob/orgs')).toMatchObject([{ username: 'acme' }])
    expect(await ask(ada, 'GET', '/admin/users/carol/orgs')).toEqual([])
    for (const path of ['/admin/orgs', '/admin/users', '/admin/users/bob/orgs'])
      expect((await rest(bob, 'GET', path)).status).toBe(403)
  })

  it('a token needs the scope of administration', async () => {
    const token = await createToken(server.url, ada, ['write:user', 'write:organization'])
    const answer = await fetch(`${server.url}/api/v1/admin/users`, {
      headers: { authorization: `token ${token}` },
    })
    expect(answer.status).toBe(403)
  })
})

describe('administrators create for others', () => {
  it('the organisation belongs to the user and not to the administrator', async () => {
    expect(await ask(bob, 'GET', '/orgs/acme/members')).toMatchObject([{ login: 'bob' }])
    await ask(bob, 'PATCH', '/orgs/acme', { description: 'Builds things' })
  })

  it('the repository belongs to the user, or to an organisation', async () => {
    const made = await rest(ada, 'POST', '/admin/users/carol/repos', {
      name: 'tools',
      private: true,
      auto_init: true,
    })
    expect(made).toMatchObject({ status: 201, body: { full_name: 'carol/tools' } })
    await ask(carol, 'DELETE', '/repos/carol/tools')
    expect(await ask(ada, 'POST', '/admin/users/acme/repos', { name: 'anvil' })).toMatchObject({
      full_name: 'acme/anvil',
    })
    expect((await rest(ada, 'POST', '/admin/users/acme/repos', { name: 'anvil' })).status).toBe(422)
    expect((await rest(ada, 'POST', '/admin/users/none/repos', { name: 'a' })).status).toBe(404)
  })

  it('the key belongs to the user, and only under that name it is deleted', async () => {
    const key = await rest(ada, 'POST', '/admin/users/carol/keys', { title: 'work', key: KEY })
    expect(key).toMatchObject({ status: 201, body: { title: 'work', user: { login: 'carol' } } })
    expect(await ask(carol, 'GET', '/user/keys')).toHaveLength(1)
    const path = (name: string) => `/admin/users/${name}/keys/${key.body.id}`
    expect((await rest(ada, 'DELETE', path('bob'))).status).toBe(404)
    expect((await rest(carol, 'DELETE', path('carol'))).status).toBe(403)
    expect((await rest(ada, 'DELETE', path('carol'))).status).toBe(204)
    expect(await ask(carol, 'GET', '/user/keys')).toHaveLength(0)
  })
})

describe('administrators rename accounts', () => {
  it('the old name redirects, in the API and in Git, and sign-in takes the new name', async () => {
    await ask(carol, 'POST', '/user/repos', { name: 'garden', auto_init: true })
    const renamed = await rest(ada, 'POST', '/admin/users/carol/rename', {
      new_username: 'Caroline',
    })
    expect(renamed.status).toBe(204)
    expect((await ask(carol, 'GET', '/user')).login).toBe('Caroline')
    const moved = await fetch(`${server.url}/api/v1/repos/carol/garden`)
    expect(await moved.json()).toMatchObject({ full_name: 'Caroline/garden' })
    const refs = await client.git('.', 'ls-remote', `${server.url}/carol/garden.git`, 'main')
    expect(refs).toContain('refs/heads/main')
    const renewed = await signIn(server.url, 'caroline')
    expect((await ask(renewed, 'GET', '/user')).login).toBe('Caroline')
  })

  it.each([
    ['bob', 422],
    ['acme', 422],
    ['-x-', 422],
    ['', 422],
  ])('to %j is refused and changes nothing', async (name, status) => {
    const refused = await rest(ada, 'POST', '/admin/users/caroline/rename', { new_username: name })
    expect(refused.status).toBe(status)
    expect((await ask(carol, 'GET', '/user')).login).toBe('Caroline')
  })

  it('nobody else may, on any protocol', async () => {
    const admin = forge.grpc(AdminService, bob)
    expect(
      await refusalOf(admin.adminRenameUser({ username: 'bob', newUsername: 'rob' })),
    ).toMatchObject({ reason: 'PERMISSION_DENIED' })
  })
})

describe('the permissions of a user in an organisation', () => {
  const permissions = async (who: typeof ada, username: string) =>
    (await rest(who, 'GET', `/users/${username}/orgs/guild/permissions`)).body
  const none = {
    is_owner: false,
    is_admin: false,
    can_write: false,
    can_read: false,
    can_create_repository: false,
  }

  it('follow the teams of the user', async () => {
    await ask(bob, 'POST', '/orgs', { username: 'guild' })
    const team = await ask(bob, 'POST', '/orgs/guild/teams', {
      name: 'smiths',
      permission: 'write',
      units: ['repo.code'],
    })
    await ask(bob, 'PUT', `/teams/${team.id}/members/caroline`)
    expect(await permissions(bob, 'bob')).toEqual({
      is_owner: true,
      is_admin: true,
      can_write: true,
      can_read: true,
      can_create_repository: true,
    })
    expect(await permissions(bob, 'caroline')).toMatchObject({ can_read: true, is_admin: false })
    expect(await permissions(bob, 'ada')).toEqual(none)
  })

  it('are hidden from strangers while the membership is', async () => {
    await ask(ada, 'POST', '/admin/users', {
      username: 'eve',
      email: 'eve@example.org',
      password: 'correct horse battery',
    })
    const eve = await signIn(server.url, 'eve')
    expect(await permissions(eve, 'caroline')).toEqual(none)
    await ask(carol, 'PUT', '/orgs/guild/public_members/caroline')
    expect(await permissions(eve, 'caroline')).toMatchObject({ can_read: true })
    expect((await rest(undefined, 'GET', '/users/bob/orgs/guild/permissions')).status).toBe(401)
  })

  it('of a private organisation are not found', async () => {
    expect((await rest(carol, 'GET', '/users/bob/orgs/acme/permissions')).status).toBe(404)
  })
})
