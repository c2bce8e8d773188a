import { request } from 'node:http'
import { BlockList } from 'node:net'
import { text } from 'node:stream/consumers'
import { createClient } from '@connectrpc/connect'
import { afterEach, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { ProxyAuth } from '../../../src/app/config.ts'
import {
  createTestUsers,
  PASSWORD,
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
afterEach(() => server.stop())

/** Starts a server that trusts only 127.0.0.1 to name callers. */
async function start(proxyAuth: Partial<ProxyAuth> = {}): Promise<TestUsers> {
  const trustedProxies = new BlockList()
  trustedProxies.addAddress('127.0.0.1')
  const names = { header: 'x-webauth-user', emailHeader: undefined, nameHeader: undefined }
  server = await startTestServer({
    trustedProxies,
    proxyAuth: { ...names, api: false, register: false, ...proxyAuth },
  })
  return createTestUsers(server.url)
}

interface Answer {
  readonly status: number
  readonly cookie: string
  readonly headers: Readonly<Record<string, unknown>>
  /** Response text, which may contain reasons and names. */
  readonly body: string
}

/** Sends a request like the proxy, by default from a page of the instance. */
function send(
  path: string,
  {
    method = 'POST',
    from = '127.0.0.1',
    headers = {},
    body = {},
  }: {
    method?: string
    from?: string
    headers?: Record<string, string | string[]>
    body?: object
  } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${server.url}/api/v1/${path}`,
      {
        method,
        localAddress: from,
        headers: {
          'content-type': 'application/json',
          origin: server.url,
          'x-webauth-user': 'bob',
          ...headers,
        },
      },
      async (response) => {
        const cookie = response.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
        const { statusCode: status = 0 } = response
        resolve({ status, cookie, headers: response.headers, body: await text(response) })
      },
    )
    sent.on('error', reject)
    // Node does not frame the body of a DELETE on its own.
    sent.end(method === 'POST' || method === 'PATCH' ? JSON.stringify(body) : undefined)
  })
}

const me = (options: Parameters<typeof send>[1] = {}) =>
  send('auth/me', { method: 'GET', ...options })
const refused = (status: number, reason: string) => ({
  status,
  body: expect.stringContaining(`"${reason}"`),
})
const bob = { status: 200, body: expect.stringContaining('"users/bob"') }

describe('behind a trusted proxy', () => {
  it('a browser gets a session for the user that the proxy names, and can refresh it', async () => {
    await start()
    expect(await me()).toMatchObject(bob)
    const started = await send('auth/refresh')
    expect(started).toMatchObject({
      status: 200,
      cookie: expect.stringMatching(/^branchline_refresh=./),
    })
    const { accessToken } = JSON.parse(started.body) as { accessToken: string }
    const authorization = `Bearer ${accessToken}`
    expect(
      await send('users/bob', {
        method: 'PATCH',
        headers: { authorization },
        body: { description: '-' },
      }),
    ).toMatchObject(bob)
    const next = await send('auth/refresh', { headers: { cookie: started.cookie } })
    expect(next.status).toBe(200)
    expect(next.cookie).not.toBe(started.cookie)
  })

  it('signing in requires no password', async () => {
    await start()
    expect(await send('auth/signin')).toMatchObject({
      ...bob,
      cookie: expect.stringMatching(/^branchline_refresh=./),
    })
    // A password takes precedence.
    const passwordCredentials = { username: 'carol', password: PASSWORD }
    expect((await send('auth/signin', { body: { passwordCredentials } })).body).toContain(
      '"users/carol"',
    )
  })

  it('the cookie of an earlier user of the browser is ignored', async () => {
    await start()
    const { cookie } = await send('auth/refresh', { headers: { 'x-webauth-user': 'ada' } })
    const { accessToken } = JSON.parse(
      (await send('auth/refresh', { headers: { cookie } })).body,
    ) as {
      accessToken: string
    }
    const authorization = `Bearer ${accessToken}`
    expect(await me({ headers: { authorization, 'x-webauth-user': 'ada' } })).toMatchObject(bob)
    expect(
      await send('auth/refresh', { headers: { cookie, 'x-webauth-user': 'ada' } }),
    ).toMatchObject(refused(401, 'BAD_CREDENTIALS'))
  })

  it('methods that are not about sessions ignore the header', async () => {
    await start()
    const patched = await send('users/bob', { method: 'PATCH', body: { description: 'by proxy' } })
    expect(patched).toMatchObject(refused(401, 'UNAUTHENTICATED'))
    expect((await send('users/bob', { method: 'GET' })).body).toContain('"email":""')
  })

  it('every method accepts the header if the operator configures that', async () => {
    await start({ api: true })
    const patched = await send('users/bob', { method: 'PATCH', body: { description: 'by proxy' } })
    expect(patched).toMatchObject({ status: 200, body: expect.stringContaining('by proxy') })
    expect((await send('users/bob', { method: 'GET' })).body).toContain('bob@example.org')
    expect(await send('users/carol', { method: 'DELETE' })).toMatchObject(
      refused(403, 'PERMISSION_DENIED'),
    )
  })

  it.each(RPC_PROTOCOLS)('the header is metadata of %s', async (protocol) => {
    await start({ api: true })
    const headers = { 'x-webauth-user': 'bob', 'sec-fetch-site': 'same-origin' }
    const auth = createClient(AuthService, transportTo(server.url, protocol))
    expect(await auth.getCurrentUser({}, { headers })).toMatchObject({
      user: { name: 'users/bob' },
    })
    const users = createClient(UserService, transportTo(server.url, protocol))
    const update = {
      user: { name: 'users/bob', description: '-' },
      updateMask: { paths: ['description'] },
    }
    expect(await users.updateUser(update, { headers })).toMatchObject({ description: '-' })
    const hostile = { ...headers, 'sec-fetch-site': 'cross-site' }
    await expect(users.updateUser(update, { headers: hostile })).rejects.toThrow('another site')
  })

  it('credentials of the call take precedence over the header, even if they are wrong', async () => {
    const { carol } = await start({ api: true })
    const answer = await me({ headers: { authorization: carol.authorization } })
    expect(answer.body).toContain('"users/carol"')
    expect(await me({ headers: { authorization: 'Bearer nonsense' } })).toMatchObject(
      refused(401, 'BAD_CREDENTIALS'),
    )
  })

  it.each([
    ['nobody', ['nobody']],
    ['an archived account', ['dan']],
    ['two accounts in one header', ['bob, ada']],
    ['two accounts in two headers', ['bob', 'ada']],
  ])('naming %s is refused', async (_, value) => {
    await start()
    const headers = { 'x-webauth-user': value }
    expect(await me({ headers })).toMatchObject(refused(401, 'BAD_CREDENTIALS'))
    expect(await send('auth/refresh', { headers })).toMatchObject(refused(401, 'BAD_CREDENTIALS'))
  })

  it('the first account is created as an administrator if the operator configures that', async () => {
    const trustedProxies = new BlockList()
    trustedProxies.addAddress('127.0.0.1')
    const names = {
      header: 'x-webauth-user',
      emailHeader: 'x-webauth-email',
      nameHeader: undefined,
    }
    server = await startTestServer({
      trustedProxies,
      proxyAuth: { ...names, api: false, register: true },
    })
    const headers = { 'x-webauth-email': 'bob@example.org', 'x-forwarded-for': '203.0.113.7' }
    const { body } = await me({ headers })
    expect(JSON.parse(body)).toMatchObject({
      user: { username: 'bob', role: 'ADMIN', email: 'bob@example.org' },
    })
    expect((await me({ headers: { 'x-webauth-user': 'eve' } })).body).toContain('"USER"')
  })
})

describe('a forged header', () => {
  it('of a peer that is not a trusted proxy is ignored, whatever its address claims', async () => {
    await start({ api: true })
    const headers = {
      'x-forwarded-for': '127.0.0.1',
      'x-real-ip': '127.0.0.1',
      forwarded: 'for=127.0.0.1',
    }
    for (let i = 0; i < 3; i++) {
      const from = '127.0.0.2'
      expect(await me({ from, headers })).toMatchObject(refused(401, 'UNAUTHENTICATED'))
      expect(await send('auth/refresh', { from, headers })).toMatchObject(
        refused(401, 'UNAUTHENTICATED'),
      )
      expect(await send('auth/signin', { from, headers })).toMatchObject(
        refused(400, 'INVALID_FIELD'),
      )
      // The header is ignored, so the public method succeeds.
      expect((await send('users/bob', { method: 'GET', from, headers })).status).toBe(200)
    }
    const warnings = server.logged.filter(({ level }) => level === 'warn')
    expect(warnings).toEqual([expect.objectContaining({ peer: '127.0.0.2' })])
    expect(JSON.stringify(warnings)).not.toContain('bob')
  })

  it('is ignored if no proxy is trusted, even on this machine', async () => {
    server = await startTestServer()
    await createTestUsers(server.url)
    expect(await me()).toMatchObject(refused(401, 'UNAUTHENTICATED'))
    expect(await send('auth/refresh')).toMatchObject(refused(401, 'UNAUTHENTICATED'))
  })
})

describe('a hostile page in a browser behind the proxy', () => {
  const origin = 'https://evil.example'

  it('changes nothing and starts no session', async () => {
    await start({ api: true })
    const patch = { method: 'PATCH', body: { password: 'known to eve' } }
    for (const headers of [
      { origin },
      { origin: 'null' },
      { origin, 'sec-fetch-site': 'cross-site' },
    ]) {
      expect(await send('users/bob', { ...patch, headers })).toMatchObject(
        refused(403, 'CROSS_SITE_REQUEST'),
      )
      const refresh = await send('auth/refresh', { headers })
      expect(refresh).toMatchObject({ ...refused(403, 'CROSS_SITE_REQUEST'), cookie: '' })
    }
    expect((await server.app.db.selectFrom('sessions').select('user_agent').execute()).length).toBe(
      3,
    )
  })

  it('can neither send the header nor read the response with the browser’s credentials', async () => {
    await start({ api: true })
    const preflight = await send('users/bob', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'x-webauth-user',
      },
    })
    expect(String(preflight.headers['access-control-allow-headers']).toLowerCase()).not.toContain(
      'webauth',
    )
    const { headers } = await send('users/bob', { method: 'GET', headers: { origin } })
    expect(headers['access-control-allow-credentials']).toBeUndefined()
  })
})
