import { describe, expect, it } from 'vitest'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import { wrongCounters } from '../../../src/forge/administration/counters.rows.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { type Actor, createToken } from '../../support/server.ts'

const forge = await openForge()
const { server, users, rest, ask } = forge

/** Creates a repository of bob. */
async function repository(name: string, settings: object = {}): Promise<string> {
  await ask(users.bob, 'POST', '/user/repos', { name, ...settings })
  return `bob/${name}`
}

const star = (who: Actor | undefined, path: string) => rest(who, 'PUT', `/user/starred/${path}`)
const unstar = (who: Actor, path: string) => rest(who, 'DELETE', `/user/starred/${path}`)
const check = (who: Actor | undefined, path: string) => rest(who, 'GET', `/user/starred/${path}`)
const starsOf = async (path: string) => (await ask(users.bob, 'GET', `/repos/${path}`)).stars_count

/** Returns the names and the total of a list. */
async function listed(who: Actor | undefined, path: string) {
  const { status, body, headers } = await rest(who, 'GET', path)
  expect(status, body.message).toBe(200)
  const names = body.map(
    (item: { full_name: string; login?: string }) => item.login ?? item.full_name,
  )
  return { names, total: headers.get('x-total-count') }
}

describe('a star', () => {
  it('is given and taken back, once for each user, and counted everywhere', async () => {
    const path = await repository('counted')
    expect((await check(users.carol, path)).status).toBe(404)
    expect((await star(users.carol, path)).status).toBe(204)
    expect((await star(users.carol, path)).status).toBe(204)
    expect((await star(users.bob, 'BOB/Counted')).status).toBe(204)
    expect((await check(users.carol, path)).status).toBe(204)
    expect(await starsOf(path)).toBe(2)
    const { data } = await ask(undefined, 'GET', '/repos/search?q=counted')
    expect(data).toMatchObject([{ stars_count: 2 }])
    expect(await ask(users.carol, 'GET', '/user')).toMatchObject({ starred_repos_count: 1 })

    expect((await unstar(users.carol, path)).status).toBe(204)
    expect((await unstar(users.carol, path)).status).toBe(204)
    expect(await starsOf(path)).toBe(1)
    expect(await ask(users.carol, 'GET', '/user')).toMatchObject({ starred_repos_count: 0 })
    expect((await check(users.carol, path)).status).toBe(404)
  })

  it('is counted once for each of many users who star at the same moment', async () => {
    const path = await repository('popular')
    const fans = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const body = {
          username: `fan${i}`,
          email: `fan${i}@example.org`,
          password: 'correct horse battery',
        }
        await ask(users.ada, 'POST', '/admin/users', body)
        return { authorization: `Basic ${btoa(`fan${i}:correct horse battery`)}` } as Actor
      }),
    )
    const given = await Promise.all(fans.flatMap((fan) => [star(fan, path), star(fan, path)]))
    expect(given.map(({ status }) => status)).toEqual(given.map(() => 204))
    expect(await starsOf(path)).toBe(12)
    expect(await listed(undefined, `/repos/${path}/stargazers?limit=5&page=3`)).toMatchObject({
      names: [expect.stringMatching(/^fan/), expect.stringMatching(/^fan/)],
      total: '12',
    })
    await ask(users.ada, 'DELETE', '/admin/users/fan0?purge=true')
    expect(await starsOf(path)).toBe(11)
    for await (const counter of wrongCounters(server.app.db)) expect.fail(JSON.stringify(counter))
  })

  it('needs a caller who is signed in, has the scopes and may read the repository', async () => {
    const path = await repository('secret', { private: true })
    expect((await star(undefined, path)).status).toBe(401)
    for (const send of [star, unstar, check])
      expect((await send(users.carol, path)).status, send.name).toBe(404)
    const token = await createToken(server.url, users.bob, ['read:user', 'read:repository'])
    const reading = { ...users.bob, authorization: `token ${token}` }
    expect((await star(reading, path)).status).toBe(403)
    expect((await check(reading, path)).status).toBe(404)
    const call = forge
      .grpc(StarService, users.carol)
      .starRepository({ owner: 'bob', repo: 'secret' })
    expect(await refusalOf(call)).toMatchObject({
      reason: 'REPOSITORY_NOT_FOUND',
      code: 'NotFound',
    })
    const missing = forge.grpc(StarService, users.bob)
    expect(
      await refusalOf(missing.checkStarredRepository({ owner: 'bob', repo: 'secret' })),
    ).toMatchObject({ reason: 'STAR_NOT_FOUND', code: 'NotFound' })
  })

  it('is refused to whom the owner has blocked, and a block removes those that are there', async () => {
    const path = await repository('fenced')
    await star(users.carol, path)
    await ask(users.bob, 'PUT', '/user/blocks/carol')
    expect(await starsOf(path)).toBe(0)
    const { status, body } = await star(users.carol, path)
    expect([status, body.message]).toEqual([403, 'user is blocked'])
    await ask(users.bob, 'DELETE', '/user/blocks/carol')
    expect((await star(users.carol, path)).status).toBe(204)
  })
})

describe('starred repositories', () => {
  it('are listed with the latest star first, in pages', async () => {
    const { ada } = users
    for (const name of ['one', 'two', 'three']) {
      await star(ada, await repository(name))
    }
    const all = await listed(ada, '/user/starred')
    expect([[...all.names].sort(), all.total]).toEqual([['bob/one', 'bob/three', 'bob/two'], '3'])
    const pages = await Promise.all(
      [1, 2, 3, 4].map((page) => listed(undefined, `/users/ada/starred?limit=1&page=${page}`)),
    )
    expect(pages.flatMap(({ names }) => names)).toEqual(all.names)
    expect(pages.map(({ total }) => total)).toEqual(['3', '3', '3', '3'])
  })

  it('do not show a repository to whom may not read it, the user who lost the access included', async () => {
    const path = await repository('closing')
    await star(users.carol, path)
    await ask(users.bob, 'PATCH', `/repos/${path}`, { private: true })
    const has = async (who: Actor | undefined, list: string) =>
      (await listed(who, list)).names.includes(path)
    expect(await has(users.carol, '/user/starred')).toBe(false)
    expect(await has(undefined, '/users/carol/starred')).toBe(false)
    expect((await check(users.carol, path)).status).toBe(404)
    expect(await has(users.bob, '/users/carol/starred')).toBe(true)
    expect(await listed(users.bob, `/repos/${path}/stargazers`)).toEqual({
      names: ['carol'],
      total: '1',
    })
    await ask(users.bob, 'PUT', `/repos/${path}/collaborators/carol`, { permission: 'read' })
    expect(await has(users.carol, '/user/starred')).toBe(true)
  })

  it('of a hidden user are hidden, and the user is no stargazer for others', async () => {
    const path = await repository('watched')
    await ask(users.ada, 'POST', '/admin/users', {
      username: 'shy',
      email: 'shy@example.org',
      password: 'correct horse battery',
      visibility: 'private',
    })
    const shy = { authorization: `Basic ${btoa('shy:correct horse battery')}` } as Actor
    await star(shy, path)
    await star(users.carol, path)
    const id = (await ask(users.ada, 'GET', '/users/shy')).id
    expect((await rest(users.carol, 'GET', '/users/shy/starred')).status).toBe(404)
    expect((await ask(users.carol, 'GET', `/repos/search?starredBy=${id}`)).data).toEqual([])
    expect((await ask(shy, 'GET', `/repos/search?starredBy=${id}`)).data).toHaveLength(1)
    for (const [who, names] of [
      [undefined, ['carol']],
      [users.bob, ['carol']],
      [users.ada, ['carol', 'shy']],
      [shy, ['carol', 'shy']],
    ] as const) {
      const found = await listed(who, `/repos/${path}/stargazers`)
      expect([[...found.names].sort(), found.total]).toEqual([names, String(names.length)])
    }
  })

  it('are found by a search, which also sorts by stars', async () => {
    for (const [name, fans] of [
      ['sorted-a', [users.carol]],
      ['sorted-b', []],
      ['sorted-c', [users.carol, users.bob]],
    ] as const) {
      const path = await repository(name)
      for (const fan of fans) await star(fan, path)
    }
    const found = async (query: string) =>
      (await ask(undefined, 'GET', `/repos/search?q=sorted&${query}`)).data.map(
        ({ name }: { name: string }) => name,
      )
    expect(await found('sort=stars&order=desc')).toEqual(['sorted-c', 'sorted-a', 'sorted-b'])
    expect(await found('sort=stars&order=asc')).toEqual(['sorted-b', 'sorted-a', 'sorted-c'])
    const carol = (await ask(users.carol, 'GET', '/user')).id
    expect(await found(`starredBy=${carol}`)).toEqual(['sorted-a', 'sorted-c'])
  })

  it('end with the repository', async () => {
    const path = await repository('ending')
    await star(users.carol, path)
    const before = (await ask(users.carol, 'GET', '/user')).starred_repos_count
    await ask(users.bob, 'DELETE', `/repos/${path}`)
    expect((await ask(users.carol, 'GET', '/user')).starred_repos_count).toBe(before - 1)
    for await (const counter of wrongCounters(server.app.db)) expect.fail(JSON.stringify(counter))
  })
})
