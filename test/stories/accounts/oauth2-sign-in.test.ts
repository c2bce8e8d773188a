import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import * as oidc from 'openid-client'
import { describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { openBrowser } from '../../support/browser.ts'
import { askBy, openForge } from '../../support/forge.ts'
import { sendHttp2 } from '../../support/http-request.ts'
import {
  askToken,
  authorizationUrl,
  authorize,
  basicOf,
  CALLBACK,
  newPkce,
  postForm,
  register,
  signInOn,
  tokensOf,
} from '../../support/oauth-clients.ts'
import { passcodeAt } from '../../support/passcodes.ts'
import { restAt } from '../../support/rest.ts'
import {
  createTestUsers,
  PASSWORD,
  RPC_PROTOCOLS,
  startTestServer,
  transportTo,
} from '../../support/server.ts'

// The clients check times by the clock of the machine.
let aheadMs = 0
const clock = { now: () => Date.now() + aheadMs }

const forge = await openForge({ clock })
const { server, users, rest, ask, client: gitClient } = forge

/** git-credential-oauth, as every instance knows it. */
const CREDENTIAL_HELPER = 'a4792ccc-144e-407e-86c9-5e7d8d9c3269'

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('a stock client of OpenID Connect', () => {
  it('discovers the server, signs a user in, refreshes and revokes', async () => {
    const { client_id, client_secret } = await register(forge, users.ada)
    const config = await oidc.discovery(
      new URL(server.url),
      client_id,
      client_secret,
      oidc.ClientSecretBasic(client_secret),
      { execute: [oidc.allowInsecureRequests] },
    )
    const codeVerifier = oidc.randomPKCECodeVerifier()
    const state = oidc.randomState()
    const nonce = oidc.randomNonce()
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: 'openid profile email groups read:user',
      code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    const browser = openBrowser(server.url)
    const signIn = await browser.open(url.href)
    expect(signIn.body).toContain('Sign in to continue to Woodpecker')
    const consent = await signInOn(browser, 'bob')
    expect(consent.body).toContain('see your e-mail address')
    expect(consent.body).toContain('ci.example.org')
    expect(consent.body).toContain('registered by <strong>ada</strong>')
    const returned = await browser.press('allow')
    const location = new URL(returned.headers.get('location') ?? '')
    expect(location.href).toMatch(`${CALLBACK}?code=`)

    const tokens = await oidc.authorizationCodeGrant(config, location, {
      pkceCodeVerifier: codeVerifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    expect(claims).toMatchObject({
      iss: server.url,
      aud: client_id,
      preferred_username: 'bob',
      name: 'bob',
      email: 'bob@example.org',
      email_verified: false,
      groups: [],
    })
    const info = await oidc.fetchUserInfo(config, tokens.access_token, claims?.sub ?? '')
    expect(info).toMatchObject({ sub: claims?.sub, preferred_username: 'bob' })
    expect(await oidc.tokenIntrospection(config, tokens.access_token)).toMatchObject({
      active: true,
      username: 'bob',
      client_id,
      scope: 'openid profile email groups read:user',
    })

    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(refreshed.access_token).not.toBe(tokens.access_token)
    await oidc.tokenRevocation(config, refreshed.refresh_token ?? '')
    expect((await rest(bearer(refreshed.access_token), 'GET', '/user')).status).toBe(401)
    expect((await rest(bearer(tokens.access_token), 'GET', '/user')).status).toBe(401)
  })

  it('finds the same endpoints and key on HTTP/2, without private members of the key', async () => {
    const overHttp1 = await (await fetch(`${server.url}/login/oauth/keys`)).json()
    const overHttp2 = await sendHttp2(`${server.url}/login/oauth/keys`, {})
    expect(JSON.parse(overHttp2.body)).toEqual(overHttp1)
    const refused = await sendHttp2(`${server.url}/login/oauth/access_token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=refresh_token&client_id=x',
    })
    expect([refused.status, JSON.parse(refused.body).error]).toEqual([401, 'invalid_client'])
    const { keys } = overHttp1 as { keys: Record<string, unknown>[] }
    expect(Object.keys(keys[0] ?? {}).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
  })

  it('keeps its tokens over a restart of the server', async () => {
    const data = await mkdtemp(join(tmpdir(), 'branchline-'))
    const first = await startTestServer({ data })
    const { ada } = await createTestUsers(first.url)
    const client = await register({ ask: askBy(restAt(first.url)) }, ada)
    const tokens = await tokensOf(first.url, 'bob', client, { scope: 'openid read:user' })
    const keysOf = async (url: string) => (await fetch(`${url}/login/oauth/keys`)).json()
    const keys = await keysOf(first.url)
    await first.stop()

    const second = await startTestServer({ data })
    const restAgain = restAt(second.url)
    expect(await keysOf(second.url)).toEqual(keys)
    expect((await restAgain(bearer(tokens.access_token), 'GET', '/user')).body.login).toBe('bob')
    const refreshed = await askToken(second.url, client, {
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
    })
    expect(refreshed.status).toBe(200)
    await second.stop()
    await rm(data, { recursive: true })
  })
})

describe('a CI system that asks for no scope', () => {
  it('gets full access after the user has read so, and is not asked again', async () => {
    const client = await register(forge, users.ada)
    const parameters = { client_id: client.client_id, redirect_uri: CALLBACK, state: 'x' }
    const browser = openBrowser(server.url)
    await browser.open(authorizationUrl(server.url, parameters))
    const consent = await signInOn(browser, 'bob')
    expect(consent.body).toContain('do everything that you can do')
    expect(consent.body).toContain('remains when you revoke the access')
    await browser.press('allow')

    // The second sign-in needs no page.
    const again = await browser.open(authorizationUrl(server.url, parameters))
    expect(again.status).toBe(303)
    const code = new URL(again.headers.get('location') ?? '').searchParams.get('code') ?? ''
    const { status, body, headers } = await postForm(
      `${server.url}/login/oauth/access_token`,
      { grant_type: 'authorization_code', code, redirect_uri: CALLBACK },
      basicOf(client),
    )
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      access_token: expect.stringMatching(/^branchline_oat_\w{38}$/),
      token_type: 'bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^branchline_ort_/),
      scope: 'all',
    })
    expect(
      (await rest(bearer(body.access_token), 'POST', '/user/repos', { name: 'ci' })).status,
    ).toBe(201)
    expect((await rest(bearer(body.access_token), 'GET', '/user')).body.login).toBe('bob')

    // Other access is asked for.
    const more = await browser.open(
      authorizationUrl(server.url, { ...parameters, scope: 'openid all' }),
    )
    expect(more.body).toContain('know that you have this account')
  })

  it('gets the scopes that another forge calls otherwise', async () => {
    const client = await register(forge, users.ada, { name: 'Drone' })
    const { scope } = await tokensOf(server.url, 'bob', client, {
      scope: 'repo,repo:status,user:email,read:org'.replaceAll(',', ' '),
    })
    expect(scope).toBe('read:user write:repository read:organization')
  })
})

describe('a credential helper for Git on the machine of the user', () => {
  it('signs in on any port of the loopback interface and clones', async () => {
    await ask(users.bob, 'POST', '/user/repos', { name: 'secret', private: true, auto_init: true })
    const { verifier, challenge } = newPkce()
    const redirectUri = 'http://127.0.0.1:54321'
    const answer = await authorize(server.url, 'bob', {
      client_id: CREDENTIAL_HELPER,
      redirect_uri: redirectUri,
      scope: 'read:repository write:repository',
      state: 'st',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    expect(answer.get('state')).toBe('st')
    expect(answer.get('iss')).toBe(server.url)
    const form = {
      grant_type: 'authorization_code',
      code: answer.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }
    // The Go library sends the id of a client without secret by Basic.
    const { body } = await postForm(`${server.url}/login/oauth/access_token`, form, {
      authorization: `Basic ${Buffer.from(`${CREDENTIAL_HELPER}:`).toString('base64')}`,
    })
    const { host } = new URL(server.url)
    const remote = `http://oauth2:${body.access_token}@${host}/bob/secret.git`
    await gitClient.git('.', 'clone', '-q', remote, 'secret')
    await gitClient.commit('secret', 'by a helper')
    await gitClient.git('secret', 'push', '-q', 'origin', 'HEAD')

    // The user ends the access, and the next push is refused.
    const [grant] = (await rest(users.bob, 'GET', '/user/grants/oauth2')).body.filter(
      ({ client_id }: { client_id: string }) => client_id === CREDENTIAL_HELPER,
    )
    expect(grant).toMatchObject({
      application_name: 'git-credential-oauth',
      scopes: ['write:repository'],
    })
    expect((await rest(users.carol, 'DELETE', `/user/grants/oauth2/${grant.id}`)).status).toBe(404)
    expect((await rest(users.bob, 'DELETE', `/user/grants/oauth2/${grant.id}`)).status).toBe(204)
    await gitClient.commit('secret', 'too late')
    await expect(gitClient.git('secret', 'push', '-q', 'origin', 'HEAD')).rejects.toThrow()
    expect((await rest(bearer(body.access_token), 'GET', '/repos/bob/secret')).status).toBe(401)
    const refreshed = await askToken(
      server.url,
      { client_id: CREDENTIAL_HELPER },
      { grant_type: 'refresh_token', refresh_token: body.refresh_token },
    )
    expect(refreshed.body.error).toBe('invalid_grant')
  })

  it('is asked for each time, since any program may claim to be it', async () => {
    const browser = openBrowser(server.url)
    const parameters = {
      client_id: CREDENTIAL_HELPER,
      redirect_uri: 'http://127.0.0.1:1/',
      code_challenge: newPkce().challenge,
      code_challenge_method: 'S256',
    }
    await authorize(server.url, 'bob', parameters, browser)
    const again = await browser.open(authorizationUrl(server.url, parameters))
    expect(again.body).toContain('a program on your computer')
  })
})

describe('an access token of an application', () => {
  it('has its scopes on every protocol, and ends with the application', async () => {
    const client = await register(forge, users.ada)
    const { access_token } = await tokensOf(server.url, 'bob', client, { scope: 'read:repository' })
    for (const protocol of RPC_PROTOCOLS) {
      const repositories = createClient(
        RepositoryService,
        transportTo(server.url, protocol, `Bearer ${access_token}`),
      )
      const found = await repositories.getRepository({ owner: 'bob', repo: 'secret' })
      expect(found.private).toBe(true)
      await expect(repositories.createUserRepository({ name: 'no' })).rejects.toThrow(/scope/)
    }
    expect((await rest(users.ada, 'DELETE', `/user/applications/oauth2/${client.id}`)).status).toBe(
      204,
    )
    for (const protocol of RPC_PROTOCOLS) {
      const auth = createClient(
        AuthService,
        transportTo(server.url, protocol, `Bearer ${access_token}`),
      )
      await expect(auth.getCurrentUser({})).rejects.toThrow(/wrong, expired or revoked/)
    }
  })

  it('expires after an hour, and its refresh token gets another', async () => {
    const client = await register(forge, users.ada)
    const first = await tokensOf(server.url, 'bob', client)
    aheadMs += 3_600_000
    expect((await rest(bearer(first.access_token), 'GET', '/user')).status).toBe(401)
    const { body } = await askToken(server.url, client, {
      grant_type: 'refresh_token',
      refresh_token: first.refresh_token,
    })
    expect((await rest(bearer(body.access_token), 'GET', '/user')).status).toBe(200)
    aheadMs += 31 * 24 * 3_600_000
    const late = await askToken(server.url, client, {
      grant_type: 'refresh_token',
      refresh_token: body.refresh_token,
    })
    expect(late.body.error).toBe('invalid_grant')
    aheadMs = 0
  })

  it('creates no token that would outlive it', async () => {
    const client = await register(forge, users.ada)
    const { access_token } = await tokensOf(server.url, 'bob', client)
    const made = await rest(bearer(access_token), 'POST', '/users/bob/personalAccessTokens', {})
    expect(made.status).toBe(403)
    expect(made.body).toMatchObject({ code: 7 })
  })

  it('tells identity only when only that was asked for', async () => {
    const client = await register(forge, users.ada)
    const { access_token, scope } = await tokensOf(server.url, 'bob', client, { scope: 'openid' })
    expect(scope).toBe('openid')
    const info = await fetch(`${server.url}/login/oauth/userinfo`, {
      headers: bearer(access_token),
    })
    expect(await info.json()).toEqual({ sub: expect.stringMatching(/^\d+$/) })
    expect((await rest(bearer(access_token), 'GET', '/user/repos')).status).toBe(403)
  })
})

describe('the sign-in page', () => {
  const start = async () => {
    const client = await register(forge, users.ada)
    const parameters = { client_id: client.client_id, redirect_uri: CALLBACK, state: 's' }
    const browser = openBrowser(server.url)
    await browser.open(authorizationUrl(server.url, parameters))
    return { browser, parameters, client }
  }

  it('asks again after a wrong password, and limits guesses as every sign-in', async () => {
    const { browser } = await start()
    const wrong = await signInOn(browser, 'carol', '<script>alert(1)</script>')
    expect(wrong.status).toBe(401)
    expect(wrong.body).toContain('role="alert"')
    const address = await signInOn(browser, 'carol@example.org', 'wrong')
    expect(address.body).toContain('Type the username of your account.')
    expect(wrong.body).not.toContain('Type the username')
    const odd = await signInOn(browser, '"><script>x</script>', 'wrong')
    expect(odd.body).not.toContain('<script')
    for (let i = 0; i < 9; i++) await signInOn(browser, 'carol', 'wrong')
    const limited = await signInOn(browser, 'carol')
    expect(limited.status).toBe(429)
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    aheadMs += 700_000
    expect((await signInOn(browser, 'carol')).body).toContain('value="allow"')
  })

  it('asks for the second factor of an account that has one', async () => {
    const asBob = await ask(users.bob, 'POST', '/users/bob/twoFactor:enroll', {
      password: PASSWORD,
    })
    const { secret } = asBob
    await ask(users.bob, 'POST', '/users/bob/twoFactor:confirm', {
      passcode: passcodeAt(secret, clock),
    })
    const { browser } = await start()
    expect((await signInOn(browser, 'bob')).status).toBe(401)
    aheadMs += 60_000
    const consent = await browser.press('sign-in', {
      username: 'bob',
      password: PASSWORD,
      code: passcodeAt(secret, clock),
    })
    expect(consent.body).toContain('value="allow"')
  })

  it('lets the user deny, and use another account', async () => {
    const { browser } = await start()
    await signInOn(browser, 'carol')
    const other = await browser.press('sign-out')
    expect(other.body).toContain('value="sign-in"')
    await signInOn(browser, 'ada')
    const denied = await browser.press('deny')
    const answer = new URL(denied.headers.get('location') ?? '').searchParams
    expect(Object.fromEntries(answer)).toEqual({
      error: 'access_denied',
      error_description: 'the user denied the request',
      state: 's',
      iss: server.url,
    })
  })

  it('asks nothing with prompt=none, and for a password with prompt=login or max_age', async () => {
    const { browser, parameters } = await start()
    const errorOf = async (extra: Record<string, string>) => {
      const visited = await browser.open(authorizationUrl(server.url, { ...parameters, ...extra }))
      return new URL(visited.headers.get('location') ?? 'x:').searchParams.get('error')
    }
    expect(await errorOf({ prompt: 'none' })).toBe('login_required')
    await browser.open(authorizationUrl(server.url, parameters))
    await signInOn(browser, 'carol')
    expect(await errorOf({ prompt: 'none' })).toBe('consent_required')
    await browser.open(authorizationUrl(server.url, parameters))
    await browser.press('allow')
    expect(await errorOf({ prompt: 'none' })).toBeNull()
    for (const extra of [{ prompt: 'login' }, { max_age: '0' }]) {
      aheadMs += 2000
      const asked = await browser.open(authorizationUrl(server.url, { ...parameters, ...extra }))
      expect(asked.body).toContain('value="sign-in"')
      const returned = await signInOn(browser, 'carol')
      expect(returned.headers.get('location')).toMatch(/code=/)
    }
  })

  it('forgets the browser when the password changes', async () => {
    const { browser, parameters } = await start()
    expect((await signInOn(browser, 'carol')).body).toContain('value="allow"')
    await ask(users.carol, 'PATCH', '/users/carol?updateMask=password', {
      password: 'another horse battery',
      currentPassword: PASSWORD,
    })
    const visited = await browser.open(authorizationUrl(server.url, parameters))
    expect(visited.body).toContain('value="sign-in"')
  })

  it('writes no secret to the log', async () => {
    const client = await register(forge, users.ada)
    const tokens = await tokensOf(server.url, 'ada', client)
    const log = JSON.stringify(server.logged)
    for (const secret of [
      tokens.access_token,
      tokens.refresh_token,
      client.client_secret,
      PASSWORD,
    ])
      expect(log).not.toContain(secret)
    expect(log).not.toMatch(/branchline_o(at|rt|ac|cs)_/)
  })
})
