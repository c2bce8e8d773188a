import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SubscriptionService } from '#gen/branchline/v1/subscription_service_pb.ts'
import { createPullTestUsers, type PullTestUsers, refusalOf } from '../../support/pull-forge.ts'
import { reviewForge } from '../../support/review-forge.ts'
import { createToken, startTestServer, type TestServer, transportTo } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(() => server.stop())

const loginsOf = (accounts: { login: string }[]) => accounts.map(({ login }) => login)
const namesOf = (repositories: { full_name: string }[]) =>
  repositories.map(({ full_name }) => full_name)

/** Creates a repository of bob. */
async function repository(name: string, settings: object = {}): Promise<string> {
  await forge.ask(users.bob, 'POST', '/user/repos', { name, ...settings })
  return `/repos/bob/${name}`
}

describe('a repository', () => {
  it('is watched by whoever creates it', async () => {
    const path = await repository('own')
    expect((await forge.ask(users.bob, 'GET', `${path}/subscription`)).subscribed).toBe(true)
    expect((await forge.ask(users.bob, 'GET', path)).watchers_count).toBe(1)
    expect(loginsOf(await forge.ask(undefined, 'GET', `${path}/subscribers`))).toEqual(['bob'])
  })

  it('is neither watched nor starred by a former collaborator who cannot read it any more', async () => {
    const countsOf = async (path: string) => {
      const { watchers_count, stars_count } = await forge.ask(users.bob, 'GET', path)
      return [watchers_count, stars_count]
    }
    for (const [name, isPrivate] of [
      ['parted', true],
      ['parted-public', false],
    ] as const) {
      const path = await repository(name, { private: isPrivate })
      const collaborator = `${path}/collaborators/carol`
      await forge.ask(users.bob, 'PUT', collaborator)
      await forge.ask(users.carol, 'PUT', `${path}/subscription`)
      await forge.ask(users.carol, 'PUT', `/user/starred${path.replace('/repos', '')}`)
      expect(await countsOf(path)).toEqual([2, 1])
      await forge.ask(users.bob, 'DELETE', collaborator)
      expect(await countsOf(path)).toEqual(isPrivate ? [1, 0] : [2, 1])
      await forge.ask(users.bob, 'DELETE', path)
    }
  })

  it('is watched, ignored and left, and counts its watchers', async () => {
    const path = await repository('watched')
    const subscription = `${path}/subscription`
    expect((await forge.rest(users.carol, 'GET', subscription)).status).toBe(404)
    const answer = await forge.rest(users.carol, 'PUT', subscription)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      subscribed: true,
      ignored: false,
      reason: null,
      created_at: expect.stringMatching(/^\d{4}-/),
      url: `${server.url}/api/v1${subscription}`,
      repository_url: `${server.url}/api/v1${path}`,
    })
    expect(await forge.ask(users.carol, 'GET', subscription)).toEqual(answer.body)
    expect((await forge.ask(users.bob, 'GET', path)).watchers_count).toBe(2)
    const { body, headers } = await forge.rest(users.bob, 'GET', `${path}/subscribers?limit=1`)
    expect([loginsOf(body), headers.get('x-total-count')]).toEqual([['bob'], '2'])

    const ignored = await forge.ask(users.carol, 'PUT', subscription, { ignored: true })
    expect(ignored).toMatchObject({ subscribed: false, ignored: true })
    expect((await forge.ask(users.bob, 'GET', path)).watchers_count).toBe(1)

    expect((await forge.rest(users.carol, 'DELETE', subscription)).status).toBe(204)
    expect((await forge.rest(users.carol, 'DELETE', subscription)).status).toBe(204)
    expect((await forge.rest(users.carol, 'GET', subscription)).status).toBe(404)
  })

  it('is in the lists of its watchers, for those who may read it', async () => {
    const path = await repository('listed')
    const secret = await repository('secret', { private: true })
    await forge.ask(users.bob, 'PUT', `${secret}/collaborators/carol`, { permission: 'read' })
    for (const watched of [path, secret])
      await forge.ask(users.carol, 'PUT', `${watched}/subscription`)
    expect(namesOf(await forge.ask(users.carol, 'GET', '/user/subscriptions'))).toEqual([
      'bob/listed',
      'bob/secret',
    ])
    expect(namesOf(await forge.ask(undefined, 'GET', '/users/carol/subscriptions'))).toEqual([
      'bob/listed',
    ])
    const token = await createToken(server.url, users.carol, ['all', 'public-only'])
    expect(
      namesOf(await forge.ask({ authorization: `token ${token}` }, 'GET', '/user/subscriptions')),
    ).toEqual(['bob/listed'])
    expect((await forge.rest(users.bob, 'GET', '/users/nobody/subscriptions')).status).toBe(404)
  })

  it('is out of sight at once for who loses access', async () => {
    const path = await repository('lost', { private: true })
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    await forge.ask(users.carol, 'PUT', `${path}/subscription`)
    await forge.ask(users.bob, 'DELETE', `${path}/collaborators/carol`)
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await forge.rest(users.carol, method, `${path}/subscription`)).status).toBe(404)
    expect((await forge.rest(users.carol, 'GET', `${path}/subscribers`)).status).toBe(404)
    expect(namesOf(await forge.ask(users.carol, 'GET', '/user/subscriptions'))).not.toContain(
      'bob/lost',
    )
  })

  it('cannot be watched by whom its owner blocks, nor anonymously', async () => {
    const path = await repository('guarded')
    expect((await forge.rest(undefined, 'PUT', `${path}/subscription`)).status).toBe(401)
    await forge.ask(users.bob, 'PUT', '/user/blocks/dan')
    await forge.ask(users.bob, 'PUT', '/user/blocks/eve')
    expect((await forge.rest(users.eve, 'PUT', `${path}/subscription`)).status).toBe(403)
    await forge.ask(users.bob, 'DELETE', '/user/blocks/eve')
  })

  it('is watched over gRPC too', async () => {
    await repository('remote')
    const carol = createClient(
      SubscriptionService,
      transportTo(server.url, 'gRPC', users.carol.authorization),
    )
    const name = { owner: 'bob', repo: 'remote' }
    expect(await refusalOf(carol.getRepositorySubscription(name))).toMatchObject({
      code: 'NotFound',
      reason: 'REPOSITORY_NOT_WATCHED',
    })
    expect(await carol.setRepositorySubscription(name)).toMatchObject({ subscribed: true })
    const { subscribers, total } = await carol.listRepositorySubscribers(name)
    expect([subscribers.map(({ login }) => login), total]).toEqual([['bob', 'carol'], 2n])
  })
})

describe('a subscription to a pull request', () => {
  it('holds for participants and watchers, until they end it', async () => {
    const { path } = await forge.pull('talk')
    const subscriptions = `${path}/issues/1/subscriptions`
    const check = async (who: PullTestUsers['bob']) =>
      (await forge.ask(who, 'GET', `${subscriptions}/check`)).subscribed
    // Bob watches the repository, and carol opened the pull request.
    expect([await check(users.bob), await check(users.carol), await check(users.eve)]).toEqual([
      true,
      true,
      false,
    ])
    const change = async (who: PullTestUsers['bob'], method: string, name: string) =>
      (await forge.rest(who, method, `${subscriptions}/${name}`)).status
    expect(await change(users.eve, 'PUT', 'eve')).toBe(201)
    expect(await change(users.eve, 'PUT', 'eve')).toBe(200)
    expect(await change(users.carol, 'DELETE', 'carol')).toBe(201)
    expect(await change(users.carol, 'DELETE', 'carol')).toBe(200)
    expect([await check(users.eve), await check(users.carol)]).toEqual([true, false])
    const { body, headers } = await forge.rest(undefined, 'GET', subscriptions)
    expect([loginsOf(body), headers.get('x-total-count')]).toEqual([['eve'], '1'])
  })

  it('is changed by the user and by administrators only', async () => {
    const { path } = await forge.pull('mine')
    const subscriptions = `${path}/issues/1/subscriptions`
    const refused = await forge.rest(users.bob, 'PUT', `${subscriptions}/eve`)
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'you are not permitted to change subscriptions for eve',
    ])
    expect((await forge.rest(users.ada, 'PUT', `${subscriptions}/eve`)).status).toBe(201)
    expect((await forge.rest(users.ada, 'PUT', `${subscriptions}/nobody`)).status).toBe(404)
    expect((await forge.rest(users.bob, 'PUT', `${path}/issues/9/subscriptions/bob`)).status).toBe(
      404,
    )
  })
})
