import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { EventService } from '#gen/branchline/v1/event_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { createToken, PASSWORD, RPC_PROTOCOLS, transportTo } from '../../support/server.ts'

const forge = await openForge()
const { ada, bob } = forge.users

async function send(method: string, path: string, headers: Record<string, string>, body?: object) {
  const answer = await fetch(`${forge.server.url}/api/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
}

describe('an administrator who acts as another user', () => {
  it.each([
    ['the header', '/user', { sudo: 'bob' }],
    ['the header, in any case', '/user', { Sudo: ' BOB ' }],
    ['the query', '/user?sudo=bob', {}],
    ['the query, percent-encoded', '/user?page=1&%73udo=%62ob', {}],
    ['both', '/user?sudo=Bob', { sudo: 'bob' }],
  ])('is that account by %s', async (_name, path, headers) => {
    const { status, body } = await send('GET', path, {
      authorization: ada.authorization,
      ...headers,
    })
    expect([status, body.login, body.is_admin]).toEqual([200, 'bob', false])
  })

  it.each(RPC_PROTOCOLS)('is that account over %s', async (protocol) => {
    const accounts = createClient(
      AccountService,
      transportTo(forge.server.url, protocol, ada.authorization),
    )
    expect(await accounts.getAuthenticatedAccount({}, { headers: { sudo: 'bob' } })).toMatchObject({
      login: 'bob',
    })
  })

  it('acts with the permissions of that account only', async () => {
    const asBob = { authorization: ada.authorization, sudo: 'bob' }
    expect(
      (await send('POST', '/user/repos', asBob, { name: 'made-by-ada' })).body.owner.login,
    ).toBe('bob')
    expect((await send('GET', '/users', asBob)).status).toBe(403)
    expect((await send('DELETE', '/admin/users/carol', asBob)).status).toBe(403)
    expect((await send('GET', '/users/bob/settings', asBob)).status).toBe(200)
    expect((await send('GET', '/users/ada/settings', asBob)).status).toBe(403)
  })

  it('is recorded in the log', async () => {
    const { body: adaHerself } = await send('GET', '/user', { authorization: ada.authorization })
    const { body: bobHimself } = await send('GET', '/user', { authorization: bob.authorization })
    await send('GET', '/user', {
      authorization: ada.authorization,
      sudo: 'bob',
      'x-request-id': 'acted',
    })
    expect(forge.server.logged.find(({ request_id }) => request_id === 'acted')).toMatchObject({
      level: 'info',
      user: bobHimself.id,
      sudo_by: adaHerself.id,
    })
  })

  it('is limited by the scopes of the token', async () => {
    const sudo = 'bob'
    const narrow = {
      authorization: `token ${await createToken(forge.server.url, ada, ['read:user', 'write:admin'])}`,
      sudo,
    }
    expect((await send('GET', '/user', narrow)).body.login).toBe('bob')
    expect((await send('POST', '/user/repos', narrow, { name: 'x' })).status).toBe(403)
    const plain = {
      authorization: `token ${await createToken(forge.server.url, ada, ['write:user', 'read:admin'])}`,
      sudo,
    }
    const refused = await send('GET', '/user', plain)
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      403,
      expect.stringContaining('write:admin'),
    ])
  })

  it('may authenticate with a password', async () => {
    const authorization = `Basic ${Buffer.from(`ada:${PASSWORD}`).toString('base64')}`
    expect((await send('GET', '/user', { authorization, sudo: 'carol' })).body.login).toBe('carol')
  })

  it.each([
    ['nobody', 404],
    ['', 200],
    ['bob,carol', 404],
    ['dan', 403],
    ['x'.repeat(1000), 404],
  ])('must name an existing account: %s', async (sudo, status) => {
    const answer = await send('GET', '/user', { authorization: ada.authorization, sudo })
    expect(answer.status).toBe(status)
    if (status === 200) expect(answer.body.login).toBe('ada')
  })

  it('must name a single account', async () => {
    const headers = { authorization: ada.authorization, sudo: 'bob' }
    expect((await send('GET', '/user?sudo=carol', headers)).status).toBe(404)
    expect(
      (await send('GET', '/user?sudo=carol&sudo=bob', { authorization: ada.authorization })).status,
    ).toBe(404)
  })

  it('loses access with the role of administrator', async () => {
    await forge.ask(ada, 'POST', '/admin/users', {
      username: 'eve',
      email: 'eve@example.org',
      password: PASSWORD,
    })
    await forge.ask(ada, 'PATCH', '/admin/users/eve', {
      source_id: 0,
      login_name: 'eve',
      admin: true,
    })
    const authorization = `Basic ${Buffer.from(`eve:${PASSWORD}`).toString('base64')}`
    const events = createClient(EventService, transportTo(forge.server.url, 'gRPC', authorization))
    const stream = events.watchEvents({}, { headers: { sudo: 'bob' } })[Symbol.asyncIterator]()
    const first = stream.next()
    await forge.ask(bob, 'POST', '/memos', { content: 'of bob' })
    await first
    await forge.ask(ada, 'PATCH', '/admin/users/eve', {
      source_id: 0,
      login_name: 'eve',
      admin: false,
    })
    const ended = (async () => {
      for (;;) {
        const { done } = await stream.next()
        if (done) return undefined
      }
    })()
    await forge.ask(bob, 'POST', '/memos', { content: 'of bob again' })
    await expect(ended).rejects.toMatchObject({ code: Code.Unauthenticated })
  })
})

describe('other users', () => {
  it('are refused, and do not act as anyone', async () => {
    const headers = [{ authorization: bob.authorization }, {}]
    for (const who of headers) {
      for (const [path, sudo] of [
        ['/users/bob', { sudo: 'carol' }],
        ['/users/bob?sudo=carol', {}],
        ['/users/bob?sudo=bob', {}],
        ['/version', { sudo: 'bob' }],
      ] as const) {
        const answer = await send('GET', path, { ...who, ...sudo })
        expect([path, answer.status, answer.body.message]).toEqual([
          path,
          403,
          'Only administrators allowed to sudo.',
        ])
      }
    }
    const signIn = { passwordCredentials: { username: 'ada', password: PASSWORD } }
    expect((await send('POST', '/auth/signin', { sudo: 'bob' }, signIn)).status).toBe(403)
  })

  it.each(RPC_PROTOCOLS)('are refused over %s', async (protocol) => {
    for (const authorization of [bob.authorization, undefined]) {
      const auth = createClient(AuthService, transportTo(forge.server.url, protocol, authorization))
      const refused = await auth
        .getCurrentUser({}, { headers: { sudo: 'ada' } })
        .catch((error) => ConnectError.from(error))
      expect(refused).toMatchObject({ code: Code.PermissionDenied })
    }
  })

  it('are refused by Git, like administrators', async () => {
    await forge.ask(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
    const refs = `${forge.server.url}/bob/engine.git/info/refs?service=git-upload-pack`
    expect(
      (await fetch(refs, { headers: { authorization: ada.authorization, sudo: 'bob' } })).status,
    ).toBe(403)
    const inQuery = await fetch(`${refs}&sudo=bob`, {
      headers: { authorization: ada.authorization },
    })
    expect(inQuery.status).toBe(403)
    expect((await fetch(refs, { headers: { authorization: ada.authorization } })).status).toBe(200)
  })
})

describe('a page of another origin', () => {
  it('may send the headers of clients of compatible systems', async () => {
    const answer = await fetch(`${forge.server.url}/api/v1/user`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example.org', 'access-control-request-method': 'GET' },
    })
    const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
    expect(allowed).toEqual(
      expect.arrayContaining(['sudo', 'x-gitea-otp', 'x-forgejo-otp', 'x-service-otp']),
    )
  })
})
