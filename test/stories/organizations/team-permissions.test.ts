import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { PASSWORD } from '../../support/server.ts'

let client: GitClient

const { server, users, rest } = await openForge()
beforeAll(async () => {
  client = await openGitClient('Carol')
})
afterAll(async () => {
  await client.remove()
})

/**
 * An organisation of bob with carol in a team, and two private repositories. The team has access to
 * `engine`.
 */
interface Stage {
  readonly org: string
  readonly team: number
}

let made = 0
async function makeStage(settings: object): Promise<Stage> {
  made += 1
  const org = `acme-${made}`
  await rest(users.bob, 'POST', '/orgs', { username: org })
  for (const name of ['engine', 'wheel']) {
    const repository = { name, private: true, auto_init: true }
    expect((await rest(users.bob, 'POST', `/orgs/${org}/repos`, repository)).status).toBe(201)
  }
  const { body } = await rest(users.bob, 'POST', `/orgs/${org}/teams`, {
    name: 'crew',
    ...settings,
  })
  await rest(users.bob, 'PUT', `/teams/${body.id}/members/carol`)
  await rest(users.bob, 'PUT', `/teams/${body.id}/repos/${org}/engine`)
  return { org, team: body.id }
}

async function gitOutcome(folder: string, ...args: string[]): Promise<string> {
  try {
    await client.git(folder, ...args)
    return 'ok'
  } catch (error) {
    const { stderr } = error as { stderr: string }
    return /not found|403|Authentication failed/.exec(stderr)?.[0] ?? stderr
  }
}

/** Tries operations on a repository as carol and returns their results. */
async function whatCarolMayDo(path: string) {
  const url = remoteOf(server.url, path, 'carol', PASSWORD)
  const folder = path.replace('/', '-')
  await client.git('.', 'init', '-q', folder)
  await client.commit(folder, 'pushed')
  return {
    see: (await rest(users.carol, 'GET', `/repos/${path}`)).status,
    read: (await rest(users.carol, 'GET', `/repos/${path}/contents/README.md`)).status,
    fetch: await gitOutcome('.', 'ls-remote', url),
    push: await gitOutcome(folder, 'push', '-q', url, 'HEAD:refs/heads/pushed'),
    listLabels: (await rest(users.carol, 'GET', `/repos/${path}/labels`)).status,
    label: (
      await rest(users.carol, 'POST', `/repos/${path}/labels`, { name: 'bug', color: '#ff0000' })
    ).status,
    administer: (await rest(users.carol, 'PATCH', `/repos/${path}`, { description: 'by carol' }))
      .status,
    delete: (await rest(users.carol, 'DELETE', `/repos/${path}`)).status,
  }
}

const NOTHING = {
  see: 404,
  read: 404,
  fetch: 'not found',
  push: 'not found',
  listLabels: 404,
  label: 404,
  administer: 404,
  delete: 404,
}

describe('a team with one repository of two', () => {
  it.each<[name: string, settings: object, expected: object]>([
    [
      'readers of everything',
      { permission: 'read', units: ['repo.code', 'repo.issues'] },
      {
        see: 200,
        read: 200,
        fetch: 'ok',
        push: '403',
        listLabels: 200,
        label: 403,
        administer: 403,
        delete: 403,
      },
    ],
    [
      'readers of code',
      { permission: 'read', units: ['repo.code'] },
      {
        see: 200,
        read: 200,
        fetch: 'ok',
        push: '403',
        listLabels: 404,
        label: 404,
        administer: 403,
        delete: 403,
      },
    ],
    [
      'writers of code',
      { units_map: { 'repo.code': 'write', 'repo.issues': 'read' } },
      {
        see: 200,
        read: 200,
        fetch: 'ok',
        push: 'ok',
        listLabels: 200,
        label: 403,
        administer: 403,
        delete: 403,
      },
    ],
    [
      'writers of issues, to whom the code is closed',
      { units_map: { 'repo.issues': 'write' } },
      {
        see: 200,
        read: 403,
        fetch: '403',
        push: '403',
        listLabels: 200,
        label: 201,
        administer: 403,
        delete: 403,
      },
    ],
    [
      'whoever is called owner of a unit',
      { units_map: { 'repo.code': 'owner', 'repo.issues': 'admin' } },
      {
        see: 200,
        read: 200,
        fetch: 'ok',
        push: 'ok',
        listLabels: 200,
        label: 201,
        administer: 403,
        delete: 403,
      },
    ],
    [
      'administrators',
      { permission: 'admin' },
      {
        see: 200,
        read: 200,
        fetch: 'ok',
        push: 'ok',
        listLabels: 200,
        label: 201,
        administer: 200,
        delete: 403,
      },
    ],
    [
      'nobody in particular',
      { units_map: { 'repo.code': 'none', 'repo.issues': 'none' } },
      NOTHING,
    ],
    // This server has no wikis.
    ['readers of a wiki', { units: ['repo.wiki'] }, NOTHING],
  ])('of %s', async (_, settings, expected) => {
    const { org } = await makeStage(settings)
    expect(await whatCarolMayDo(`${org}/engine`)).toEqual(expected)
    expect(await whatCarolMayDo(`${org}/wheel`)).toEqual(NOTHING)
    const sees = expected !== NOTHING
    const names = ({ body }: { body: { name: string }[] }) => body.map(({ name }) => name)
    expect(names(await rest(users.carol, 'GET', `/orgs/${org}/repos`))).toEqual(
      sees ? ['engine'] : [],
    )
    const { body: search } = await rest(
      users.carol,
      'GET',
      '/repos/search?limit=50&sort=id&order=desc&q=e',
    )
    const found = search.data.filter(
      ({ owner }: { owner: { login: string } }) => owner.login === org,
    )
    expect(names({ body: found })).toEqual(sees ? ['engine'] : [])
  })
})

describe('a team that includes all repositories', () => {
  it('has access to those that are created later', async () => {
    const { org } = await makeStage({
      permission: 'write',
      units: ['repo.code'],
      includes_all_repositories: true,
    })
    await rest(users.bob, 'POST', `/orgs/${org}/repos`, {
      name: 'later',
      private: true,
      auto_init: true,
    })
    for (const name of ['engine', 'wheel', 'later']) {
      expect(await whatCarolMayDo(`${org}/${name}`)).toMatchObject({
        read: 200,
        push: 'ok',
        administer: 403,
      })
    }
  })

  it('keeps only the assigned ones when it no longer includes all', async () => {
    const { org, team } = await makeStage({ units: ['repo.code'], includes_all_repositories: true })
    await rest(users.bob, 'PATCH', `/teams/${team}`, { includes_all_repositories: false })
    expect((await rest(users.carol, 'GET', `/repos/${org}/engine`)).status).toBe(200)
    expect((await rest(users.carol, 'GET', `/repos/${org}/wheel`)).status).toBe(404)
  })
})

describe('several teams', () => {
  it('give the highest level for each unit', async () => {
    const { org } = await makeStage({ units_map: { 'repo.code': 'write' } })
    const settings = {
      units_map: { 'repo.code': 'read', 'repo.issues': 'write' },
      includes_all_repositories: true,
    }
    const { body } = await rest(users.bob, 'POST', `/orgs/${org}/teams`, {
      name: 'planners',
      ...settings,
    })
    await rest(users.bob, 'PUT', `/teams/${body.id}/members/carol`)
    expect(await whatCarolMayDo(`${org}/engine`)).toMatchObject({
      push: 'ok',
      label: 201,
      administer: 403,
    })
    expect(await whatCarolMayDo(`${org}/wheel`)).toMatchObject({
      read: 200,
      push: '403',
      label: 201,
    })
  })
})

describe('access through a team', () => {
  it.each<[name: string, method: string, path: (stage: Stage) => string, body?: object]>([
    ['leaves the team', 'DELETE', ({ team }) => `/teams/${team}/members/carol`],
    ['leaves the organisation', 'DELETE', ({ org }) => `/orgs/${org}/members/carol`],
    ['has no team any more', 'DELETE', ({ team }) => `/teams/${team}`],
    [
      'is in a team without the repository',
      'DELETE',
      ({ org, team }) => `/teams/${team}/repos/${org}/engine`,
    ],
    [
      'is in a team without units',
      'PATCH',
      ({ team }) => `/teams/${team}`,
      { units_map: { 'repo.code': 'none' } },
    ],
  ])('ends at once when a member %s', async (_, method, path, body) => {
    const stage = await makeStage({ permission: 'write', units: ['repo.code'] })
    expect((await rest(users.carol, 'GET', `/repos/${stage.org}/engine`)).status).toBe(200)
    expect((await rest(users.bob, method, path(stage), body)).status).toBeLessThan(300)
    expect(await whatCarolMayDo(`${stage.org}/engine`)).toEqual(NOTHING)
  })
})

describe('members of an organisation', () => {
  it('that is private may read its public repositories, whatever their teams', async () => {
    const { org } = await makeStage({ units_map: { 'repo.code': 'none' } })
    await rest(users.bob, 'PATCH', `/orgs/${org}`, { visibility: 'private' })
    await rest(users.bob, 'PATCH', `/repos/${org}/wheel`, { private: false })
    const path = `/repos/${org}/wheel`
    expect((await rest(users.carol, 'GET', path)).body).toMatchObject({
      internal: true,
      permissions: { pull: true },
    })
    expect((await rest(users.carol, 'PATCH', path, {})).status).toBe(403)
    expect((await rest(undefined, 'GET', path)).status).toBe(404)
    expect((await rest(users.carol, 'GET', `/repos/${org}/engine`)).status).toBe(404)
    expect((await rest(users.bob, 'DELETE', `/orgs/${org}/members/carol`)).status).toBe(204)
    expect((await rest(users.carol, 'GET', path)).status).toBe(404)
  })

  it('create repositories if a team allows them to', async () => {
    const { org, team } = await makeStage({ units: ['repo.code'] })
    const refused = await rest(users.carol, 'POST', `/orgs/${org}/repos`, { name: 'new' })
    expect(refused.status).toBe(403)
    expect(refused.body.message).toBe(
      'Given user is not allowed to create repository in organization.',
    )
    await rest(users.bob, 'PATCH', `/teams/${team}`, { can_create_org_repo: true })
    const added = await rest(users.carol, 'POST', `/orgs/${org}/repos`, {
      name: 'new',
      private: true,
      auto_init: true,
    })
    expect(added.status).toBe(201)
    // The creator administers the repository, and the organisation owns it.
    expect(await whatCarolMayDo(`${org}/new`)).toMatchObject({
      push: 'ok',
      administer: 200,
      delete: 403,
    })
    expect((await rest(users.bob, 'DELETE', `/repos/${org}/new`)).status).toBe(204)
  })

  it('have full access if they are in the team Owners', async () => {
    const { org } = await makeStage({ units: ['repo.code'] })
    const [owners] = (await rest(users.bob, 'GET', `/orgs/${org}/teams/search?q=Owners`)).body.data
    await rest(users.bob, 'PUT', `/teams/${owners.id}/members/carol`)
    expect(await whatCarolMayDo(`${org}/wheel`)).toMatchObject({
      push: 'ok',
      label: 201,
      administer: 200,
      delete: 204,
    })
  })
})
