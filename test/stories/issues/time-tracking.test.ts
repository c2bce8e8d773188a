import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StopwatchService } from '#gen/branchline/v1/stopwatch_service_pb.ts'
import { TrackedTimeService } from '#gen/branchline/v1/tracked_time_service_pb.ts'
import {
  createPullTestUsers,
  type PullTestUsers,
  pullForge,
  refusalOf,
} from '../../support/pull-forge.ts'
import {
  type Actor,
  createToken,
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

const PATH = '/repos/bob/timed'

/** The calls about one repository, with their statuses for readers. */
const CALLS = [
  ['GET', `${PATH}/issues/1/times`, 404],
  ['POST', `${PATH}/issues/1/times`, 400],
  ['DELETE', `${PATH}/issues/1/times`, 400],
  ['DELETE', `${PATH}/issues/1/times/1`, 400],
  ['GET', `${PATH}/times`, 400],
  ['GET', `${PATH}/times/bob`, 400],
  ['POST', `${PATH}/issues/1/stopwatch/start`, 403],
  ['POST', `${PATH}/issues/1/stopwatch/stop`, 403],
  ['DELETE', `${PATH}/issues/1/stopwatch/delete`, 403],
] as const

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  await forge.repository(users.bob, 'timed')
  await forge.ask(users.bob, 'POST', `${PATH}/issues`, { title: 'a' })
})
afterAll(() => server.stop())

async function statuses(who: Actor | undefined): Promise<number[]> {
  const found: number[] = []
  for (const [method, path] of CALLS) {
    const body = method === 'POST' ? { time: 60 } : undefined
    found.push((await forge.rest(who, method, path, body)).status)
  }
  return found
}

describe('time tracking', () => {
  it('is off, as clients know that of other servers', async () => {
    const off = CALLS.map(([, , status]) => status)
    expect(await statuses(users.bob)).toEqual(off)
    expect(await statuses(users.eve)).toEqual(off)
    expect(await statuses(undefined)).toEqual(CALLS.map(() => 401))
    const message = async (method: string, path: string) =>
      (await forge.rest(users.bob, method, path)).body.message
    expect(await message('GET', `${PATH}/issues/1/times`)).toBe('timetracker is disabled')
    expect(await message('POST', `${PATH}/issues/1/times`)).toBe('time tracking disabled')
    const missing = await forge.rest(users.bob, 'POST', `${PATH}/issues/9/times`, { time: 1 })
    expect(missing).toMatchObject({ status: 404, body: { message: 'not found' } })
  })

  it('has empty lists of the caller, which need the scope of users', async () => {
    for (const path of ['/user/times', '/user/stopwatches']) {
      const { status, body, headers } = await forge.rest(users.eve, 'GET', path)
      expect([status, body, headers.get('x-total-count')]).toEqual([200, [], '0'])
      expect((await forge.rest(undefined, 'GET', path)).status).toBe(401)
      for (const [scopes, expected] of [
        [['read:user'], 200],
        [['read:issue'], 403],
        [['read:user', 'public-only'], 403],
      ] as const) {
        const token = await createToken(server.url, users.eve, [...scopes])
        const who = { ...users.eve, authorization: `token ${token}` }
        expect((await forge.rest(who, 'GET', path)).status, scopes.join()).toBe(expected)
      }
    }
  })

  it('says what a token for public data may not read', async () => {
    const token = await createToken(server.url, users.eve, ['read:user', 'public-only'])
    const who = { ...users.eve, authorization: `token ${token}` }
    for (const path of ['/user/times', '/user/stopwatches'])
      expect((await forge.rest(who, 'GET', path)).body.message).toBe(
        'this endpoint is not available for public-only tokens',
      )
  })

  it.each(RPC_PROTOCOLS)('is off by %s, too', async (protocol) => {
    const transport = transportTo(server.url, protocol, users.eve.authorization)
    const issue = { owner: 'bob', repo: 'timed', index: 1n }
    const times = createClient(TrackedTimeService, transport)
    const stopwatches = createClient(StopwatchService, transport)
    const reasons = [
      await refusalOf(times.listIssueTrackedTimes(issue)),
      await refusalOf(times.addTrackedTime(issue)),
      await refusalOf(times.listRepositoryTrackedTimes(issue)),
      await refusalOf(stopwatches.startStopwatch(issue)),
    ]
    expect(reasons.map(({ reason }) => reason)).toEqual([
      'TIME_TRACKING_DISABLED',
      'TIME_NOT_TRACKED',
      'TIME_NOT_TRACKED',
      'STOPWATCH_DENIED',
    ])
    expect((await times.listMyTrackedTimes({})).times).toEqual([])
    expect((await stopwatches.listMyStopwatches({})).stopwatches).toEqual([])
  })

  it('hides private repositories, and tells first that one is archived', async () => {
    await forge.ask(users.bob, 'PATCH', PATH, { private: true })
    expect(await statuses(users.eve)).toEqual(CALLS.map(() => 404))
    await forge.ask(users.bob, 'PATCH', PATH, { archived: true })
    expect(await statuses(users.bob)).toEqual(
      CALLS.map(([method, , status]) => (method === 'GET' ? status : 423)),
    )
  })
})
