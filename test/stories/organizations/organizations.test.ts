import { createClient } from '@connectrpc/connect'
import { beforeEach, describe, expect, it } from 'vitest'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { tokenOf } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { type Actor, PASSWORD, RPC_PROTOCOLS, signIn, transportTo } from '../../support/server.ts'

/** An organisation of bob with carol in a team; new for each test. */
let org: string
let team: number

const { server, users, rest } = await openForge()

let made = 0
beforeEach(async () => {
  made += 1
  org = `acme-${made}`
  await rest(users.bob, 'POST', '/orgs', { username: org })
  const crew = await rest(users.bob, 'POST', `/orgs/${org}/teams`, {
    name: 'crew',
    units: ['repo.code'],
  })
  team = crew.body.id
  await rest(users.bob, 'PUT', `/teams/${team}/members/carol`)
})

const names = (list: { name?: string; login?: string }[]) =>
  list.map(({ name, login }) => login ?? name)

describe('an organisation', () => {
  it('is created with its creator as the owner', async () => {
    const profile = {
      full_name: 'Gears and more',
      email: 'gears@example.org',
      description: 'turns',
      website: 'https://example.org',
      location: 'Graz',
      visibility: 'limited',
      repo_admin_change_team_access: true,
    }
    const answer = await rest(users.carol, 'POST', '/orgs', { username: 'Gears', ...profile })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('content-type')).toBe('application/json;charset=utf-8')
    expect(answer.body).toEqual({
      id: expect.any(Number),
      name: 'Gears',
      username: 'Gears',
      avatar_url: expect.stringContaining('/file/avatars/'),
      ...profile,
    })
    expect((await rest(users.bob, 'GET', '/orgs/gEARS')).body).toEqual(answer.body)
    const [owners] = (await rest(users.carol, 'GET', '/orgs/gears/teams')).body
    expect(owners).toMatchObject({
      name: 'Owners',
      permission: 'owner',
      includes_all_repositories: true,
      can_create_org_repo: true,
      organization: answer.body,
      units_map: { 'repo.code': 'owner', 'repo.ext_wiki': 'owner' },
    })
    expect(names((await rest(users.carol, 'GET', `/teams/${owners.id}/members`)).body)).toEqual([
      'carol',
    ])
  })

  it('is the same on every protocol', async () => {
    for (const [i, protocol] of RPC_PROTOCOLS.entries()) {
      const transport = transportTo(server.url, protocol, users.bob.authorization)
      const organizations = createClient(OrganizationService, transport)
      const teams = createClient(TeamService, transport)
      const username = `rpc-${i}`
      const organization = await organizations.createOrganization({
        username,
        description: 'by RPC',
      })
      expect(organization).toMatchObject({ name: username, visibility: 'public' })
      const helpers = await teams.createTeam({
        org: username,
        name: 'helpers',
        unitsMap: { 'repo.code': 'write' },
      })
      await teams.addTeamMember({ id: helpers.id, username: 'carol' })
      const { members, total } = await organizations.listOrganizationMembers({ org: username })
      expect([members.map(({ login }) => login), total]).toEqual([['bob', 'carol'], 2n])
      await teams.removeTeamMember({ id: helpers.id, username: 'carol' })
      const check = organizations.checkOrganizationMember({ org: username, username: 'carol' })
      await expect(check).rejects.toMatchObject({ message: '[not_found] not found' })
    }
  })

  it.each([
    [{ username: 'bob' }, 422, 'user already exists [name: bob]'],
    [{ username: 'BOB' }, 422, 'user already exists'],
    [{ username: 'acme-1' }, 422, 'user already exists'],
    [{}, 422, 'is not a valid organization name'],
    [{ username: 'me' }, 422, 'is not a valid organization name'],
    [{ username: '../x' }, 422, 'is not a valid organization name'],
    [{ username: 'a'.repeat(41) }, 422, 'is not a valid organization name'],
    [{ username: 'fine', visibility: 'secret' }, 422, 'visibility'],
    [{ username: 'fine', email: 'nobody' }, 422, 'e-mail'],
    [
      { username: 'fine', full_name: 'x'.repeat(101) },
      422,
      'full_name is longer than 100 characters',
    ],
    [{ username: 'fine', description: 'x'.repeat(256) }, 422, 'description'],
  ])('cannot be created from %j', async (body, status, message) => {
    const refused = await rest(users.carol, 'POST', '/orgs', body)
    expect(refused.body).toEqual({
      message: expect.stringContaining(message),
      url: '/openapi.json',
    })
    expect(refused.status).toBe(status)
  })

  it('has a name that users cannot take', async () => {
    const taken = await rest(users.ada, 'POST', '/users', {
      username: org.toUpperCase(),
      password: 'long enough for it',
    })
    expect(taken.status).toBe(409)
  })

  it('is edited by its owners, who change only the named fields', async () => {
    await rest(users.bob, 'PATCH', `/orgs/${org}`, { description: 'old', location: 'Graz' })
    const edit = {
      description: '',
      website: 'https://example.org',
      full_name: null,
      visibility: '',
    }
    const edited = await rest(users.bob, 'PATCH', `/orgs/${org}`, edit)
    expect(edited.status).toBe(200)
    expect(edited.body).toMatchObject({
      description: '',
      website: 'https://example.org',
      location: 'Graz',
    })
    expect(edited.body.visibility).toBe('public')
    const bad = await rest(users.bob, 'PATCH', `/orgs/${org}`, {
      description: 'new',
      email: 'nobody',
    })
    expect(bad.status).toBe(422)
    expect((await rest(users.bob, 'GET', `/orgs/${org}`)).body.description).toBe('')
  })

  it('cannot be deleted while it owns repositories', async () => {
    await rest(users.bob, 'POST', `/orgs/${org}/repos`, { name: 'engine' })
    const refused = await rest(users.bob, 'DELETE', `/orgs/${org}`)
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'organization still owns repositories',
    ])
    await rest(users.bob, 'DELETE', `/repos/${org}/engine`)
    expect((await rest(users.bob, 'DELETE', `/orgs/${org}`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/orgs/${org}`)).status).toBe(404)
    expect((await rest(users.bob, 'GET', `/teams/${team}`)).status).toBe(404)
    expect((await rest(users.carol, 'GET', '/user/orgs')).body).not.toContainEqual(
      expect.objectContaining({ name: org }),
    )
    // The name is free again, also for a user.
    const user = await rest(users.ada, 'POST', '/users', {
      username: org,
      password: 'long enough for it',
    })
    expect(user.status).toBe(200)
  })
})

describe('the visibility of an organisation', () => {
  const callers = [
    'nobody',
    'stranger',
    'member',
    'owner',
    'administrator',
    'public-only member',
  ] as const
  type Caller = (typeof callers)[number]

  async function actor(caller: Caller): Promise<Actor | undefined> {
    switch (caller) {
      case 'nobody':
        return undefined
      case 'stranger':
        return tokenOf(server.url, users.ada, [
          'write:organization',
          'read:user',
          'write:repository',
        ])
      case 'member':
        return users.carol
      case 'owner':
        return users.bob
      case 'administrator':
        return users.ada
      case 'public-only member':
        return tokenOf(server.url, users.carol, ['all', 'public-only'])
    }
  }

  it.each<[visibility: string, caller: Caller, status: number]>([
    ['public', 'nobody', 200],
    ['public', 'stranger', 200],
    ['public', 'public-only member', 200],
    ['limited', 'nobody', 404],
    ['limited', 'stranger', 200],
    ['limited', 'public-only member', 404],
    ['private', 'nobody', 404],
    // Without the scope of administrators, ada has no special access.
    ['private', 'stranger', 404],
    ['private', 'member', 200],
    ['private', 'owner', 200],
    ['private', 'administrator', 200],
    ['private', 'public-only member', 404],
  ])('that is %s: %s', async (visibility, caller, status) => {
    await rest(users.bob, 'PATCH', `/orgs/${org}`, { visibility })
    const who = await actor(caller)
    for (const path of ['', '/members', '/public_members', '/repos']) {
      expect([path, (await rest(who, 'GET', `/orgs/${org}${path}`)).status]).toEqual([path, status])
    }
    if (who && status === 404) {
      for (const [method, path, body] of [
        ['GET', `/orgs/${org}/teams`],
        ['GET', `/orgs/${org}/teams/search`],
        ['POST', `/orgs/${org}/teams`, { name: 'new', units: ['repo.code'] }],
        ['POST', `/orgs/${org}/repos`, { name: 'new' }],
        ['PATCH', `/orgs/${org}`, {}],
        ['DELETE', `/orgs/${org}`],
        ['DELETE', `/orgs/${org}/members/bob`],
        ['GET', `/orgs/${org}/members/bob`],
        ['PUT', `/orgs/${org}/public_members/ada`],
        ['GET', `/teams/${team}`],
        ['GET', `/teams/${team}/members`],
        ['GET', `/teams/${team}/repos`],
        ['PATCH', `/teams/${team}`, {}],
        ['DELETE', `/teams/${team}`],
        ['PUT', `/teams/${team}/members/ada`],
      ] as [string, string, object?][]) {
        expect([method, path, (await rest(who, method, path, body)).status]).toEqual([
          method,
          path,
          404,
        ])
      }
    }
    const listed = (await rest(who, 'GET', '/orgs?limit=50&page=1')).body
    expect(names(listed).includes(org)).toBe(status === 200)
  })

  it('also determines who sees it in the lists of its members', async () => {
    await rest(users.bob, 'PATCH', `/orgs/${org}`, { visibility: 'limited' })
    const orgsOfCarol = async (who: Actor | undefined) =>
      names((await rest(who, 'GET', '/users/carol/orgs')).body)
    const stranger = await tokenOf(server.url, users.ada, ['read:organization', 'read:user'])
    expect(await orgsOfCarol(users.carol)).toContain(org)
    expect(await orgsOfCarol(users.bob)).toContain(org)
    expect(await orgsOfCarol(stranger)).not.toContain(org)
    await rest(users.carol, 'PUT', `/orgs/${org}/public_members/carol`)
    expect(await orgsOfCarol(stranger)).toContain(org)
    expect(await orgsOfCarol(undefined)).not.toContain(org)
    expect((await rest(undefined, 'GET', '/users/nobody/orgs')).status).toBe(404)
    const own = await rest(users.carol, 'GET', '/user/orgs?limit=1')
    expect(own.body).toHaveLength(1)
    expect(Number(own.headers.get('x-total-count'))).toBeGreaterThan(1)
    expect(own.headers.get('link')).toContain('rel="next"')
  })

  it('requires the scopes for it', async () => {
    const reader = await tokenOf(server.url, users.bob, ['read:organization'])
    expect((await rest(reader, 'GET', `/orgs/${org}`)).status).toBe(200)
    expect((await rest(reader, 'PATCH', `/orgs/${org}`, {})).status).toBe(403)
    expect((await rest(reader, 'GET', '/user/orgs')).status).toBe(403)
    const other = await tokenOf(server.url, users.bob, ['read:repository', 'read:user'])
    expect((await rest(other, 'GET', `/orgs/${org}`)).status).toBe(403)
  })

  it('limits what a caller may do to it', async () => {
    for (const [who, edit, remove] of [
      [undefined, 401, 401],
      [users.carol, 403, 403],
      [users.ada, 200, 204],
    ] as const) {
      const edited = await rest(who, 'PATCH', `/orgs/${org}`, { description: 'x' })
      expect(edited.status).toBe(edit)
      if (who === users.carol) expect(edited.body.message).toBe('Must be an organization owner')
      expect((await rest(who, 'DELETE', `/orgs/${org}`)).status).toBe(remove)
    }
  })
})

describe('a restricted user', () => {
  it('finds in lists what they may read, also with a public-only token', async () => {
    const account = {
      username: `rex-${made}`,
      email: `rex-${made}@example.org`,
      password: PASSWORD,
      restricted: true,
    }
    await rest(users.ada, 'POST', '/admin/users', account)
    const rex = await signIn(server.url, account.username)
    const token = await tokenOf(server.url, rex, ['all', 'public-only'])
    for (const who of [rex, token]) {
      expect((await rest(who, 'GET', `/orgs/${org}`)).status).toBe(404)
      expect((await rest(who, 'GET', '/orgs')).body).toEqual([])
    }
    await rest(users.bob, 'PUT', `/teams/${team}/members/${account.username}`)
    for (const who of [rex, token]) {
      expect((await rest(who, 'GET', `/orgs/${org}`)).status).toBe(200)
      expect(names((await rest(who, 'GET', '/orgs')).body)).toEqual([org])
    }
    await rest(users.bob, 'PATCH', `/orgs/${org}`, { visibility: 'private' })
    expect(names((await rest(rex, 'GET', '/orgs')).body)).toEqual([org])
    expect((await rest(token, 'GET', '/orgs')).body).toEqual([])
  })
})

describe('members', () => {
  it('are visible to outsiders only if they choose to be', async () => {
    const shown = async () => names((await rest(undefined, 'GET', `/orgs/${org}/members`)).body)
    expect(await shown()).toEqual([])
    expect(names((await rest(users.bob, 'GET', `/orgs/${org}/members`)).body)).toEqual([
      'bob',
      'carol',
    ])
    expect((await rest(users.bob, 'GET', `/orgs/${org}/members/carol`)).status).toBe(204)
    expect((await rest(undefined, 'GET', `/orgs/${org}/members/carol`)).status).toBe(404)
    expect((await rest(users.bob, 'PUT', `/orgs/${org}/public_members/carol`)).status).toBe(403)
    expect((await rest(users.carol, 'PUT', `/orgs/${org}/public_members/carol`)).status).toBe(204)
    expect(await shown()).toEqual(['carol'])
    expect((await rest(undefined, 'GET', `/orgs/${org}/members/carol`)).status).toBe(204)
    expect((await rest(undefined, 'GET', `/orgs/${org}/public_members/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/orgs/${org}/public_members/bob`)).status).toBe(404)
    expect((await rest(users.carol, 'DELETE', `/orgs/${org}/public_members/carol`)).status).toBe(
      204,
    )
    expect((await rest(users.bob, 'GET', `/orgs/${org}/public_members`)).body).toEqual([])
  })

  it('are hidden from a public-only token unless their membership is public', async () => {
    const token = await tokenOf(server.url, users.bob, ['all', 'public-only'])
    expect((await rest(token, 'GET', `/orgs/${org}/members`)).body).toEqual([])
    expect((await rest(token, 'GET', `/orgs/${org}/members/carol`)).status).toBe(404)
  })

  it.each(['limited', 'private'])(
    'cannot be made %s by a public-only token, which could then no longer see it',
    async (visibility) => {
      const token = await tokenOf(server.url, users.bob, ['all', 'public-only'])
      expect(
        (await rest(token, 'POST', '/orgs', { username: `hidden-${visibility}`, visibility }))
          .status,
      ).toBe(403)
      expect((await rest(token, 'PATCH', `/orgs/${org}`, { visibility })).status).toBe(403)
      expect((await rest(token, 'PATCH', `/orgs/${org}`, { visibility: 'public' })).status).toBe(
        200,
      )
    },
  )

  it('leave with all of their teams, or are removed by an owner', async () => {
    const second = await rest(users.bob, 'POST', `/orgs/${org}/teams`, {
      name: 'second',
      units: ['repo.code'],
    })
    await rest(users.bob, 'PUT', `/teams/${second.body.id}/members/carol`)
    expect((await rest(users.carol, 'DELETE', `/orgs/${org}/members/bob`)).status).toBe(403)
    expect((await rest(users.carol, 'DELETE', `/orgs/${org}/members/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/orgs/${org}/members/carol`)).status).toBe(404)
    for (const id of [team, second.body.id]) {
      expect((await rest(users.bob, 'GET', `/teams/${id}/members`)).body).toEqual([])
    }
    // Removing a user who is not a member succeeds.
    expect((await rest(users.bob, 'DELETE', `/orgs/${org}/members/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'DELETE', `/orgs/${org}/members/nobody`)).status).toBe(404)
  })

  it('always include an owner', async () => {
    const [owners] = (await rest(users.bob, 'GET', `/orgs/${org}/teams/search?q=owners`)).body.data
    const refusals = [
      await rest(users.bob, 'DELETE', `/orgs/${org}/members/bob`),
      await rest(users.ada, 'DELETE', `/orgs/${org}/members/bob`),
      await rest(users.bob, 'DELETE', `/teams/${owners.id}/members/bob`),
      await rest(users.ada, 'DELETE', '/admin/users/bob?purge=true'),
      // A method of the accounts API, whose errors of this kind have status 400.
      await rest(users.ada, 'DELETE', '/users/bob?force=true'),
    ]
    expect(refusals.map(({ status }) => status)).toEqual([422, 422, 422, 422, 400])
    expect(refusals[0]?.body.message).toBe(`${org} would be left without an owner`)
    await rest(users.bob, 'PUT', `/teams/${owners.id}/members/carol`)
    expect((await rest(users.carol, 'DELETE', `/orgs/${org}/members/bob`)).status).toBe(204)
    expect((await rest(users.bob, 'PATCH', `/orgs/${org}`, {})).status).toBe(403)
  })

  it('always include an owner, even when two leave at once', async () => {
    const [owners] = (await rest(users.bob, 'GET', `/orgs/${org}/teams/search?q=owners`)).body.data
    await rest(users.bob, 'PUT', `/teams/${owners.id}/members/carol`)
    const answers = await Promise.all([
      rest(users.bob, 'DELETE', `/orgs/${org}/members/bob`),
      rest(users.carol, 'DELETE', `/teams/${owners.id}/members/carol`),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 422])
    expect((await rest(users.ada, 'GET', `/teams/${owners.id}/members`)).body).toHaveLength(1)
  })
})
