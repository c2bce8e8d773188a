import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let ask: ReturnType<typeof pullForge>['ask']

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  ask = pullForge(server).ask
})
afterAll(() => server.stop())

/** A repository of an organisation of bob's with carol in a team, who watches and stars it. */
interface Followed {
  readonly org: string
  readonly path: string
  readonly team: number
}

async function followed(org: string, settings: object, reads: 'some' | 'all'): Promise<Followed> {
  await ask(users.bob, 'POST', '/orgs', { username: org })
  await ask(users.bob, 'POST', `/orgs/${org}/repos`, { name: 'core', ...settings })
  const { id } = await ask(users.bob, 'POST', `/orgs/${org}/teams`, {
    name: 'readers',
    permission: 'read',
    units: ['repo.code', 'repo.pulls'],
    includes_all_repositories: reads === 'all',
  })
  if (reads === 'some') await ask(users.bob, 'PUT', `/teams/${id}/repos/${org}/core`)
  await ask(users.bob, 'PUT', `/teams/${id}/members/carol`)
  const path = `/repos/${org}/core`
  await follow(users.carol, path)
  return { org, path, team: id }
}

async function follow(who: PullTestUsers['carol'], path: string): Promise<void> {
  await ask(who, 'PUT', `${path}/subscription`)
  await ask(who, 'PUT', `/user/starred${path.replace('/repos', '')}`)
}

/** Returns the numbers of watchers and stars. Bob watches, and has no star. */
async function countsOf(path: string): Promise<number[]> {
  const { watchers_count, stars_count } = await ask(users.bob, 'GET', path)
  return [watchers_count, stars_count]
}

const FOLLOWED = [2, 1]
const LEFT = [1, 0]

describe('a repository is watched and starred no more by who cannot read it any more, because', () => {
  it.each<[string, string, 'some' | 'all', (place: Followed) => Promise<unknown>]>([
    [
      'their team loses the repository',
      'unlisted',
      'some',
      ({ org, team }) => ask(users.bob, 'DELETE', `/teams/${team}/repos/${org}/core`),
    ],
    [
      'the repository loses their team',
      'taken',
      'some',
      ({ path }) => ask(users.bob, 'DELETE', `${path}/teams/readers`),
    ],
    [
      'they leave the team',
      'teamless',
      'all',
      ({ team }) => ask(users.carol, 'DELETE', `/teams/${team}/members/carol`),
    ],
    [
      'they leave the organisation',
      'departed',
      'some',
      ({ org }) => ask(users.bob, 'DELETE', `/orgs/${org}/members/carol`),
    ],
    [
      'the team is deleted',
      'dissolved',
      'all',
      ({ team }) => ask(users.bob, 'DELETE', `/teams/${team}`),
    ],
    [
      'the team no longer has all repositories',
      'narrowed',
      'all',
      ({ team }) =>
        ask(users.bob, 'PATCH', `/teams/${team}`, {
          name: 'readers',
          includes_all_repositories: false,
        }),
    ],
  ])('%s', async (_, org, reads, lose) => {
    const place = await followed(org, { private: true }, reads)
    const other = `/repos/${org}/other`
    await ask(users.bob, 'POST', `/orgs/${org}/repos`, { name: 'other' })
    await follow(users.carol, other)
    expect(await countsOf(place.path)).toEqual(FOLLOWED)
    await lose(place)
    expect(await countsOf(place.path)).toEqual(LEFT)
    // What everybody may read is not affected.
    expect(await countsOf(other)).toEqual(FOLLOWED)
  })

  it('it moves to another owner', async () => {
    const { path } = await followed('former', { private: true }, 'some')
    await ask(users.bob, 'POST', `${path}/transfer`, { new_owner: 'bob' })
    expect(await countsOf('/repos/bob/core')).toEqual(LEFT)
    await ask(users.bob, 'DELETE', '/repos/bob/core')
  })

  it('they become restricted', async () => {
    await ask(users.bob, 'POST', '/user/repos', { name: 'everybodys' })
    await follow(users.eve, '/repos/bob/everybodys')
    await ask(users.ada, 'PATCH', '/admin/users/eve', { restricted: true })
    expect(await countsOf('/repos/bob/everybodys')).toEqual(LEFT)
    await ask(users.ada, 'PATCH', '/admin/users/eve', { restricted: false })
  })

  it('their role is that of a user again', async () => {
    await ask(users.bob, 'POST', '/user/repos', { name: 'secret', private: true })
    await ask(users.ada, 'PATCH', '/admin/users/carol', { admin: true })
    await follow(users.carol, '/repos/bob/secret')
    expect(await countsOf('/repos/bob/secret')).toEqual(FOLLOWED)
    await ask(users.ada, 'PATCH', '/admin/users/carol', { admin: false })
    expect(await countsOf('/repos/bob/secret')).toEqual(LEFT)
  })
})

describe('a repository remains watched and starred by who still reads it', () => {
  it('through another team, as a collaborator, or as an administrator', async () => {
    const { org, path, team } = await followed('manifold', { private: true }, 'some')
    const second = await ask(users.bob, 'POST', `/orgs/${org}/teams`, {
      name: 'others',
      permission: 'read',
      units: ['repo.pulls'],
      includes_all_repositories: true,
    })
    await ask(users.bob, 'PUT', `/teams/${second.id}/members/carol`)
    await ask(users.bob, 'DELETE', `/teams/${team}/repos/${org}/core`)
    expect(await countsOf(path)).toEqual(FOLLOWED)
    await ask(users.bob, 'PUT', `${path}/collaborators/carol`)
    await ask(users.bob, 'DELETE', `/orgs/${org}/members/carol`)
    expect(await countsOf(path)).toEqual(FOLLOWED)
    await follow(users.ada, path)
    await ask(users.bob, 'POST', `${path}/transfer`, { new_owner: 'bob' })
    expect(await countsOf('/repos/bob/core')).toEqual([3, 2])
    await ask(users.bob, 'DELETE', '/repos/bob/core')
  })
})
