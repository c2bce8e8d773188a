import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { AccessTokenService } from '#gen/branchline/v1/access_token_service_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { passcodeAt, STEP_SECONDS, wrongPasscode } from '../../support/passcodes.ts'
import type { RestAnswer } from '../../support/rest.ts'
import { createToken, PASSWORD, transportTo } from '../../support/server.ts'

let now = Date.UTC(2026, 4, 1, 10)

const { server, users, rest } = await openForge({ clock: { now: () => now } })

function basic(username: string, password = PASSWORD) {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}

const outcome = ({ status, body }: RestAnswer) => [status, body.message]

describe('personal access tokens in the API of forges', () => {
  it('are created with a password, used, listed and deleted', async () => {
    const made = await rest(basic('bob'), 'POST', '/users/Bob/tokens', {
      name: 'ci',
      scopes: ['read:repository', 'write:repository', 'read:user'],
    })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      id: expect.any(Number),
      name: 'ci',
      sha1: expect.stringMatching(/^branchline_pat_\w{38}$/),
      token_last_eight: made.body.sha1.slice(-8),
      scopes: ['read:user', 'write:repository'],
      created_at: '2026-05-01T10:00:00Z',
      last_used_at: '0001-01-01T00:00:00Z',
    })
    const token = { authorization: `token ${made.body.sha1}` }
    expect((await rest(token, 'GET', '/user')).body.login).toBe('bob')
    await server.app.background.settled()
    const listed = await rest(basic('bob'), 'GET', '/users/bob/tokens')
    expect(listed.body).toEqual([{ ...made.body, sha1: '', last_used_at: '2026-05-01T10:00:00Z' }])
    expect(listed.headers.get('x-total-count')).toBe('1')
    expect((await rest(basic('bob'), 'DELETE', `/users/bob/tokens/${made.body.id}`)).status).toBe(
      204,
    )
    expect((await rest(token, 'GET', '/user')).status).toBe(401)
    expect((await rest(basic('bob'), 'DELETE', `/users/bob/tokens/${made.body.id}`)).status).toBe(
      404,
    )
  })

  it('are the tokens of UserService', async () => {
    const text = await createToken(server.url, users.carol, ['read:user'])
    const [token] = (await rest(basic('carol'), 'GET', '/users/carol/tokens')).body
    expect(token).toMatchObject({
      name: '',
      token_last_eight: text.slice(-8),
      scopes: ['read:user'],
    })
    await rest(basic('carol'), 'POST', '/users/carol/tokens', { name: 'here', scopes: ['all'] })
    const { body } = await rest(users.carol, 'GET', '/users/carol/personalAccessTokens')
    expect(body.personalAccessTokens[1]).toMatchObject({ description: 'here', scopes: ['all'] })
    await rest(basic('carol'), 'DELETE', `/users/carol/tokens/${token.id}`)
    expect((await rest(basic('carol'), 'GET', '/users/carol/tokens')).body).toHaveLength(1)
    await rest(basic('carol'), 'DELETE', '/users/carol/tokens/here')
  })

  it('are listed in pages', async () => {
    for (const name of ['one', 'two', 'three']) {
      await rest(basic('carol'), 'POST', '/users/carol/tokens', { name, scopes: ['all'] })
    }
    const page = await rest(basic('carol'), 'GET', '/users/carol/tokens?page=2&limit=2')
    expect(page.body).toMatchObject([{ name: 'three' }])
    expect(page.headers.get('x-total-count')).toBe('3')
    for (const name of ['one', 'two', 'three'])
      await rest(basic('carol'), 'DELETE', `/users/carol/tokens/${name}`)
  })

  it.each([
    [{ scopes: ['all'] }, 422, 'name is missing or not allowed'],
    [{ name: 'x'.repeat(257), scopes: ['all'] }, 422, 'name is longer than 256 characters'],
    [{ name: 'none' }, 400, 'access token must have a scope'],
    [{ name: 'none', scopes: null }, 400, 'access token must have a scope'],
    [
      { name: 'odd', scopes: ['read:everything'] },
      400,
      'invalid access token scope provided: read:everything',
    ],
    [
      { name: 'shy', scopes: ['public-only'] },
      400,
      'invalid access token scope provided: public-only',
    ],
    [{ name: 'taken', scopes: ['all'] }, 400, 'access token name has been used already'],
  ])('cannot be created from %j', async (body, status, message) => {
    await rest(basic('bob'), 'POST', '/users/bob/tokens', { name: 'taken', scopes: ['read:misc'] })
    expect(outcome(await rest(basic('bob'), 'POST', '/users/bob/tokens', body))).toEqual([
      status,
      message,
    ])
  })

  it('accept the scopes of both kinds of clients', async () => {
    const scopes = ['read:activitypub', 'write:memo', 'read:package', 'public-only']
    const { body } = await rest(basic('bob'), 'POST', '/users/bob/tokens', {
      name: 'scopes',
      scopes,
    })
    expect(body.scopes).toEqual(['write:memo', 'read:package', 'read:activitypub', 'public-only'])
  })

  it('are deleted by name if the name is unambiguous', async () => {
    const make = (name: string) =>
      rest(basic('bob'), 'POST', '/users/bob/tokens', { name, scopes: ['all'] })
    const remove = (token: string | number) =>
      rest(basic('bob'), 'DELETE', `/users/bob/tokens/${token}`)
    await make('a b/c')
    expect((await remove('a%20b%2Fc')).status).toBe(204)
    await make('987654321')
    expect((await remove('987654321')).status).toBe(204)
    for (const _ of [1, 2])
      await rest(users.bob, 'POST', '/users/bob/personalAccessTokens', { description: 'twin' })
    expect(outcome(await remove('twin'))).toEqual([422, "multiple matches for token name 'twin'"])
    const tokens: { id: number; name: string }[] = (
      await rest(basic('bob'), 'GET', '/users/bob/tokens')
    ).body
    expect((await remove(tokens.find(({ name }) => name === 'twin')?.id ?? 0)).status).toBe(204)
    expect((await remove('twin')).status).toBe(204)
  })

  it('can be managed by the account and by administrators', async () => {
    const { body } = await rest(basic('bob'), 'POST', '/users/bob/tokens', {
      name: 'mine',
      scopes: ['all'],
    })
    for (const [method, path] of [
      ['GET', '/users/bob/tokens'],
      ['POST', '/users/bob/tokens'],
      ['DELETE', `/users/bob/tokens/${body.id}`],
    ] as const) {
      expect((await rest(basic('carol'), method, path)).status).toBe(403)
      expect((await rest(basic('ada'), method, path.replace('bob', 'nobody'))).status).toBe(404)
    }
    // The id of another account's token is not found.
    expect((await rest(basic('carol'), 'DELETE', `/users/carol/tokens/${body.id}`)).status).toBe(
      404,
    )
    expect((await rest(basic('ada'), 'DELETE', `/users/bob/tokens/${body.id}`)).status).toBe(204)
    const given = await rest(basic('ada'), 'POST', '/users/bob/tokens', {
      name: 'from ada',
      scopes: ['read:user'],
    })
    expect(
      (await rest({ authorization: `token ${given.body.sha1}` }, 'GET', '/user')).body.login,
    ).toBe('bob')
  })

  it('can be managed with a password only', async () => {
    const token = await createToken(server.url, users.bob, ['all'])
    for (const who of [
      undefined,
      users.bob,
      { authorization: `token ${token}` },
      { authorization: `Bearer ${token}` },
      basic('bob', token),
      basic(token, 'x-oauth-basic'),
    ]) {
      for (const [method, path] of [
        ['GET', '/users/bob/tokens'],
        ['POST', '/users/bob/tokens'],
        ['DELETE', '/users/bob/tokens/1'],
      ] as const) {
        const refused = await rest(who, method, path)
        expect(outcome(refused)).toEqual([401, 'auth required'])
        expect(refused.headers.get('www-authenticate')).toContain('Basic')
      }
    }
    expect((await rest(basic('bob', 'wrong'), 'GET', '/users/bob/tokens')).status).toBe(401)
  })

  it('require a passcode, once, from an account with a second factor', async () => {
    const twoFactor = createClient(
      TwoFactorService,
      transportTo(server.url, 'gRPC', users.carol.authorization),
    )
    const { secret } = await twoFactor.enrollTwoFactor({
      name: 'users/carol/twoFactor',
      password: PASSWORD,
    })
    const clock = { now: () => now }
    await twoFactor.confirmTwoFactor({
      name: 'users/carol/twoFactor',
      passcode: passcodeAt(secret, clock),
    })
    now += STEP_SECONDS * 1000
    const send = (headers: Record<string, string>) =>
      fetch(`${server.url}/api/v1/users/carol/tokens`, {
        method: 'POST',
        headers: { ...basic('carol'), 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ name: `second ${now}`, scopes: ['all'] }),
      })
    const asked = await send({})
    expect([asked.status, asked.headers.get('x-service-otp')]).toEqual([401, 'required'])
    expect((await send({ 'x-service-otp': wrongPasscode(secret, clock) })).status).toBe(401)
    for (const header of ['x-service-otp', 'x-gitea-otp', 'x-forgejo-otp']) {
      const passcode = passcodeAt(secret, clock)
      expect((await send({ [header]: passcode })).status).toBe(201)
      expect((await send({ [header]: passcode })).status).toBe(401)
      now += STEP_SECONDS * 1000
    }
  })

  it('can describe and delete themselves', async () => {
    const { body } = await rest(basic('bob'), 'POST', '/users/bob/tokens', {
      name: 'self',
      scopes: ['read:misc'],
    })
    const token = { authorization: `Bearer ${body.sha1}` }
    expect((await rest(token, 'GET', '/token')).body).toMatchObject({
      id: body.id,
      name: 'self',
      sha1: '',
    })
    for (const who of [users.bob, basic('bob')])
      expect((await rest(who, 'GET', '/token')).status).toBe(404)
    expect((await rest(undefined, 'GET', '/token')).status).toBe(401)
    expect((await rest(token, 'DELETE', '/token')).status).toBe(204)
    expect((await rest(token, 'GET', '/token')).status).toBe(401)
  })

  it('work the same over gRPC', async () => {
    const bob = createClient(
      AccessTokenService,
      transportTo(server.url, 'gRPC', basic('bob').authorization),
    )
    const { id, sha1 } = await bob.createAccessToken({
      username: 'bob',
      name: 'gRPC',
      scopes: ['all'],
    })
    const token = createClient(AccessTokenService, transportTo(server.url, 'gRPC', `token ${sha1}`))
    expect((await token.getCurrentAccessToken({})).id).toBe(id)
    const refused: unknown = await token
      .listAccessTokens({ username: 'bob' })
      .catch((error: unknown) => error)
    expect(ConnectError.from(refused).code).toBe(Code.Unauthenticated)
    await bob.deleteAccessToken({ username: 'bob', token: 'gRPC' })
  })
})
