import { createClient } from '@connectrpc/connect'
import { afterEach, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { restAt } from './support/rest.ts'
import {
  createTestUsers,
  createToken,
  PASSWORD,
  startTestServer,
  type TestServer,
  type TestServerOptions,
  transportTo,
} from './support/server.ts'

let server: TestServer
afterEach(() => server.stop())

async function start(options?: TestServerOptions) {
  server = await startTestServer(options)
  return { url: server.url, ...(await createTestUsers(server.url)) }
}

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(server.url + path, { headers })

describe('probes', () => {
  it('say that the server lives and is ready', async () => {
    await start()
    expect([(await get('/healthz')).status, await (await get('/readyz')).text()]).toEqual([
      200,
      'ready\n',
    ])
  })

  it('answer HEAD without a body', async () => {
    await start()
    const response = await fetch(`${server.url}/healthz`, { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})

describe('metrics', () => {
  it('count calls by method and code', async () => {
    await start()
    await get('/api/v1/users/ada')
    await get('/api/v1/users/nobody')
    const text = await (await get('/metrics')).text()
    expect(text).toContain(
      'branchline_calls_total{method="branchline.v1.UserService/GetUser",code="OK"} 1',
    )
    expect(text).toContain(
      'branchline_calls_total{method="branchline.v1.UserService/GetUser",code="NotFound"} 1',
    )
    expect(text).toContain('branchline_protocol_calls_total{protocol="rest"} 2')
    expect(text).toMatch(/^branchline_database_bytes [1-9]\d{4}/m)
    expect(text).toMatch(/^branchline_connections [1-9]/m)
  })

  it('are typed for administrators, without buckets', async () => {
    const { ada, bob } = await start()
    await get('/api/v1/users/ada')
    const names = ['branchline_calls_total', 'branchline_call_duration_seconds', 'missing']
    const path = `/admin/metrics?${names.map((name) => `names=${name}`).join('&')}`
    const { status, body } = await restAt(server.url)(ada, 'GET', path)
    expect(status).toBe(200)
    const labels = { method: 'branchline.v1.UserService/GetUser' }
    expect(body).toMatchObject({
      read_at: expect.stringMatching(/^20/),
      metrics: [
        {
          name: 'branchline_calls_total',
          type: 'counter',
          help: 'Finished calls, by method and code; all protocols alike.',
          samples: expect.arrayContaining([
            { name: 'branchline_calls_total', labels: { ...labels, code: 'OK' }, value: 1 },
          ]),
        },
        {
          name: 'branchline_call_duration_seconds',
          type: 'histogram',
          samples: expect.arrayContaining([
            { name: 'branchline_call_duration_seconds_count', labels, value: 1 },
          ]),
        },
      ],
    })
    expect(JSON.stringify(body)).not.toContain('_bucket')
    expect((await restAt(server.url)(bob, 'GET', path)).status).toBe(403)
    expect((await restAt(server.url)(undefined, 'GET', path)).status).toBe(401)
  })

  it('count requests of Git by service and status, and the log has each', async () => {
    const { bob } = await start()
    await restAt(server.url)(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
    await (await get('/bob/engine.git/info/refs?service=git-upload-pack')).text()
    await (await get('/bob/missing/info/refs?service=git-receive-pack')).text()
    const text = await (await get('/metrics')).text()
    expect(text).toContain(
      'branchline_git_requests_total{transport="http",service="git-upload-pack",status="200"} 1',
    )
    expect(text).toContain(
      'branchline_git_requests_total{transport="http",service="git-receive-pack",status="401"} 1',
    )
    expect(server.logged).toContainEqual(
      expect.objectContaining({
        git: 'refs for git-upload-pack',
        repository: 'bob/engine',
        status: 200,
      }),
    )
  })

  it('are for the machine itself and for administrators', async () => {
    const { url, ada, bob } = await start()
    const proxied = { 'x-forwarded-for': '203.0.113.7' }
    const narrow = await createToken(url, ada, ['read:user'])
    const statuses = []
    for (const headers of [
      {},
      proxied,
      { ...proxied, authorization: 'Bearer nonsense' },
      { ...proxied, authorization: bob.authorization },
      { ...proxied, authorization: `Bearer ${narrow}` },
      { ...proxied, authorization: ada.authorization },
    ]) {
      statuses.push((await get('/metrics', headers)).status)
    }
    expect(statuses).toEqual([200, 401, 401, 403, 403, 200])
  })
})

describe('the OpenAPI document', () => {
  it('describes what is served, at the address that clients use', async () => {
    await start({ publicUrl: 'https://forge.example/base' })
    const response = await get('/openapi.json')
    expect(response.headers.get('content-type')).toBe('application/json')
    const document = (await response.json()) as {
      openapi: string
      servers: object[]
      paths: Record<string, object>
    }
    expect([document.openapi, document.servers]).toEqual([
      expect.stringMatching(/^3\.1\./),
      [{ url: 'https://forge.example/base' }],
    ])
    expect(Object.keys(document.paths['/api/v1/users/{user}'] ?? {})).toEqual([
      'delete',
      'get',
      'patch',
    ])
  })
})

describe('the log', () => {
  it('has one line for each call, with the request id that the client sees', async () => {
    const { bob } = await start()
    const response = await get('/api/v1/users/bob', {
      authorization: bob.authorization,
      'x-request-id': 'trace-1',
    })
    expect(response.headers.get('x-request-id')).toBe('trace-1')
    const lines = server.logged.filter(({ request_id }) => request_id === 'trace-1')
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'debug',
        method: 'branchline.v1.UserService/GetUser',
        code: 'OK',
        peer: '127.0.0.1',
        user: 2,
      }),
    ])
  })

  it('does not print a request id that could forge a line', async () => {
    await start()
    const response = await get('/api/v1/users/bob', { 'x-request-id': 'a"} b' })
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('never holds a password, a token or an address, whatever goes wrong', async () => {
    const { url, bob } = await start()
    const token = await createToken(url, bob, ['all'])
    const client = createClient(AuthService, transportTo(url, 'gRPC'))
    const value = { username: 'bob', password: 'a wrong secret' }
    await client.signIn({ credentials: { case: 'passwordCredentials', value } }).catch(() => {})
    await get('/api/v1/users/bob', { authorization: `Bearer ${token}` })
    await get('/api/v1/users/bob', { authorization: `Bearer ${token}x` })
    await get('/api/v1/auth/me', {
      authorization: `Basic ${btoa(`bob:${PASSWORD}`)}`,
      cookie: 'branchline_refresh=secret',
    })
    await fetch(`${url}/api/v1/users/bob`, {
      method: 'PATCH',
      body: '{"password":"half a secr',
      headers: { authorization: bob.authorization },
    })
    const text = JSON.stringify(server.logged)
    const secrets = [
      PASSWORD,
      'a wrong secret',
      'half a secr',
      token,
      bob.authorization.slice(7),
      'bob@example.org',
      'branchline_refresh',
    ]
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
    expect(server.logged.length).toBeGreaterThan(5)
  })
})

describe('cross-origin calls', () => {
  const app = 'https://app.example'
  const hostile = 'https://hostile.example'
  const cors = async (path: string, origin: string, init: RequestInit = {}) => {
    const response = await fetch(server.url + path, {
      ...init,
      headers: { origin, ...(init.headers as object) },
    })
    const pick = (name: string) => response.headers.get(`access-control-allow-${name}`)
    return {
      origin: pick('origin'),
      credentials: pick('credentials'),
      vary: response.headers.get('vary'),
    }
  }

  it('are open to every origin with tokens, and to trusted ones with the browser’s credentials', async () => {
    await start({ corsOrigins: [app] })
    const vary = expect.stringContaining('Origin')
    for (const path of ['/api/v1/users/ada', '/api/v1/nowhere', '/healthz']) {
      expect(await cors(path, app)).toEqual({ origin: app, credentials: 'true', vary })
      expect(await cors(path, hostile)).toEqual({ origin: hostile, credentials: null, vary })
      expect(await cors(path, server.url)).toEqual({
        origin: server.url,
        credentials: 'true',
        vary,
      })
    }
  })

  it('compare origins whole: scheme, host and port', async () => {
    await start({ corsOrigins: [app] })
    for (const origin of [
      'http://app.example',
      `${app}:8443`,
      `${app}.evil.example`,
      'https://evil-app.example',
      'null',
    ]) {
      expect((await cors('/api/v1/users/ada', origin)).credentials).toBeNull()
    }
    expect((await cors('/api/v1/users/ada', 'null')).origin).toBeNull()
  })

  it.each([['/api/v1/auth/refresh'], ['/branchline.v1.AuthService/RefreshToken']])(
    'cannot read %s from an untrusted origin',
    async (path) => {
      await start({ corsOrigins: [app] })
      expect((await cors(path, hostile, { method: 'POST' })).origin).toBeNull()
      expect((await cors(path, app, { method: 'POST' })).origin).toBe(app)
    },
  )

  it('are announced by a preflight, without signing in, for every header of every protocol', async () => {
    await start()
    const response = await fetch(`${server.url}/api/v1/users/ada`, {
      method: 'OPTIONS',
      headers: {
        origin: hostile,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization',
      },
    })
    const allowed = response.headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-max-age')).toBe('7200')
    expect(response.headers.get('access-control-allow-methods')).toContain('PATCH')
    expect(allowed).toEqual(
      expect.arrayContaining([
        'authorization',
        'content-type',
        'connect-protocol-version',
        'connect-timeout-ms',
        'x-grpc-web',
        'x-user-agent',
        'grpc-timeout',
        'x-service-otp',
      ]),
    )
    expect(allowed).not.toContain('x-webauth-user')
  })
})

describe('a private instance', () => {
  it('lets anonymous callers only sign in', async () => {
    const { url, bob } = await start({ settings: { privateInstance: true } })
    const anonymous = createClient(UserService, transportTo(url, 'gRPC'))
    await expect(anonymous.getUser({ name: 'users/ada' })).rejects.toThrow('sign in first')
    await expect(anonymous.getUser({ name: 'users/nobody' })).rejects.toThrow('sign in first')
    await expect(anonymous.batchGetUsers({ usernames: ['ada'] })).rejects.toThrow('sign in first')
    await expect(
      anonymous.createUser({ user: { username: 'eve', password: PASSWORD } }),
    ).rejects.toThrow('not open')
    const signedIn = createClient(UserService, transportTo(url, 'gRPC', bob.authorization))
    expect((await signedIn.getUser({ name: 'users/ada' })).username).toBe('ada')
  })
})

describe('switches', () => {
  it('leave changing usernames and display names to administrators', async () => {
    const { url, ada, bob } = await start({
      settings: { usernameChange: false, displayNameChange: false },
    })
    const rename = { user: { name: 'users/bob', username: 'rob', displayName: 'Rob' } }
    const update = (authorization: string, ...paths: string[]) =>
      createClient(UserService, transportTo(url, 'gRPC', authorization)).updateUser({
        ...rename,
        updateMask: { paths },
      })
    await expect(update(bob.authorization, 'username')).rejects.toThrow(
      'only administrators may change usernames',
    )
    await expect(update(bob.authorization, 'display_name')).rejects.toThrow(
      'only administrators may change display names',
    )
    expect(await update(ada.authorization, 'username', 'display_name')).toMatchObject({
      username: 'rob',
      displayName: 'Rob',
    })
  })

  it('turn reflection off', async () => {
    await start({ reflection: false })
    const response = await fetch(
      `${server.url}/grpc.reflection.v1.ServerReflection/ServerReflectionInfo`,
      {
        method: 'POST',
      },
    )
    expect(response.status).toBe(404)
  })
})

describe('a restart', () => {
  it('keeps accounts, sessions and tokens', async () => {
    const { url, bob } = await start()
    const token = await createToken(url, bob, ['read:user'])
    await server.close(0)
    const again = await startTestServer({ data: server.data })
    for (const authorization of [bob.authorization, `Bearer ${token}`]) {
      const { user } = await createClient(
        AuthService,
        transportTo(again.url, 'gRPC', authorization),
      ).getCurrentUser({})
      expect(user?.name).toBe('users/bob')
    }
    await again.stop()
  })
})
