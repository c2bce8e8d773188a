import { BlockList } from 'node:net'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { refusalOf } from '../../support/forge.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  createToken,
  PASSWORD,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

const MINUTE_MS = 60 * 1000
const startTime = Date.parse('2026-05-01T12:00:00Z')
let now = startTime
let server: TestServer
let users: Readonly<Record<'ada' | 'bob' | 'carol', Browser>>
let rest: SendRest

beforeAll(async () => {
  const trustedProxies = new BlockList()
  trustedProxies.addAddress('127.0.0.1')
  server = await startTestServer({ clock: { now: () => now }, trustedProxies })
  await createTestUsers(server.url)
  rest = restAt(server.url)
})
afterAll(() => server.stop())

/** A browser that has signed in. */
interface Browser extends Actor {
  /** Exchanges the cookie for new ones. */
  refresh(): Promise<Browser>
  readonly cookie: string
}

interface Answer {
  readonly status: number
  readonly cookie: string
  readonly body: { readonly accessToken: string }
}

async function browse(
  path: string,
  headers: Record<string, string>,
  body: object,
): Promise<Answer> {
  const response = await fetch(`${server.url}/api/v1/auth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
  return { status: response.status, cookie, body: (await response.json()) as Answer['body'] }
}

function browser(username: string, cookie: string, accessToken: string): Browser {
  return {
    username,
    cookie,
    authorization: `Bearer ${accessToken}`,
    async refresh() {
      const next = await browse('refresh', { cookie }, {})
      expect(next.status).toBe(200)
      return browser(username, next.cookie, next.body.accessToken)
    },
  }
}

async function open(username: string, headers: Record<string, string>): Promise<Browser> {
  const passwordCredentials = { username, password: PASSWORD }
  const { cookie, body } = await browse('signin', headers, { passwordCredentials })
  return browser(username, cookie, body.accessToken)
}

const clientOf = (who: Pick<Actor, 'authorization'>) =>
  createClient(AuthService, transportTo(server.url, 'gRPC', who.authorization))
const listOf = async (who: Actor) =>
  (await rest(who, 'GET', `/users/${who.username}/sessions`)).body.sessions
const me = async (who: Actor) => (await rest(who, 'GET', '/auth/me')).status

/** The session that a browser has. */
const ownOf = async (who: Actor) =>
  (await listOf(who)).find(({ current }: { current: boolean }) => current)

beforeEach(async () => {
  users = { ada: await open('ada', {}), bob: await open('bob', {}), carol: await open('carol', {}) }
  for (const { name, current } of await listOf(users.bob))
    if (!current) await rest(users.bob, 'DELETE', `/${name}`)
})

describe('the sessions of a user', () => {
  it('say from where and when they were used', async () => {
    now += MINUTE_MS
    const phone = await open('bob', {
      'user-agent': 'Mozilla/5.0 (Android)',
      'x-forwarded-for': '203.0.113.9',
    })
    const signInTime = new Date(now).toISOString().replace('.000', '')
    now += 10 * MINUTE_MS
    const lastUseTime = new Date(now).toISOString().replace('.000', '')
    const next = await phone.refresh()
    // Calls are no writes.
    now += MINUTE_MS
    const [first, second] = await listOf(next)
    expect(first).toEqual({
      name: expect.stringMatching(/^users\/bob\/sessions\/[0-9a-f-]{36}$/),
      createTime: signInTime,
      lastUseTime,
      expireTime: new Date(Date.parse(lastUseTime) + 30 * 24 * 60 * MINUTE_MS)
        .toISOString()
        .replace('.000', ''),
      userAgent: 'Mozilla/5.0 (Android)',
      address: '203.0.113.9',
      current: true,
    })
    expect(second).toMatchObject({ address: '127.0.0.1', current: false })
    expect(JSON.stringify(await listOf(users.bob))).not.toContain('eyJ')
    expect(await listOf(users.bob)).toMatchObject([{ current: false }, { current: true }])
  })

  it('continue with the account in the answer, if a page asks for it', async () => {
    const { body, cookie } = await browse('refresh', { cookie: users.bob.cookie }, {})
    expect(Object.keys(body).sort()).toEqual(['accessToken', 'expiresAt'])
    const next = await browse('refresh', { cookie }, { includeUser: true })
    const { user } = await clientOf({
      authorization: `Bearer ${next.body.accessToken}`,
    }).getCurrentUser({})
    expect(user?.email).not.toBe('')
    expect(next.body).toMatchObject({ user: { username: 'bob', email: user?.email } })
  })

  it('have texts without control characters, and not more than 256 of them', async () => {
    await open('bob', { 'user-agent': `a\u009b31m\u00ad${'b'.repeat(300)}` })
    const texts = (await listOf(users.bob)).map(({ userAgent }: { userAgent: string }) => userAgent)
    expect(texts).toContain(`a31m${'b'.repeat(250)}`)
  })

  it('are pages, latest sign-in first', async () => {
    for (let i = 1; i <= 3; i++) {
      now += MINUTE_MS
      await open('bob', { 'user-agent': `browser ${i}` })
    }
    const client = clientOf(users.bob)
    const seen: string[] = []
    let pageToken = ''
    do {
      const page = await client.listSessions({ parent: 'users/bob', pageSize: 2, pageToken })
      expect(page.totalSize).toBe(4)
      seen.push(...page.sessions.map(({ userAgent }) => userAgent))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    expect(seen.slice(0, 3)).toEqual(['browser 3', 'browser 2', 'browser 1'])
    expect(seen).toHaveLength(4)
    const stolen = client.listSessions({ parent: 'users/bob', pageToken: 'AAAA' })
    expect((await refusalOf(stolen)).reason).toBe('INVALID_PAGE_TOKEN')
  })

  it('do not include expired ones', async () => {
    const name = (await ownOf(users.bob)).name
    now += 31 * 24 * 60 * MINUTE_MS
    const password = Buffer.from(`bob:${PASSWORD}`).toString('base64')
    const client = clientOf({ authorization: `Basic ${password}` })
    expect(await client.listSessions({ parent: 'users/bob' })).toMatchObject({
      sessions: [],
      totalSize: 0,
    })
    expect((await refusalOf(client.deleteSession({ name }))).reason).toBe('SESSION_NOT_FOUND')
  })
})

describe('the end of a session', () => {
  it('refuses its access token and its cookie at once, and no other', async () => {
    const phone = await open('bob', {})
    const own = await ownOf(phone)
    expect(await me(phone)).toBe(200)
    expect((await rest(users.bob, 'DELETE', `/${own.name}`)).status).toBe(200)
    expect(await me(phone)).toBe(401)
    expect((await browse('refresh', { cookie: phone.cookie }, {})).status).toBe(401)
    expect(await me(users.bob)).toBe(200)
    const { status, body } = await rest(users.bob, 'DELETE', `/${own.name}`)
    expect([status, body.details[0].reason]).toEqual([404, 'SESSION_NOT_FOUND'])
  })

  it('clears the cookie of the browser that ends its own session', async () => {
    const phone = await open('bob', {})
    const own = await ownOf(phone)
    const { headers } = await rest(phone, 'DELETE', `/${own.name}`)
    expect(headers.get('set-cookie')).toMatch(/^branchline_refresh=;/)
    expect(await me(phone)).toBe(401)
  })

  it('is for the owner and administrators', async () => {
    const phone = await open('bob', {})
    const own = await ownOf(phone)
    const id = own.name.replace('users/bob/sessions/', '')
    // The session exists, but carol has none of that name.
    for (const [who, name, reason] of [
      [users.carol, own.name, 'PERMISSION_DENIED'],
      [users.carol, `users/carol/sessions/${id}`, 'SESSION_NOT_FOUND'],
      [users.carol, 'users/nobody/sessions/1', 'USER_NOT_FOUND'],
      [users.carol, 'users/carol/sessions/a.b', 'INVALID_NAME'],
    ] as const)
      expect((await refusalOf(clientOf(who).deleteSession({ name }))).reason).toBe(reason)
    expect(await me(phone)).toBe(200)
    await clientOf(users.ada).deleteSession({ name: own.name })
    expect(await me(phone)).toBe(401)
    const logged = server.logged.find(({ msg }) => msg === 'an administrator ended a session')
    expect(logged).toMatchObject({ sessionId: id })
  })

  it.each([['all'], ['write:user']])('is for no token with the scope %s', async (scope) => {
    const token = { authorization: `Bearer ${await createToken(server.url, users.bob, [scope])}` }
    const made = clientOf(token).listSessions({ parent: 'users/bob' })
    expect((await refusalOf(made)).reason).toBe('SESSION_REQUIRED')
  })

  it('may be asked for with a password, whose call has no session', async () => {
    const password = Buffer.from(`bob:${PASSWORD}`).toString('base64')
    const { sessions } = await clientOf({ authorization: `Basic ${password}` }).listSessions({
      parent: 'users/bob',
    })
    expect(sessions.map(({ current }) => current)).toEqual([false])
  })
})
