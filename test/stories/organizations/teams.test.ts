import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { tokenOf } from '../../support/callers.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../../support/server.ts'

let server: TestServer
let users: TestUsers
let rest: SendRest
/** An organisation of bob; new for each test. */
let org: string
let owners: number

beforeAll(async () => {
  server = await startTestServer()
  users = await createTestUsers(server.url)
  rest = restAt(server.url)
})
afterAll(async () => {
  await server.stop()
  // Restarted servers keep their folder.
  await rm(server.data, { recursive: true, force: true })
})

let made = 0
beforeEach(async () => {
  made += 1
  org = `acme-${made}`
  await rest(users.bob, 'POST', '/orgs', { username: org })
  owners = (await rest(users.bob, 'GET', `/orgs/${org}/teams`)).body[0].id
})

const names = (list: { name?: string; login?: string }[]) =>
  list.map(({ name, login }) => login ?? name)

/** Creates a team of the organisation and returns its id. */
async function makeTeam(
  name: string,
  settings: object = { units: ['repo.code'] },
  members: string[] = [],
) {
  const { status, body } = await rest(users.bob, 'POST', `/orgs/${org}/teams`, {
    name,
    ...settings,
  })
  expect(status).toBe(201)
  for (const member of members) {
    expect((await rest(users.bob, 'PUT', `/teams/${body.id}/members/${member}`)).status).toBe(204)
  }
  return body.id as number
}

async function makeRepository(name: string, settings: object = {}): Promise<void> {
  expect((await rest(users.bob, 'POST', `/orgs/${org}/repos`, { name, ...settings })).status).toBe(
    201,
  )
}

describe('a team', () => {
  it('is created, found, edited and deleted by owners', async () => {
    const settings = {
      name: 'Crew',
      description: 'on board',
      permission: 'write',
      units: ['repo.code', 'repo.issues'],
      can_create_org_repo: true,
      visibility: 'private',
    }
    const answer = await rest(users.bob, 'POST', `/orgs/${org}/teams`, settings)
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({
      ...settings,
      includes_all_repositories: false,
      units_map: { 'repo.code': 'write', 'repo.issues': 'write' },
      organization: { name: org, username: org },
    })
    const { id } = answer.body
    expect((await rest(users.bob, 'GET', `/teams/${id}`)).body).toEqual(answer.body)

    const edit = {
      name: 'crew',
      units_map: { 'repo.code': 'read', 'repo.wiki': 'none' },
      description: '',
    }
    const edited = await rest(users.bob, 'PATCH', `/teams/${id}`, edit)
    expect(edited.status).toBe(200)
    expect(edited.body).toMatchObject({
      ...edit,
      permission: 'read',
      units: ['repo.code'],
      can_create_org_repo: true,
      visibility: 'private',
    })
    // As clients send unchanged fields.
    const same = {
      name: 'crew',
      description: null,
      permission: '',
      units: null,
      units_map: null,
      visibility: '',
    }
    expect((await rest(users.bob, 'PATCH', `/teams/${id}`, same)).body).toEqual(edited.body)

    expect((await rest(users.bob, 'DELETE', `/teams/${id}`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/teams/${id}`)).status).toBe(404)
  })

  it.each([
    [{}, '"" is not a valid team name'],
    [{ name: 'two words', units: ['repo.code'] }, '"two words" is not a valid team name'],
    [{ name: 'x'.repeat(256), units: ['repo.code'] }, 'is not a valid team name'],
    [{ name: 'crew' }, 'units permission should not be empty'],
    [{ name: 'crew', permission: 'write', units: [] }, 'units permission should not be empty'],
    [
      { name: 'crew', permission: 'owner', units: ['repo.code'] },
      'permission is missing or not allowed',
    ],
    [{ name: 'crew', units: ['repo.kitchen'] }, 'there is no unit "repo.kitchen"'],
    [
      { name: 'crew', units_map: { 'repo.code': 'most' } },
      '"most" is not a valid permission for a unit',
    ],
    [
      { name: 'crew', units: ['repo.code'], visibility: 'secret' },
      'visibility is missing or not allowed',
    ],
    [
      { name: 'crew', units: ['repo.code'], description: 'x'.repeat(256) },
      'description is longer than',
    ],
    [{ name: 'owners', permission: 'admin' }, 'team already exists [name: owners]'],
  ])('cannot be created from %j', async (body, message) => {
    const refused = await rest(users.bob, 'POST', `/orgs/${org}/teams`, body)
    expect(refused.body).toEqual({
      message: expect.stringContaining(message),
      url: '/openapi.json',
    })
    expect(refused.status).toBe(422)
  })

  it('cannot have the name of another one', async () => {
    const id = await makeTeam('crew')
    const refused = await rest(users.bob, 'PATCH', `/teams/${id}`, { name: 'OWNERS' })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'team already exists [name: OWNERS]',
    ])
    expect((await rest(users.bob, 'PATCH', `/teams/${id}`, { name: 'Crew' })).body.name).toBe(
      'Crew',
    )
  })

  it.each<[string, string, object?]>([
    ['DELETE', ''],
    ['PATCH', '', { name: 'Bosses' }],
    ['PATCH', '', { permission: 'read' }],
    ['PATCH', '', { permission: 'admin' }],
    ['PATCH', '', { units: ['repo.code'] }],
    ['PATCH', '', { units_map: { 'repo.code': 'read' } }],
    ['PATCH', '', { includes_all_repositories: false }],
    ['PATCH', '', { can_create_org_repo: false }],
  ])('of owners keeps its rights against %s %s %j', async (method, path, body) => {
    const before = await rest(users.bob, 'GET', `/teams/${owners}`)
    const refused = await rest(users.bob, method, `/teams/${owners}${path}`, body)
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'the name and the permissions of the Owners team cannot be changed',
    ])
    expect((await rest(users.bob, 'GET', `/teams/${owners}`)).body).toEqual(before.body)
  })

  it('of owners may be edited in its description, and repeat its rights', async () => {
    const { body } = await rest(users.bob, 'GET', `/teams/${owners}`)
    const { id: _, organization: __, ...said } = body
    const edited = await rest(users.bob, 'PATCH', `/teams/${owners}`, {
      ...said,
      description: 'who decides',
    })
    expect(edited.status).toBe(200)
    expect(edited.body).toEqual({ ...body, description: 'who decides' })
  })

  it('does not exist under an invalid id', async () => {
    for (const id of [
      '0',
      '-1',
      '999999',
      'crew',
      '1.5',
      '9007199254740993',
      '99999999999999999999',
    ]) {
      expect([id, (await rest(users.bob, 'GET', `/teams/${id}`)).status]).toEqual([id, 404])
    }
  })
})

describe('the visibility of a team', () => {
  const visibilities = ['public', 'limited', 'private'] as const

  /** Creates a team of each visibility, with carol only in the private one. */
  async function makeTeams(): Promise<number[]> {
    const ids: number[] = []
    for (const visibility of visibilities) {
      ids.push(
        await makeTeam(visibility, { units: ['repo.code'], visibility, description: 'Of some' }),
      )
    }
    return ids
  }

  it.each<[who: string, seen: readonly string[]]>([
    ['stranger', ['public']],
    ['member', ['limited', 'Owners', 'public']],
    ['owner', ['limited', 'Owners', 'private', 'public']],
    ['administrator', ['limited', 'Owners', 'private', 'public']],
    ['public-only owner', ['public']],
  ])('%s', async (who, seen) => {
    const ids = await makeTeams()
    await makeTeam(
      'others',
      { units: ['repo.code'], visibility: 'private' },
      who === 'member' ? ['carol'] : [],
    )
    const expected =
      who === 'owner' || who === 'administrator' || who === 'member' ? 'others' : undefined
    const callers: Record<string, Actor> = {
      stranger: users.carol,
      member: users.carol,
      owner: users.bob,
      administrator: users.ada,
      'public-only owner': await tokenOf(server.url, users.bob, ['all', 'public-only']),
    }
    const caller = callers[who]
    const listed = await rest(caller, 'GET', `/orgs/${org}/teams`)
    const all = [...seen, ...(expected ? [expected] : [])].sort((a, b) =>
      a.toLowerCase().localeCompare(b.toLowerCase()),
    )
    expect(names(listed.body)).toEqual(all)
    expect(listed.headers.get('x-total-count')).toBe(String(all.length))
    for (const [i, id] of ids.entries()) {
      const status = seen.includes(visibilities[i] ?? '') ? 200 : 404
      expect([id, (await rest(caller, 'GET', `/teams/${id}`)).status]).toEqual([id, status])
      expect([id, (await rest(caller, 'GET', `/teams/${id}/members`)).status]).toEqual([id, status])
    }
  })

  it('applies to searches by name and description, in pages', async () => {
    await makeTeams()
    const search = async (query: string) =>
      rest(users.bob, 'GET', `/orgs/${org}/teams/search?${query}`)
    const found = await search('q=LI')
    expect(found.body).toEqual({
      ok: true,
      data: [expect.objectContaining({ name: 'limited' }), expect.anything()],
    })
    expect(names((await search('q=some&limit=2&page=2')).body.data)).toEqual(['public'])
    expect((await search('q=some&limit=2&page=2')).headers.get('x-total-count')).toBe('3')
    expect((await search('q=some&limit=2')).headers.get('link')).toContain('rel="next"')
    expect((await search('q=some&include_desc=false')).body).toEqual({ ok: true, data: [] })
    expect((await search('')).body.data).toHaveLength(4)
  })

  it('includes the teams of the caller', async () => {
    const id = await makeTeam('crew', { units: ['repo.code'], visibility: 'private' }, ['carol'])
    const own = await rest(users.carol, 'GET', '/user/teams?limit=50')
    expect(own.body).toContainEqual(
      expect.objectContaining({ id, organization: expect.objectContaining({ name: org }) }),
    )
    expect(
      (
        await rest(
          await tokenOf(server.url, users.carol, ['all', 'public-only']),
          'GET',
          '/user/teams',
        )
      ).status,
    ).toBe(403)
    expect((await rest(undefined, 'GET', '/user/teams')).status).toBe(401)
  })
})

describe('members of a team', () => {
  it('are members of the organisation as long as they are in any team', async () => {
    const [first, second] = [
      await makeTeam('first', undefined, ['carol']),
      await makeTeam('second'),
    ]
    expect((await rest(users.carol, 'GET', `/orgs/${org}/members/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'PUT', `/teams/${second}/members/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'PUT', `/teams/${second}/members/Carol`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/teams/${second}/members/carol`)).body).toMatchObject({
      login: 'carol',
    })
    expect((await rest(users.bob, 'DELETE', `/teams/${first}/members/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/orgs/${org}/members/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'DELETE', `/teams/${first}/members/carol`)).status).toBe(404)
    expect((await rest(users.bob, 'DELETE', `/teams/${second}`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/orgs/${org}/members/carol`)).status).toBe(404)
    expect(names((await rest(users.bob, 'GET', `/orgs/${org}/members`)).body)).toEqual(['bob'])
  })

  it('are added by owners, and removed by owners or themselves', async () => {
    const crew = await makeTeam('crew', undefined, ['carol'])
    expect((await rest(users.carol, 'PUT', `/teams/${crew}/members/ada`)).status).toBe(403)
    expect((await rest(users.carol, 'DELETE', `/teams/${crew}/members/bob`)).status).toBe(403)
    expect((await rest(users.carol, 'PUT', `/teams/${owners}/members/carol`)).status).toBe(403)
    expect(
      (await rest(users.carol, 'PATCH', `/teams/${crew}`, { permission: 'admin' })).status,
    ).toBe(403)
    expect((await rest(users.carol, 'DELETE', `/teams/${crew}/members/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'PUT', `/teams/${crew}/members/nobody`)).status).toBe(404)
    expect((await rest(users.bob, 'PUT', `/teams/${crew}/members/${org}`)).status).toBe(404)
    // A blocked user cannot be added.
    expect((await rest(users.bob, 'PUT', `/orgs/${org}/blocks/carol`)).status).toBe(204)
    expect((await rest(users.bob, 'PUT', `/teams/${crew}/members/carol`)).status).toBe(403)
  })

  it('are visible to outsiders if they choose to be', async () => {
    const crew = await makeTeam('crew', { units: ['repo.code'], visibility: 'public' }, [
      'bob',
      'ada',
    ])
    await rest(users.bob, 'PUT', `/orgs/${org}/public_members/bob`)
    expect(names((await rest(users.bob, 'GET', `/teams/${crew}/members`)).body)).toEqual([
      'ada',
      'bob',
    ])
    const seen = await rest(users.carol, 'GET', `/teams/${crew}/members`)
    expect(names(seen.body)).toEqual(['bob'])
    expect(seen.headers.get('x-total-count')).toBe('1')
    expect((await rest(users.carol, 'GET', `/teams/${crew}/members/ada`)).status).toBe(404)
    expect((await rest(users.carol, 'GET', `/teams/${crew}/members/bob`)).status).toBe(200)
  })

  it('are removed with their account', async () => {
    await rest(users.ada, 'POST', '/users', { username: 'eve', password: 'long enough for it' })
    const crew = await makeTeam('crew', undefined, ['eve'])
    await rest(users.bob, 'PUT', `/teams/${owners}/members/eve`)
    expect((await rest(users.ada, 'DELETE', '/users/eve')).status).toBe(200)
    expect((await rest(users.bob, 'GET', `/teams/${crew}/members`)).body).toEqual([])
    expect(names((await rest(users.bob, 'GET', `/orgs/${org}/members`)).body)).toEqual(['bob'])
  })
})

describe('repositories of a team', () => {
  it('are assigned and unassigned by owners', async () => {
    const crew = await makeTeam('crew', undefined, ['carol'])
    for (const name of ['engine', 'wheel']) await makeRepository(name, { private: true })
    expect((await rest(users.bob, 'PUT', `/teams/${crew}/repos/${org}/engine`)).status).toBe(204)
    expect((await rest(users.bob, 'PUT', `/teams/${crew}/repos/${org}/engine`)).status).toBe(204)
    const listed = await rest(users.carol, 'GET', `/teams/${crew}/repos`)
    expect(names(listed.body)).toEqual(['engine'])
    expect(listed.body[0]).toMatchObject({ permissions: { admin: false, push: false, pull: true } })
    expect(listed.headers.get('x-total-count')).toBe('1')
    expect(
      (await rest(users.carol, 'GET', `/teams/${crew}/repos/${org}/ENGINE`)).body,
    ).toMatchObject({ name: 'engine' })
    expect((await rest(users.bob, 'GET', `/teams/${crew}/repos/${org}/wheel`)).status).toBe(404)
    expect((await rest(users.carol, 'PUT', `/teams/${crew}/repos/${org}/engine`)).status).toBe(403)
    expect((await rest(users.carol, 'DELETE', `/teams/${crew}/repos/${org}/engine`)).status).toBe(
      403,
    )
    expect((await rest(users.bob, 'DELETE', `/teams/${crew}/repos/${org}/engine`)).status).toBe(204)
    expect((await rest(users.bob, 'DELETE', `/teams/${crew}/repos/${org}/engine`)).status).toBe(422)
    expect((await rest(users.carol, 'GET', `/teams/${crew}/repos`)).body).toEqual([])
  })

  it('must belong to its organisation', async () => {
    const crew = await makeTeam('crew')
    await rest(users.bob, 'POST', '/user/repos', { name: `of-bob-${made}` })
    expect((await rest(users.bob, 'PUT', `/teams/${crew}/repos/bob/of-bob-${made}`)).status).toBe(
      404,
    )
    expect((await rest(users.bob, 'PUT', `/teams/${crew}/repos/${org}/nothing`)).status).toBe(404)
  })

  it('include all present and future ones for a team that includes all', async () => {
    await makeRepository('engine', { private: true })
    const all = await makeTeam('all', { units: ['repo.code'], includes_all_repositories: true }, [
      'carol',
    ])
    await makeRepository('wheel', { private: true })
    expect(names((await rest(users.carol, 'GET', `/teams/${all}/repos`)).body)).toEqual([
      'engine',
      'wheel',
    ])
    const refused = await rest(users.bob, 'DELETE', `/teams/${all}/repos/${org}/engine`)
    expect([refused.status, refused.body.message]).toEqual([
      422,
      "team 'all' was not added to repo",
    ])
  })

  it('remain hidden from callers who may not read them', async () => {
    const crew = await makeTeam('crew', { units: ['repo.code'], visibility: 'public' })
    for (const name of ['open', 'secret']) {
      await makeRepository(name, { private: name === 'secret' })
      await rest(users.bob, 'PUT', `/teams/${crew}/repos/${org}/${name}`)
    }
    const listed = await rest(users.carol, 'GET', `/teams/${crew}/repos`)
    expect(names(listed.body)).toEqual(['open'])
    expect(listed.headers.get('x-total-count')).toBe('1')
    expect((await rest(users.carol, 'GET', `/teams/${crew}/repos/${org}/secret`)).status).toBe(404)
  })
})

describe('teams of a repository', () => {
  it('are chosen by its administrators if the organisation allows that', async () => {
    await makeRepository('engine', { private: true })
    const admins = await makeTeam('admins', { permission: 'admin' }, ['carol'])
    await rest(users.bob, 'PUT', `/teams/${admins}/repos/${org}/engine`)
    await makeTeam('crew')
    const path = `/repos/${org}/engine/teams`
    const refused = await rest(users.carol, 'PUT', `${path}/crew`)
    expect([refused.status, refused.body.message]).toEqual([403, 'Must be an organization owner'])
    await rest(users.bob, 'PATCH', `/orgs/${org}`, { repo_admin_change_team_access: true })
    expect((await rest(users.carol, 'PUT', `${path}/Crew`)).status).toBe(204)
    const again = await rest(users.carol, 'PUT', `${path}/crew`)
    expect([again.status, again.body.message]).toEqual([
      422,
      "team 'crew' is already added to repo",
    ])
    const listed = await rest(users.carol, 'GET', path)
    expect(names(listed.body)).toEqual(['admins', 'crew', 'Owners'])
    expect(listed.headers.get('link')).toBeNull()
    expect(names((await rest(users.carol, 'GET', `${path}?limit=1&page=2`)).body)).toEqual(['crew'])
    expect((await rest(users.carol, 'GET', `${path}/crew`)).body).toMatchObject({ name: 'crew' })
    expect((await rest(users.carol, 'DELETE', `${path}/crew`)).status).toBe(204)
    const gone = await rest(users.carol, 'DELETE', `${path}/crew`)
    expect([gone.status, gone.body.message]).toEqual([422, "team 'crew' was not added to repo"])
    expect((await rest(users.carol, 'GET', `${path}/crew`)).status).toBe(404)
    expect((await rest(users.carol, 'PUT', `${path}/nothing`)).status).toBe(404)
    expect((await rest(users.carol, 'DELETE', `${path}/owners`)).status).toBe(422)
  })

  it('do not exist for a repository of a user', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: `own-${made}` })
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/crew'],
      ['PUT', '/crew'],
      ['DELETE', '/crew'],
    ] as const) {
      const refused = await rest(users.bob, method, `/repos/bob/own-${made}/teams${path}`)
      expect([refused.status, refused.body.message]).toEqual([
        405,
        'repo is not owned by an organization',
      ])
    }
  })

  it('are visible to readers who see the teams, and changed by administrators only', async () => {
    await makeRepository('engine')
    await makeTeam('crew', {
      units: ['repo.code'],
      includes_all_repositories: true,
      visibility: 'public',
    })
    const path = `/repos/${org}/engine/teams`
    expect(names((await rest(users.carol, 'GET', path)).body)).toEqual(['crew'])
    expect((await rest(users.carol, 'GET', `${path}/owners`)).status).toBe(404)
    expect((await rest(users.carol, 'PUT', `${path}/crew`)).status).toBe(403)
    expect((await rest(undefined, 'GET', path)).status).toBe(401)
    await rest(users.bob, 'PATCH', `/repos/${org}/engine`, { private: true })
    expect((await rest(users.carol, 'GET', path)).status).toBe(404)
    expect((await rest(users.carol, 'PUT', `${path}/crew`)).status).toBe(404)
    await rest(users.bob, 'PATCH', `/repos/${org}/engine`, { archived: true })
    expect((await rest(users.bob, 'PUT', `${path}/crew`)).status).toBe(423)
    const reader = await tokenOf(server.url, users.bob, ['read:repository'])
    expect((await rest(reader, 'GET', path)).status).toBe(200)
    expect((await rest(reader, 'PUT', `${path}/crew`)).status).toBe(403)
  })

  it('are those that everyone sees for a public-only token', async () => {
    await makeRepository('engine')
    await makeTeam('crew', {
      units: ['repo.code'],
      includes_all_repositories: true,
      visibility: 'public',
    })
    const token = await tokenOf(server.url, users.bob, ['all', 'public-only'])
    const path = `/repos/${org}/engine/teams`
    expect(names((await rest(token, 'GET', path)).body)).toEqual(['crew'])
    expect((await rest(token, 'GET', `${path}/owners`)).status).toBe(404)
  })
})

it('teams remain unchanged after a restart', async () => {
  const crew = await makeTeam('crew', { units_map: { 'repo.code': 'write' } }, ['carol'])
  const before = await rest(users.carol, 'GET', `/teams/${crew}`)
  await server.close(0)
  const { data, url } = server
  server = await startTestServer({ data })
  rest = restAt(server.url)
  // The address of the server is in the URL of the picture.
  const body = JSON.parse(JSON.stringify(before.body).replaceAll(url, server.url))
  expect(await rest(users.carol, 'GET', `/teams/${crew}`)).toMatchObject({ status: 200, body })
})
