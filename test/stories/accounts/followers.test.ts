import { describe, expect, it } from 'vitest'
import { FollowService } from '#gen/branchline/v1/follow_service_pb.ts'
import { wrongCounters } from '../../../src/forge/administration/counters.rows.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { type Actor, createToken } from '../../support/server.ts'

const forge = await openForge()
const { server, users, rest, ask } = forge
const PASSWORD = 'correct horse battery'

const follow = (who: Actor | undefined, name: string) => rest(who, 'PUT', `/user/following/${name}`)
const unfollow = (who: Actor, name: string) => rest(who, 'DELETE', `/user/following/${name}`)
const statusOf = async (who: Actor | undefined, path: string) =>
  (await rest(who, 'GET', path)).status

/** Returns the names and the total of a list. */
async function listed(who: Actor | undefined, path: string) {
  const { status, body, headers } = await rest(who, 'GET', path)
  expect(status, body.message).toBe(200)
  const names = body.map(({ login }: { login: string }) => login)
  return { names, total: headers.get('x-total-count') }
}

const figuresOf = async (who: Actor) => {
  const { followers_count, following_count } = await ask(who, 'GET', '/user')
  return [followers_count, following_count]
}

describe('following a user', () => {
  it('is seen by both sides, and happens once', async () => {
    expect(await statusOf(users.carol, '/user/following/bob')).toBe(404)
    expect((await follow(users.carol, 'BOB')).status).toBe(204)
    expect((await follow(users.carol, 'bob')).status).toBe(204)
    expect(await statusOf(users.carol, '/user/following/bob')).toBe(204)
    expect(await statusOf(undefined, '/users/carol/following/bob')).toBe(204)
    expect(await statusOf(undefined, '/users/bob/following/carol')).toBe(404)
    const carol = { names: ['carol'], total: '1' }
    expect(await listed(users.bob, '/user/followers')).toEqual(carol)
    expect(await listed(undefined, '/users/bob/followers')).toEqual(carol)
    expect(await listed(users.carol, '/user/following')).toEqual({ names: ['bob'], total: '1' })
    expect(await listed(undefined, '/users/carol/following')).toEqual({
      names: ['bob'],
      total: '1',
    })
    expect(await figuresOf(users.bob)).toEqual([1, 0])
    expect(await figuresOf(users.carol)).toEqual([0, 1])

    expect((await unfollow(users.carol, 'bob')).status).toBe(204)
    expect((await unfollow(users.carol, 'bob')).status).toBe(204)
    expect(await listed(users.bob, '/user/followers')).toEqual({ names: [], total: '0' })
    expect(await figuresOf(users.carol)).toEqual([0, 0])
  })

  it('is refused for oneself, organisations, unknown users and without the scope', async () => {
    await ask(users.bob, 'POST', '/orgs', { username: 'acme' })
    const by = forge.grpc(FollowService, users.bob)
    expect(await refusalOf(by.followUser({ username: 'bob' }))).toMatchObject({
      reason: 'CANNOT_FOLLOW',
      code: 'InvalidArgument',
      metadata: { username: 'bob' },
    })
    expect((await follow(users.bob, 'acme')).status).toBe(400)
    expect((await follow(users.bob, 'nobody-of-that-name')).status).toBe(404)
    expect((await follow(undefined, 'bob')).status).toBe(401)
    const token = await createToken(server.url, users.bob, ['read:user'])
    const reading = { ...users.bob, authorization: `token ${token}` }
    expect((await follow(reading, 'carol')).status).toBe(403)
    expect(await listed(undefined, '/users/acme/followers')).toEqual({ names: [], total: '0' })
    expect(await refusalOf(by.checkFollowing({ username: 'carol' }))).toMatchObject({
      reason: 'FOLLOW_NOT_FOUND',
    })
  })

  it('ends with a block of either side, and is refused while there is one', async () => {
    await follow(users.carol, 'bob')
    await follow(users.bob, 'carol')
    await ask(users.bob, 'PUT', '/user/blocks/carol')
    expect(await figuresOf(users.bob)).toEqual([0, 0])
    for (const [who, name] of [
      [users.carol, 'bob'],
      [users.bob, 'carol'],
    ] as const) {
      const { status, body } = await follow(who, name)
      expect([status, body.message]).toEqual([403, 'user is blocked'])
    }
    await ask(users.bob, 'DELETE', '/user/blocks/carol')
  })

  it('does not show hidden users to others', async () => {
    await ask(users.ada, 'POST', '/admin/users', {
      username: 'shy',
      email: 'shy@example.org',
      password: PASSWORD,
      visibility: 'private',
    })
    const shy = { authorization: `Basic ${btoa(`shy:${PASSWORD}`)}` } as Actor
    await follow(shy, 'ada')
    await follow(users.carol, 'ada')
    for (const [who, names] of [
      [undefined, ['carol']],
      [users.bob, ['carol']],
      [users.ada, ['carol', 'shy']],
      [shy, ['carol', 'shy']],
    ] as const) {
      const found = await listed(who, '/users/ada/followers')
      expect([[...found.names].sort(), found.total]).toEqual([names, String(names.length)])
    }
    expect((await follow(users.bob, 'shy')).status).toBe(404)
    expect(await statusOf(users.bob, '/users/shy/following/ada')).toBe(404)
  })

  it('is counted once by many at the same moment, and ends with the account', async () => {
    const fans = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        const body = { username: `fan${i}`, email: `fan${i}@example.org`, password: PASSWORD }
        await ask(users.ada, 'POST', '/admin/users', body)
        return { authorization: `Basic ${btoa(`fan${i}:${PASSWORD}`)}` } as Actor
      }),
    )
    const given = await Promise.all(fans.flatMap((fan) => [follow(fan, 'bob'), follow(fan, 'bob')]))
    expect(given.map(({ status }) => status)).toEqual(given.map(() => 204))
    expect(await figuresOf(users.bob)).toEqual([10, 0])
    const page = await listed(undefined, '/users/bob/followers?limit=4&page=3')
    expect([page.names.length, page.total]).toEqual([2, '10'])
    await ask(users.ada, 'DELETE', '/admin/users/fan0?purge=true')
    expect(await figuresOf(users.bob)).toEqual([9, 0])
    for await (const counter of wrongCounters(server.app.db)) expect.fail(JSON.stringify(counter))
  })
})
