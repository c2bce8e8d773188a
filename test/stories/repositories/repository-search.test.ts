import { createClient } from '@connectrpc/connect'
import { beforeAll, describe, expect, it } from 'vitest'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { callerNamed } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { type TestUsers, transportTo } from '../../support/server.ts'

const ids: Record<string, number> = {}

/**
 * Bob has engine, Engineering (a template) and secret-engine (private); carol has motor (archived)
 * with the word engine in its description and a fork of engine. Acme, which bob owns, has
 * acme-tools and the private acme-plans, which its team has and carol, a member, does not. Carol
 * writes to secret-engine.
 */
const { server, users, rest: send } = await openForge()
beforeAll(async () => {
  const make = async (who: TestUsers['bob'], path: string, body: { name: string }) => {
    const made = await send(who, 'POST', path, body)
    ids[body.name] = made.body.id
    return made.body
  }
  const { owner } = await make(users.bob, '/user/repos', { name: 'engine' })
  Object.assign(ids, { bob: owner.id })
  await send(users.bob, 'POST', '/user/repos', { name: 'Engineering', template: true })
  await make(users.bob, '/user/repos', { name: 'secret-engine', private: true } as { name: string })
  await send(users.bob, 'PUT', '/repos/bob/secret-engine/collaborators/carol', {
    permission: 'write',
  })
  for (const name of ['engine', 'secret-engine'])
    await send(users.bob, 'PUT', `/repos/bob/${name}/topics`, { topics: ['physics'] })
  const motor = await make(users.carol, '/user/repos', {
    name: 'motor',
    description: 'an ENGINE too',
  } as {
    name: string
  })
  Object.assign(ids, { carol: motor.owner.id })
  await send(users.carol, 'PATCH', '/repos/carol/motor', { archived: true })
  await send(users.carol, 'POST', '/repos/bob/engine/forks', { name: 'engine-fork' })
  await send(users.bob, 'POST', '/orgs', { username: 'acme' })
  const tools = await make(users.bob, '/orgs/acme/repos', { name: 'acme-tools' })
  Object.assign(ids, { acme: tools.owner.id })
  await make(users.bob, '/orgs/acme/repos', { name: 'acme-plans', private: true } as {
    name: string
  })
  const team = async (name: string) => {
    const body = { name, permission: 'read', units: ['repo.code'] }
    ids[name] = (await send(users.bob, 'POST', '/orgs/acme/teams', body)).body.id
  }
  await team('planners')
  await send(users.bob, 'PUT', `/teams/${ids.planners}/repos/acme/acme-plans`)
  await team('guests')
  await send(users.bob, 'PUT', `/teams/${ids.guests}/members/carol`)
})

const namesOf = (list: { name: string }[]) => list.map(({ name }) => name)
const everybodys = ['acme-tools', 'engine', 'engine-fork', 'Engineering', 'motor']

describe('a search for repositories', () => {
  it.each<[caller: string, query: string, names: string[]]>([
    ['nobody', '', everybodys],
    ['carol', '', [...everybodys, 'secret-engine']],
    ['bob', '', ['acme-plans', ...everybodys, 'secret-engine']],
    ['ada', '', ['acme-plans', ...everybodys, 'secret-engine']],
    ['public-only', '', everybodys],
    ['nobody', 'q=eNgine', ['engine', 'engine-fork', 'Engineering']],
    ['carol', 'q=engine', ['engine', 'engine-fork', 'Engineering', 'secret-engine']],
    [
      'carol',
      'q=engine&includeDesc=true',
      ['engine', 'engine-fork', 'Engineering', 'motor', 'secret-engine'],
    ],
    ['nobody', 'q=%20', everybodys],
    // Commas separate texts, of which one must match.
    ['nobody', 'q=Mot,,%20tools%20', ['acme-tools', 'motor']],
    ['nobody', 'q=mot,ob/eng', ['engine', 'Engineering', 'motor']],
    ['nobody', 'q=too&includeDesc=true', ['acme-tools', 'motor']],
    ['nobody', 'q=,', everybodys],
    // A topic matches too.
    ['nobody', 'q=physi', ['engine']],
    ['bob', 'q=physi', ['engine', 'secret-engine']],
    ['nobody', 'q=bob/physics', []],
    ['nobody', 'topic=true&q=biology,%20Physics', ['engine']],
    ['nobody', 'topic=true&q=physi', []],
    ['nobody', 'topic=true&q=,', everybodys],
    // Wildcards match literally.
    ['nobody', 'q=%25', []],
    ['nobody', 'q=_', []],
    ['nobody', 'q=bob/eng', ['engine', 'Engineering']],
    ['nobody', 'q=OB/e', ['engine', 'Engineering']],
    ['nobody', 'q=/eng', ['engine', 'engine-fork', 'Engineering']],
    ['nobody', 'q=a/b/c', []],
    ['carol', 'private=false', everybodys],
    ['bob', 'is_private=true&private=false', []],
    ['bob', 'is_private=true', ['acme-plans', 'secret-engine']],
    ['bob', 'is_private=false', everybodys],
    ['nobody', 'is_private=true', []],
    ['nobody', 'template=true', ['Engineering']],
    ['nobody', 'archived=true', ['motor']],
    ['nobody', 'archived=false&q=mo', []],
    ['nobody', 'mode=source', ['acme-tools', 'engine', 'Engineering', 'motor']],
    ['nobody', 'mode=fork', ['engine-fork']],
    ['nobody', 'mode=mirror', []],
    ['nobody', 'uid={carol}&exclusive=true', ['engine-fork', 'motor']],
    ['carol', 'uid={carol}', ['acme-tools', 'engine-fork', 'motor', 'secret-engine']],
    // Other users cannot see that carol is a member of acme, or find repositories that only carol
    // can read.
    ['nobody', 'uid={carol}', ['engine-fork', 'motor']],
    ['bob', 'uid={carol}', ['engine-fork', 'motor', 'secret-engine']],
    ['carol', 'uid={carol}&mode=collaborative', ['acme-tools', 'secret-engine']],
    ['nobody', 'uid={acme}', ['acme-tools']],
    ['nobody', 'uid=999999', []],
    ['bob', 'team_id={planners}', ['acme-plans']],
    ['carol', 'team_id={planners}', []],
    ['nobody', 'team_id={planners}', []],
    ['nobody', 'topic=true&q=engine', []],
    ['nobody', 'starredBy={bob}', []],
    [
      'nobody',
      'priority_owner_id={carol}',
      ['engine-fork', 'motor', 'acme-tools', 'engine', 'Engineering'],
    ],
    ['nobody', 'sort=id', ['engine', 'Engineering', 'motor', 'engine-fork', 'acme-tools']],
    [
      'nobody',
      'sort=created&order=desc',
      ['acme-tools', 'engine-fork', 'motor', 'Engineering', 'engine'],
    ],
    ['nobody', 'sort=alpha&order=desc', [...everybodys].reverse()],
    ['nobody', 'sort=forks&order=desc&limit=1', ['engine']],
    ['nobody', 'sort=stars&limit=2', ['engine', 'Engineering']],
    // Without `sort`, `order` has no effect.
    ['nobody', 'order=desc', everybodys],
    ['nobody', 'limit=2&page=2', ['engine-fork', 'Engineering']],
    ['nobody', 'page=9', []],
  ])('by %s for "%s"', async (caller, query, names) => {
    const who = await callerNamed(server.url, users, caller)
    const text = query.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name]))
    const { status, body } = await send(who, 'GET', `/repos/search?${text}`)
    expect([status, body.ok, namesOf(body.data)]).toEqual([200, true, names])
    expect(Object.keys(body)).toEqual(['ok', 'data'])
  })

  it('returns the total and the links to other pages', async () => {
    const { headers } = await send(undefined, 'GET', '/repos/search?q=e&limit=2&page=2')
    expect(headers.get('x-total-count')).toBe('4')
    expect(headers.get('link')).toContain(
      `<${server.url}/api/v1/repos/search?q=e&limit=2&page=1>; rel="prev"`,
    )
  })

  it.each([
    ['mode=sauce', 'Invalid search mode: "sauce"'],
    ['sort=fame', 'Invalid search sort: "fame"'],
    ['sort=id&order=up', 'Invalid search order: "up"'],
    ['q=a,b,c,d,e,f,g,h,i,j,k', 'Invalid search q: "a,b,c,d,e,f,g,h,i,j,k"'],
  ])('is refused for %s', async (query, message) => {
    const refused = await send(undefined, 'GET', `/repos/search?${query}`)
    expect([refused.status, refused.body.message]).toEqual([422, message])
  })

  it('is the same over gRPC', async () => {
    const client = createClient(
      RepositoryService,
      transportTo(server.url, 'gRPC', users.carol.authorization),
    )
    const { results, total } = await client.searchRepositories({ q: 'engine', isPrivate: true })
    expect([namesOf(results?.data ?? []), total]).toEqual([['secret-engine'], 1n])
  })
})

describe('lists of repositories', () => {
  it.each<[caller: string, path: string, names: string[]]>([
    ['carol', '/user/repos', ['acme-tools', 'engine-fork', 'motor', 'secret-engine']],
    ['bob', '/user/repos', ['acme-plans', 'acme-tools', 'engine', 'Engineering', 'secret-engine']],
    ['public-only', '/user/repos', ['acme-tools', 'engine', 'Engineering']],
    ['nobody', '/users/bob/repos', ['engine', 'Engineering']],
    ['carol', '/users/BOB/repos', ['engine', 'Engineering', 'secret-engine']],
    ['nobody', '/users/acme/repos', ['acme-tools']],
    ['nobody', '/orgs/acme/repos', ['acme-tools']],
    ['carol', '/orgs/acme/repos', ['acme-tools']],
    ['bob', '/orgs/Acme/repos', ['acme-plans', 'acme-tools']],
  ])('by %s: %s', async (caller, path, names) => {
    const who = await callerNamed(server.url, users, caller)
    const { status, body, headers } = await send(who, 'GET', path)
    expect([status, namesOf(body)]).toEqual([200, names])
    expect(headers.get('x-total-count')).toBe(String(names.length))
  })

  it.each<[caller: string, path: string, status: number]>([
    ['nobody', '/user/repos', 401],
    ['read:user', '/user/repos', 403],
    ['read:repository', '/user/repos', 403],
    ['nobody', '/users/nobody/repos', 404],
    ['nobody', '/orgs/bob/repos', 404],
    ['read:repository', '/orgs/acme/repos', 403],
    ['read:organization', '/orgs/acme/repos', 200],
  ])('are refused by %s: %s', async (caller, path, status) => {
    const who = await callerNamed(server.url, users, caller)
    expect((await send(who, 'GET', path)).status).toBe(status)
  })

  it('contain the permissions of the caller', async () => {
    const { body } = await send(users.carol, 'GET', '/user/repos')
    expect(body.map(({ permissions }: { permissions: object }) => permissions)).toEqual([
      { admin: false, push: false, pull: true },
      { admin: true, push: true, pull: true },
      { admin: true, push: true, pull: true },
      { admin: false, push: true, pull: true },
    ])
  })
})
