import { beforeAll, describe, expect, it } from 'vitest'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { findUserByNameKey } from '../../../src/forge/accounts/users/users.rows.ts'
import { openForge } from '../../support/forge.ts'
import type { Actor } from '../../support/server.ts'

const { server, users, rest, ask, grpc } = await openForge()

const logins = async (query: string): Promise<string[]> =>
  (await ask(users.ada, 'GET', `/admin/users?${query}`)).map(
    ({ login }: { login: string }) => login,
  )

beforeAll(async () => {
  await ask(users.ada, 'PATCH', '/admin/users/carol', { restricted: true, visibility: 'limited' })
  const bob = await findUserByNameKey(server.app.db, 'bob')
  if (!bob) throw new Error('bob is missing')
  await server.app.db
    .insertInto('two_factors')
    .values({ user_id: bob.id, secret: Buffer.from('x'), create_time: 1, confirm_time: 1 })
    .execute()
})

describe('the accounts that an administrator lists', () => {
  it.each([
    ['q=car', ['carol']],
    ['q=BOB@example', ['bob']],
    ['is_admin=true', ['ada']],
    ['is_admin=false', ['bob', 'carol', 'dan']],
    ['is_active=false', ['dan']],
    ['is_prohibit_login=true', ['dan']],
    ['is_restricted=true', ['carol']],
    ['is_2fa_enabled=true', ['bob']],
    ['is_2fa_enabled=false', ['ada', 'carol', 'dan']],
    ['visibility=limited', ['carol']],
    ['sort=id&order=desc', ['dan', 'carol', 'bob', 'ada']],
    ['sort=name&order=desc&is_active=true', ['carol', 'bob', 'ada']],
    ['limit=1&page=2', ['bob']],
    ['sudo=ada&is_admin=true', ['ada']],
  ])('fit %s', async (query, expected) => {
    expect(await logins(query)).toEqual(expected)
  })

  it.each(['is_admn=true', 'sort=age', 'order=up', 'visibility=secret', 'filter=x'])(
    'are not everybody for %s',
    async (query) => {
      expect((await rest(users.ada, 'GET', `/admin/users?${query}`)).status).toBe(422)
    },
  )

  it.each(['/admin/orgs', '/admin/users/bob/orgs', '/admin/hooks', '/admin/applications/oauth2'])(
    'are refused parameters that the list %s does not have',
    async (path) => {
      expect((await rest(users.ada, 'GET', `${path}?limit=1&sudo=ada`)).status).toBe(200)
      const { status, body } = await rest(users.ada, 'GET', `${path}?typ=system`)
      expect([status, body.message]).toEqual([422, expect.stringContaining('typ')])
    },
  )

  it('fit filters over gRPC', async () => {
    const { users: found } = await grpc(AdminService, users.ada).adminListUsers({ isAdmin: true })
    expect(found.map(({ login }) => login)).toEqual(['ada'])
  })

  it('have the source of sign-in that the administrator stored', async () => {
    const draft = { username: 'eve', email: 'eve@example.org', password: 'correct horse battery' }
    const source = { login_name: 'eve.e', source_id: 0 }
    expect(await ask(users.ada, 'POST', '/admin/users', { ...draft, ...source })).toMatchObject(
      source,
    )
    const seenBy = async (who: Actor) => (await ask(who, 'GET', '/users/search?q=eve')).data[0]
    expect(await seenBy(users.ada)).toMatchObject(source)
    expect(await seenBy(users.bob)).toMatchObject({ login: 'eve', login_name: '' })
    const changed = { login_name: 'eve', source_id: 7 }
    expect(await ask(users.ada, 'PATCH', '/admin/users/eve', changed)).toMatchObject(changed)
    expect(await ask(users.ada, 'PATCH', '/admin/users/eve', { active: true })).toMatchObject(
      changed,
    )
  })
})
