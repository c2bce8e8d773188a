import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  await forge.ask(users.bob, 'POST', '/orgs', { username: 'crew' })
  for (const name of ['hull', 'mast']) {
    await forge.ask(users.bob, 'POST', '/orgs/crew/repos', { name })
    await forge.ask(users.bob, 'POST', `/repos/crew/${name}/issues`, { title: name })
  }
  const rights = { permission: 'read', units_map: { 'repo.issues': 'read' } }
  const team = await forge.ask(users.bob, 'POST', '/orgs/crew/teams', {
    name: 'Riggers',
    ...rights,
  })
  await forge.ask(users.bob, 'PUT', `/teams/${team.id}/repos/crew/mast`)
  await forge.ask(users.bob, 'PUT', `/teams/${team.id}/members/carol`)
  const all = { name: 'everyone', includes_all_repositories: true, ...rights }
  await forge.ask(users.bob, 'POST', '/orgs/crew/teams', all)
})
afterAll(() => server.stop())

async function search(who: Actor | undefined, query: string) {
  const path = `/repos/issues/search?${query}`
  const { status, body, headers } = await forge.rest(who, 'GET', path)
  if (status !== 200) return [status, body.message, headers.get('x-error-reason')]
  return body.map(({ title }: { title: string }) => title).sort()
}

describe('a search for issues', () => {
  it('looks at the repositories of a team', async () => {
    expect(await search(users.bob, 'owner=crew&team=riggers')).toEqual(['mast'])
    expect(await search(users.carol, 'owner=crew&team=Riggers')).toEqual(['mast'])
    expect(await search(users.bob, 'owner=crew&team=everyone')).toEqual(['hull', 'mast'])
    expect(await search(users.bob, 'owner=crew&team=Owners')).toEqual(['hull', 'mast'])
    expect(await search(users.bob, 'owner=crew&team=')).toEqual(['hull', 'mast'])
  })

  it('needs the organisation of the team', async () => {
    expect(await search(users.bob, 'team=Riggers')).toEqual([
      400,
      'owner organisation is required for filtering on team',
      'FILTER_TEAM_UNKNOWN',
    ])
    const unknown = (name: string) => [
      400,
      `team does not exist [name: ${name}]`,
      'FILTER_TEAM_UNKNOWN',
    ]
    expect(await search(users.bob, 'owner=bob&team=Riggers')).toEqual(unknown('Riggers'))
    expect(await search(users.bob, 'owner=crew&team=cooks')).toEqual(unknown('cooks'))
    expect(await search(users.bob, 'owner=nobody&team=cooks')).toMatchObject([
      400,
      'user does not exist [uid: 0, name: nobody]',
      'FILTER_OWNER_UNKNOWN',
    ])
  })

  it('tells nobody of teams that are hidden', async () => {
    for (const who of [users.eve, undefined])
      expect(await search(who, 'owner=crew&team=Riggers')).toEqual([
        400,
        'team does not exist [name: Riggers]',
        'FILTER_TEAM_UNKNOWN',
      ])
  })
})
