import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createTestUsers,
  createToken,
  PASSWORD,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { type SelfSigned, selfSigned } from './certificate.ts'
import { curl, sendJson } from './curl.ts'
import { isInstalled } from './program.ts'

const here = isInstalled('curl')
const suite = (name: string) => (here ? name : `${name} (skipped: curl is not installed)`)

/** An error answer, whatever the protocol. */
interface ErrorBody {
  readonly code: number | string
  readonly details: readonly Record<string, unknown>[]
}

const errorReason = (text: string) => {
  const { details } = JSON.parse(text) as ErrorBody
  return details.map(
    ({ reason, debug }) => reason ?? (debug as { reason?: string } | undefined)?.reason,
  )[0]
}

describe.skipIf(!here).each([
  {
    protocol: 'REST',
    paths: {
      create: '/api/v1/users',
      signIn: '/auth/signin',
      refresh: '/auth/refresh',
      signOut: '/auth/signout',
    },
    prefix: '/api/v1',
    userBody: (user: object): object => user,
  },
  {
    protocol: 'Connect',
    paths: {
      create: '/branchline.v1.UserService/CreateUser',
      signIn: '/SignIn',
      refresh: '/RefreshToken',
      signOut: '/SignOut',
    },
    prefix: '/branchline.v1.AuthService',
    userBody: (user: object): object => ({ user }),
  },
])(suite('curl with a cookie jar over $protocol'), ({ paths, prefix, userBody }) => {
  let server: TestServer
  let jar: string
  beforeAll(async () => {
    server = await startTestServer()
    jar = join(server.data, 'cookies.txt')
  })
  afterAll(() => server.stop())

  const post = (path: string, body: object, ...args: string[]) =>
    curl([...args, ...sendJson(body), server.url + path])
  const withJar = (path: string, body: object = {}) =>
    post(prefix + path, body, '--cookie', jar, '--cookie-jar', jar)
  const cookie = /^branchline_refresh=([^;]+); Path=\/; HttpOnly; SameSite=Lax; Expires=[^;]+ GMT$/
  const cookieOf = (headers: Headers) => cookie.exec(headers.getSetCookie()[0] ?? '')?.[1]

  it('keeps a session from the first account to its end', async () => {
    const created = await post(paths.create, userBody({ username: 'ada', password: PASSWORD }))
    expect(created.status).toBe(200)
    expect(JSON.parse(created.text)).toMatchObject({ name: 'users/ada', role: 'ADMIN' })

    const credentials = { passwordCredentials: { username: 'ada', password: PASSWORD } }
    const signedIn = await withJar(paths.signIn, credentials)
    expect(signedIn.headers.getSetCookie()).toEqual([expect.stringMatching(cookie)])
    // The jar marks cookies that scripts must not see so.
    expect(await readFile(jar, 'utf8')).toContain('#HttpOnly_127.0.0.1')

    const refreshed = await withJar(paths.refresh)
    expect(refreshed.status).toBe(200)
    expect(cookieOf(refreshed.headers)).not.toBe(cookieOf(signedIn.headers))
    const again = await withJar(paths.refresh)
    expect(cookieOf(again.headers)).not.toBe(cookieOf(refreshed.headers))

    const { accessToken } = JSON.parse(again.text) as { accessToken: string }
    const me = await curl(['--oauth2-bearer', accessToken, `${server.url}/api/v1/auth/me`])
    expect(JSON.parse(me.text)).toMatchObject({ user: { username: 'ada' } })

    const signedOut = await withJar(paths.signOut)
    expect(signedOut).toMatchObject({ status: 200, text: '{}' })
    expect(signedOut.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^branchline_refresh=;.*Expires=Thu, 01 Jan 1970/),
    ])
    expect(await readFile(jar, 'utf8')).not.toContain('branchline_refresh')

    const forgotten = await withJar(paths.refresh)
    expect(forgotten.status).toBe(401)
    expect(errorReason(forgotten.text)).toBe('UNAUTHENTICATED')
    const replayed = await post(
      prefix + paths.refresh,
      {},
      '--cookie',
      `branchline_refresh=${cookieOf(again.headers)}`,
    )
    expect(replayed.status).toBe(401)
    expect(errorReason(replayed.text)).toBe('BAD_CREDENTIALS')
  })
})

describe.skipIf(!here)(suite('curl'), () => {
  let server: TestServer
  let users: TestUsers
  let token: string
  const secrets: Record<string, string> = {}

  beforeAll(async () => {
    server = await startTestServer()
    users = await createTestUsers(server.url)
    token = await createToken(server.url, users.bob, ['all'])
    Object.assign(secrets, { PASSWORD, TOKEN: token, SESSION: users.bob.authorization })
  })
  afterAll(() => server.stop())

  const fill = (text: string) => text.replace(/[A-Z]{5,}/g, (name) => secrets[name] ?? name)
  const get = (path: string, ...args: string[]) => curl([...args, server.url + path])
  const asBob = () => ['--header', `authorization: ${users.bob.authorization}`]

  it.each([
    ['Basic with a password', ['--user', 'bob:PASSWORD']],
    ['Basic with a password, in another case', ['--user', 'BOB:PASSWORD']],
    ['Basic with a token as password', ['--user', 'bob:TOKEN']],
    // Git's credential helpers store some username beside a token; the token says whose it is.
    ['Basic with a token beside any username', ['--user', 'git:TOKEN']],
    ['Basic with a token as username', ['--user', 'TOKEN:']],
    ['Basic with a token as username and a filler', ['--user', 'TOKEN:x-oauth-basic']],
    ['Bearer with a token', ['--oauth2-bearer', 'TOKEN']],
    ['bearer in lower case', ['--header', 'authorization: bearer TOKEN']],
    ['token', ['--header', 'authorization: token TOKEN']],
    ['Bearer with a session', ['--header', 'authorization: SESSION']],
  ])('is known by %s', async (_, args) => {
    const { status, text } = await get('/api/v1/auth/me', ...args.map(fill))
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({
      user: { name: 'users/bob', email: 'bob@example.org' },
    })
  })

  it.each([
    ['no credentials', [], 'UNAUTHENTICATED'],
    ['a wrong password', ['--user', 'bob:wrong'], 'BAD_CREDENTIALS'],
    ['a scheme of its own', ['--header', 'authorization: Digest abc'], 'BAD_CREDENTIALS'],
    // Cookies travel by themselves, so they prove nothing about who wants the call.
    ['a cookie', ['--cookie', 'branchline_refresh=TOKEN'], 'UNAUTHENTICATED'],
  ])('is challenged with %s', async (_, args, want) => {
    const { status, headers, text } = await get('/api/v1/auth/me', ...args.map(fill))
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('Bearer')
    expect(errorReason(text)).toBe(want)
  })

  it.each([
    ['lowerCamelCase', '?updateMask=displayName,description'],
    ['snake_case', '?update_mask=display_name,description'],
    ['both cases', '?updateMask=display_name,description'],
    ['blanks', '?updateMask=displayName,%20description'],
    ['a repeated parameter', '?updateMask=displayName&updateMask=description'],
    ['a repeated parameter in both spellings', '?updateMask=displayName&update_mask=description'],
    ['the members of the body', ''],
  ])('patches by a mask of %s', async (name, query) => {
    const fields = { displayName: `By ${name}`, description: `Patched by ${name}` }
    const patched = await curl([
      ...asBob(),
      '-X',
      'PATCH',
      ...sendJson(fields),
      `${server.url}/api/v1/users/bob${query}`,
    ])
    expect(patched.status).toBe(200)
    expect(JSON.parse(patched.text)).toMatchObject(fields)
  })

  it.each(['displayName,description', 'display_name,description'])(
    'updates by the JSON mask %s',
    async (updateMask) => {
      const fields = { displayName: `By ${updateMask}`, description: 'Updated' }
      const update = sendJson({ user: { name: 'users/bob', ...fields }, updateMask })
      const updated = await curl([
        ...asBob(),
        ...update,
        `${server.url}/branchline.v1.UserService/UpdateUser`,
      ])
      expect(JSON.parse(updated.text)).toMatchObject(fields)
    },
  )

  it('gets headers alone with HEAD', async () => {
    const whole = await get('/api/v1/users/bob')
    const head = await get('/api/v1/users/bob', '--head')
    expect(head).toMatchObject({ status: 200, text: '' })
    for (const name of ['content-type', 'content-length', 'cache-control']) {
      expect(head.headers.get(name)).toBe(whole.headers.get(name))
    }
  })

  it.each([
    ['OPTIONS', '/api/v1/users/bob', 204, ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH']],
    ['PUT', '/api/v1/users/bob', 405, ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH']],
    ['DELETE', '/api/v1/auth/me', 405, ['GET', 'HEAD', 'OPTIONS']],
    ['GET', '/api/v1/auth/signin', 405, ['OPTIONS', 'POST']],
  ])('learns from %s %s what is allowed', async (method, path, status, allowed) => {
    const answer = await get(path, '-X', method)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(allowed)
  })

  it.each([
    ['an unknown path', '/api/v1/nothing', 404, 5],
    ['a slash at the end', '/api/v1/users/bob/', 404, 5],
    ['an account that does not exist', '/api/v1/users/nobody', 404, 5],
  ])('gets a status object for %s', async (_, path, status, code) => {
    const answer = await get(path)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(JSON.parse(answer.text)).toMatchObject({ code, message: expect.any(String) })
  })

  it('gets 404 and a code for a method of RPC that does not exist', async () => {
    const answer = await curl([...sendJson({}), `${server.url}/branchline.v1.UserService/Nothing`])
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'unimplemented' })
  })

  it.each([
    ['--http1.1', '1.1'],
    // Upgrade: h2c went with RFC 9113, and is ignored as every server may.
    ['--http2', '1.1'],
    ['--http2-prior-knowledge', '2'],
  ])('speaks %s on the one port', async (option, version) => {
    const rest = await get('/api/v1/users/bob', option)
    const rpc = await curl([
      option,
      ...sendJson({ name: 'users/bob' }),
      `${server.url}/branchline.v1.UserService/GetUser`,
    ])
    for (const answer of [rest, rpc]) {
      expect(answer).toMatchObject({ status: 200, httpVersion: version })
      expect(JSON.parse(answer.text)).toMatchObject({ username: 'bob' })
    }
  })

  it.each(['--http1.1', '--http2-prior-knowledge'])(
    'is told by %s what is too large, and why',
    async (option) => {
      const large = JSON.stringify({
        username: 'eve',
        password: PASSWORD,
        description: 'x'.repeat(5 * 1024 * 1024),
      })
      const args = [
        option,
        '--header',
        'content-type: application/json',
        '--data-binary',
        '@-',
        `${server.url}/api/v1/users`,
      ]
      const answer = await curl(args, large)
      expect(answer.status).toBe(413)
      expect(JSON.parse(answer.text)).toMatchObject({ code: 8 })
      expect(errorReason(answer.text)).toBe('REQUEST_TOO_LARGE')
    },
  )

  it.each([
    ['gzip', '/api/v1/users:batchGet'],
    ['br', '/api/v1/users:batchGet'],
    ['gzip', '/branchline.v1.UserService/BatchGetUsers'],
    ['br', '/branchline.v1.UserService/BatchGetUsers'],
  ])('unpacks %s of %s', async (coding, path) => {
    const description = 'long enough to be worth it, '.repeat(30).concat('always')
    const patch = sendJson({ description })
    await curl([
      ...asBob(),
      '-X',
      'PATCH',
      ...patch,
      `${server.url}/api/v1/users/bob?updateMask=description`,
    ])
    const accept = ['--compressed', '--header', `accept-encoding: ${coding}`]
    const answer = await curl([
      ...accept,
      ...sendJson({ usernames: ['bob', 'carol'] }),
      server.url + path,
    ])
    expect(answer.headers.get('content-encoding')).toBe(coding)
    expect(JSON.parse(answer.text)).toMatchObject({
      users: [{ description }, { username: 'carol' }],
    })
  })
})

describe.skipIf(!here)(suite('curl over TLS'), () => {
  let server: TestServer
  let folder: string
  let certificate: SelfSigned

  beforeAll(async () => {
    certificate = selfSigned()
    folder = await mkdtemp(join(tmpdir(), 'branchline-curl-'))
    server = await startTestServer({ tls: certificate })
    await createTestUsersOverTls()
  })
  afterAll(async () => {
    await server.stop()
    await rm(folder, { recursive: true })
    certificate.remove()
  })

  const trusting = (...args: string[]) => curl(['--cacert', certificate.certFile, ...args])
  const createTestUsersOverTls = () =>
    trusting(...sendJson({ username: 'ada', password: PASSWORD }), `${server.url}/api/v1/users`)

  it.each([
    ['--http1.1', '1.1'],
    ['--http2', '2'],
  ])('gets a cookie for https only, and a session, by %s', async (option, version) => {
    const jar = join(folder, `${option}.txt`)
    const post = (path: string, body: object) =>
      trusting(option, '--cookie', jar, '--cookie-jar', jar, ...sendJson(body), server.url + path)
    const signedIn = await post('/api/v1/auth/signin', {
      passwordCredentials: { username: 'ada', password: PASSWORD },
    })
    expect(signedIn).toMatchObject({ status: 200, httpVersion: version })
    expect(signedIn.headers.getSetCookie()).toEqual([expect.stringMatching(/; Secure$/)])
    expect(await post('/api/v1/auth/refresh', {})).toMatchObject({
      status: 200,
      httpVersion: version,
    })
  })

  it('is refused by a client that does not know the certificate', async () => {
    await expect(curl([`${server.url}/api/v1/users/ada`])).rejects.toThrow(
      'SSL certificate problem',
    )
  })
})
