import { beforeEach, describe, expect, it } from 'vitest'
import { type Browser, openBrowser } from '../../support/browser.ts'
import { openForge } from '../../support/forge.ts'
import {
  askToken,
  authorizationUrl,
  authorize,
  basicOf,
  CALLBACK,
  type Client,
  newPkce,
  type Parameters,
  type Pkce,
  postForm,
  register,
  signInOn,
  tokensOf,
} from '../../support/oauth-clients.ts'
import { PASSWORD } from '../../support/server.ts'

// The attacks of RFC 9700 (best current practice for OAuth 2.0 security), RFC 6819 and OpenID
// Connect Core section 16.

let aheadMs = 0

const forge = await openForge({ clock: { now: () => Date.now() + aheadMs } })
const { server, users, rest, ask } = forge

const LOOPBACK = 'http://127.0.0.1/callback'
const APP = 'com.example.app:/callback'

const confidential = await register(forge, users.ada)
const other = await register(forge, users.carol, { name: 'Other' })
const publicClient = await register(forge, users.ada, {
  name: 'Helper',
  confidential_client: false,
  redirect_uris: [LOOPBACK, APP, CALLBACK],
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const works = async (token: string) => (await rest(bearer(token), 'GET', '/user')).status === 200

beforeEach(() => {
  aheadMs = 0
})

/** A request of the confidential client. */
const asked = (extra: Parameters = {}): Parameters => ({
  client_id: confidential.client_id,
  redirect_uri: CALLBACK,
  state: 's',
  ...extra,
})

/** What an authorization request is answered with before anybody signs in. */
async function errorOf(parameters: Parameters): Promise<string | null> {
  const { headers } = await openBrowser(server.url).open(authorizationUrl(server.url, parameters))
  const location = headers.get('location')
  return location === null ? null : new URL(location).searchParams.get('error')
}

async function codeOf(username: string, parameters: Parameters): Promise<string> {
  return (await authorize(server.url, username, parameters)).get('code') ?? ''
}

const redeem = (client: Partial<Client> & Pick<Client, 'client_id'>, form: Parameters) =>
  askToken(server.url, client, {
    grant_type: 'authorization_code',
    redirect_uri: CALLBACK,
    ...form,
  })

const refresh = (client: Client, refresh_token: string, extra: Parameters = {}) =>
  askToken(server.url, client, { grant_type: 'refresh_token', refresh_token, ...extra })

describe('a redirect URI that is not registered', () => {
  const tricks: readonly (readonly [name: string, uri: string])[] = [
    ['another host', 'https://evil.example/authorize'],
    ['a host with the right one as prefix', 'https://ci.example.org.evil.example/authorize'],
    ['the right host as user information', 'https://ci.example.org@evil.example/authorize'],
    ['user information before the right host', 'https://x@ci.example.org/authorize'],
    ['a longer path', `${CALLBACK}/evil`],
    ['a path with the right one as prefix', `${CALLBACK}evil`],
    ['a path traversal', `${CALLBACK}/../open?to=evil`],
    ['an encoded path traversal', `${CALLBACK}/%2e%2e/open`],
    ['another query', `${CALLBACK}?to=https://evil.example`],
    ['an empty query', `${CALLBACK}?`],
    ['a fragment', `${CALLBACK}#x`],
    ['an empty fragment', `${CALLBACK}#`],
    ['another case of the path', 'https://ci.example.org/Authorize'],
    ['another case of the host', 'https://CI.example.org/authorize'],
    ['another scheme', 'http://ci.example.org/authorize'],
    ['another port', 'https://ci.example.org:8443/authorize'],
    ['the default port in full', 'https://ci.example.org:443/authorize'],
    ['a trailing slash', `${CALLBACK}/`],
    ['a backslash', 'https://ci.example.org\\@evil.example/authorize'],
    ['a line break', `${CALLBACK}\r\nset-cookie: x=y`],
    ['a leading blank', ` ${CALLBACK}`],
    ['a script', 'javascript:alert(1)'],
    ['data', 'data:text/html,x'],
    ['a relative one', '/authorize'],
    ['one without scheme', '//ci.example.org/authorize'],
  ]
  it.each(tricks)('%s gets a page instead of a redirect', async (_, uri) => {
    for (const { client_id } of [confidential, publicClient]) {
      const url = authorizationUrl(server.url, { ...asked(), client_id, redirect_uri: uri })
      const { status, headers, body } = await openBrowser(server.url).open(url)
      expect(status).toBe(400)
      expect(headers.get('location')).toBeNull()
      expect(body).not.toContain('evil')
    }
  })

  const nearLoopback: readonly (readonly [name: string, uri: string])[] = [
    ['another path', 'http://127.0.0.1:8000/other'],
    ['another query', `http://127.0.0.1:8000/callback?x`],
    ['another name of the interface', 'http://localhost:8000/callback'],
    ['another address', 'http://127.0.0.2:8000/callback'],
    ['https', 'https://127.0.0.1:8000/callback'],
    ['a domain that begins like the address', 'http://127.0.0.1.evil.example/callback'],
    ['the address as user', 'http://127.0.0.1:8000@evil.example/callback'],
    ['another path of the app', 'com.example.app:/other'],
    ['another port of a public host', 'https://ci.example.org:8443/authorize'],
  ]
  it.each(nearLoopback)('for a public client, %s gets a page', async (_, redirect_uri) => {
    const url = authorizationUrl(server.url, {
      client_id: publicClient.client_id,
      redirect_uri,
      code_challenge: newPkce().challenge,
      code_challenge_method: 'S256',
    })
    expect((await openBrowser(server.url).open(url)).status).toBe(400)
  })

  it('any port of the loopback interface is right for a public client only', async () => {
    const pkce = { code_challenge: newPkce().challenge, code_challenge_method: 'S256' }
    for (const redirect_uri of ['http://127.0.0.1:1/callback', LOOPBACK, APP]) {
      const url = authorizationUrl(server.url, {
        client_id: publicClient.client_id,
        redirect_uri,
        ...pkce,
      })
      expect((await openBrowser(server.url).open(url)).status).toBe(200)
    }
    const web = await register(forge, users.ada, { redirect_uris: [LOOPBACK] })
    const url = authorizationUrl(server.url, {
      client_id: web.client_id,
      redirect_uri: 'http://127.0.0.1:1/callback',
    })
    expect((await openBrowser(server.url).open(url)).status).toBe(400)
  })

  it('cannot be registered either', async () => {
    const refused = [
      '/authorize',
      'javascript:alert(1)',
      'data:text/html,x',
      'app:/callback',
      'https://user@ci.example.org/',
      `${CALLBACK}#x`,
      'https://ci.example.org/ x',
      'https://ci.example.org\\x',
      'https://ci.example;script-src/',
      'https://ci.example,evil.example/',
      'https://*.example.org/',
      `https://ci.example.org/${'x'.repeat(2048)}`,
    ]
    for (const uri of refused) {
      const answer = await rest(users.bob, 'POST', '/user/applications/oauth2', {
        name: 'x',
        redirect_uris: [uri],
      })
      expect([uri, answer.status]).toEqual([uri, 422])
    }
  })

  it('is refused before a client that is unknown or named twice is told anything', async () => {
    const urls = [
      authorizationUrl(server.url, { ...asked(), client_id: 'x' }),
      authorizationUrl(server.url, { ...asked(), client_id: 'a\0b' }),
      `${authorizationUrl(server.url, asked())}&client_id=x`,
      `${authorizationUrl(server.url, asked())}&redirect_uri=https://evil.example/`,
    ]
    for (const url of urls) {
      const { status, headers } = await openBrowser(server.url).open(url)
      expect([status, headers.get('location')]).toEqual([400, null])
    }
  })
})

describe('PKCE', () => {
  const { challenge } = newPkce()
  it.each<readonly [string, string, Parameters]>([
    ['must be used by a public client', 'invalid_request', {}],
    ['must not be plain', 'invalid_request', { code_challenge_method: 'plain' }],
    ['must not be plain by default', 'invalid_request', { code_challenge: challenge }],
    [
      'must have a challenge of SHA-256',
      'invalid_request',
      { code_challenge: 'short', code_challenge_method: 'S256' },
    ],
  ])('%s', async (_, error, extra) => {
    const parameters = {
      client_id: publicClient.client_id,
      redirect_uri: LOOPBACK,
      ...(extra.code_challenge_method === 'plain' && { code_challenge: challenge }),
      ...extra,
    }
    expect(await errorOf(parameters)).toBe(error)
  })

  it.each<readonly [string, (pkce: Pkce) => string | undefined]>([
    ['missing', () => undefined],
    ['wrong', () => newPkce().verifier],
    ['the challenge itself', ({ challenge }) => challenge],
    ['short', ({ verifier }) => verifier.slice(0, 42)],
  ])('refuses a code whose verifier is %s, and ends it', async (_, changed) => {
    const pkce = newPkce()
    const code = await codeOf(
      'bob',
      asked({ code_challenge: pkce.challenge, code_challenge_method: 'S256' }),
    )
    const wrong = await redeem(confidential, { code, code_verifier: changed(pkce) })
    expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_grant'])
    const late = await redeem(confidential, { code, code_verifier: pkce.verifier })
    expect(late.body.error).toBe('invalid_grant')
  })

  it('refuses a verifier for a request whose challenge somebody removed', async () => {
    const code = await codeOf('bob', asked())
    const { body } = await redeem(confidential, { code, code_verifier: newPkce().verifier })
    expect(body.error).toBe('invalid_grant')
  })
})

describe('a code', () => {
  it('works once, and its second use ends the tokens of the first', async () => {
    const code = await codeOf('bob', asked())
    const first = await redeem(confidential, { code })
    expect(await works(first.body.access_token)).toBe(true)
    const second = await redeem(confidential, { code })
    expect([second.status, second.body.error]).toEqual([400, 'invalid_grant'])
    expect(await works(first.body.access_token)).toBe(false)
    expect((await refresh(confidential, first.body.refresh_token)).body.error).toBe('invalid_grant')
  })

  it('works once for two requests at the same time', async () => {
    const code = await codeOf('bob', asked())
    const answers = await Promise.all([1, 2, 3, 4].map(() => redeem(confidential, { code })))
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    for (const { status, body } of answers)
      if (status === 200) expect(await works(body.access_token)).toBe(false)
  })

  it('works for its client only, which may still redeem it', async () => {
    const code = await codeOf('bob', asked())
    expect((await redeem(other, { code })).body.error).toBe('invalid_grant')
    expect((await redeem(publicClient, { code })).body.error).toBe('invalid_grant')
    expect((await redeem(confidential, { code })).status).toBe(200)
  })

  it.each([
    ['another redirect URI', 'https://evil.example/'],
    ['no redirect URI', undefined],
  ])('is refused and ended with %s', async (_, redirect_uri) => {
    const code = await codeOf('bob', asked())
    expect((await redeem(confidential, { code, redirect_uri })).body.error).toBe('invalid_grant')
    expect((await redeem(confidential, { code })).body.error).toBe('invalid_grant')
  })

  it('expires after a minute', async () => {
    const code = await codeOf('bob', asked())
    aheadMs = 61_000
    expect((await redeem(confidential, { code })).body.error).toBe('invalid_grant')
  })

  it('gives nothing once its account is archived', async () => {
    await ask(users.ada, 'POST', '/admin/users', {
      username: 'eve',
      email: 'eve@example.org',
      password: PASSWORD,
    })
    const code = await codeOf('eve', asked())
    const tokens = await tokensOf(server.url, 'eve', confidential)
    await ask(users.ada, 'PATCH', '/users/eve?updateMask=state', { state: 'ARCHIVED' })
    expect((await redeem(confidential, { code })).body.error).toBe('invalid_grant')
    expect(await works(tokens.access_token)).toBe(false)
    expect((await refresh(confidential, tokens.refresh_token)).body.error).toBe('invalid_grant')
    const info = await fetch(`${server.url}/login/oauth/userinfo`, {
      headers: bearer(tokens.access_token),
    })
    expect(info.status).toBe(401)
    expect(info.headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token"/)
  })
})

describe('a refresh token', () => {
  it('is replaced, and the use of an old one ends everything', async () => {
    const first = await tokensOf(server.url, 'bob', confidential)
    const { body: second } = await refresh(confidential, first.refresh_token)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    aheadMs = 31_000
    const stolen = await refresh(confidential, first.refresh_token)
    expect([stolen.status, stolen.body.error]).toEqual([400, 'invalid_grant'])
    expect(await works(second.access_token)).toBe(false)
    expect((await refresh(confidential, second.refresh_token)).body.error).toBe('invalid_grant')
  })

  it('may be repeated for a moment, and then gives the same successor', async () => {
    const first = await tokensOf(server.url, 'bob', confidential)
    const answers = await Promise.all(
      [1, 2, 3].map(() => refresh(confidential, first.refresh_token)),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1)
    const { body: third } = await refresh(confidential, answers[0]?.body.refresh_token)
    // Two steps back is no repetition.
    expect((await refresh(confidential, first.refresh_token)).body.error).toBe('invalid_grant')
    expect(await works(third.access_token)).toBe(false)
  })

  it('works for its client only', async () => {
    const tokens = await tokensOf(server.url, 'bob', confidential)
    expect((await refresh(other, tokens.refresh_token)).body.error).toBe('invalid_grant')
    expect((await refresh(confidential, tokens.refresh_token)).status).toBe(200)
  })

  it('gets no more scopes than were granted, but fewer for one token', async () => {
    const { refresh_token } = await tokensOf(server.url, 'bob', confidential, {
      scope: 'openid write:repository',
    })
    for (const scope of ['all', 'write:user', 'openid email', 'nonsense'])
      expect((await refresh(confidential, refresh_token, { scope })).body.error).toBe(
        'invalid_scope',
      )
    const { body } = await refresh(confidential, refresh_token, { scope: 'read:repository' })
    expect(body.scope).toBe('read:repository')
    const made = await rest(bearer(body.access_token), 'POST', '/user/repos', { name: 'x' })
    expect(made.status).toBe(403)
  })

  it('keeps the restriction to public data', async () => {
    const { refresh_token } = await tokensOf(server.url, 'bob', confidential, {
      scope: 'write:repository public-only',
    })
    const wider = await refresh(confidential, refresh_token, { scope: 'write:repository' })
    expect(wider.body.error).toBe('invalid_scope')
  })
})

describe('a page of another site', () => {
  const consentOf = async (parameters: Parameters = asked()): Promise<Browser> => {
    const browser = openBrowser(server.url)
    await browser.open(authorizationUrl(server.url, { ...parameters, prompt: 'consent' }))
    await signInOn(browser, 'bob')
    return browser
  }
  const tokenOn = ({ page }: Browser) =>
    /name="form_token" value="([^"]*)"/.exec(page.body)?.[1] ?? ''
  const post = (browser: Browser, form: Parameters, headers: Record<string, string> = {}) =>
    browser.send(browser.page.url, {
      method: 'POST',
      headers,
      body: new URLSearchParams(form as Record<string, string>),
    })

  it('cannot agree for the user', async () => {
    const browser = await consentOf()
    const form_token = tokenOn(browser)
    const foreign = await consentOf()
    const attempts: readonly (readonly [Parameters, Record<string, string>])[] = [
      [{ action: 'allow' }, {}],
      [{ action: 'allow', form_token: '' }, {}],
      // A form that the attacker got in another browser.
      [{ action: 'allow', form_token: tokenOn(foreign) }, {}],
      [{ action: 'allow', form_token }, { origin: 'https://evil.example' }],
      [{ action: 'allow', form_token }, { origin: 'null' }],
      [{ action: 'allow', form_token }, { 'sec-fetch-site': 'cross-site' }],
      [{ action: 'allow', form_token }, { 'sec-fetch-site': 'same-site' }],
    ]
    for (const [form, headers] of attempts) {
      const { status, headers: answered } = await post(browser, form, headers)
      expect([status, answered.get('location')]).toEqual([403, null])
    }
    // A token is for one request: not for another application, nor for more scopes.
    const elsewhere = authorizationUrl(server.url, asked({ scope: 'all', prompt: 'consent' }))
    const moved = await browser.send(elsewhere, {
      method: 'POST',
      body: new URLSearchParams({ action: 'allow', form_token }),
    })
    expect(moved.status).toBe(403)
    expect((await browser.press('allow')).status).toBe(303)
  })

  it('cannot sign the user in to an account of the attacker', async () => {
    const browser = openBrowser(server.url)
    await browser.open(authorizationUrl(server.url, asked()))
    const form = { action: 'sign-in', username: 'carol', password: PASSWORD }
    expect((await post(browser, form)).status).toBe(403)
    const own = openBrowser(server.url)
    await own.open(authorizationUrl(server.url, asked()))
    expect((await post(browser, { ...form, form_token: tokenOn(own) })).status).toBe(403)
  })

  it('cannot frame the page, run scripts in it, or learn its address', async () => {
    const browser = openBrowser(server.url)
    const signIn = await browser.open(authorizationUrl(server.url, asked({ prompt: 'consent' })))
    const consent = await signInOn(browser, 'bob')
    const unusable = await browser.open(`${server.url}/login/oauth/authorize`)
    for (const { headers, body } of [signIn, consent, unusable]) {
      const policy = headers.get('content-security-policy')
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('referrer-policy')).toBe('same-origin')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(body).not.toMatch(/<script|src=|href=/)
    }
    const { headers } = await openBrowser(server.url).open(
      authorizationUrl(server.url, asked({ response_type: 'token' })),
    )
    expect(headers.get('referrer-policy')).toBe('no-referrer')
  })

  it('reads tokens with a client of its own, but not the sign-in page', async () => {
    const origin = 'https://spa.example'
    for (const path of ['access_token', 'userinfo', 'keys']) {
      const { headers } = await fetch(`${server.url}/login/oauth/${path}`, { headers: { origin } })
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-allow-credentials')).toBeNull()
    }
    const page = await fetch(authorizationUrl(server.url, asked()), {
      headers: { origin: server.url },
    })
    expect(page.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('gets cookies that no other path, script or site uses', async () => {
    const browser = openBrowser(server.url)
    const page = await browser.open(authorizationUrl(server.url, asked()))
    const [cookie] = page.headers.getSetCookie()
    expect(cookie).toMatch(/; Path=\/login\/oauth; HttpOnly; SameSite=Lax; Max-Age=43200$/)
    await signInOn(browser, 'bob')
    expect([...browser.cookies.keys()]).toEqual(['branchline_browser', 'branchline_sign_in'])
    // The session of the page is no credential of the API.
    const session = browser.cookies.get('branchline_sign_in') ?? ''
    for (const headers of [
      { cookie: `branchline_sign_in=${session}` },
      { cookie: `branchline_refresh=${session}` },
      bearer(session),
    ]) {
      expect((await fetch(`${server.url}/api/v1/user`, { headers })).status).toBe(401)
      const refreshed = await fetch(`${server.url}/api/v1/auth/refresh`, {
        method: 'POST',
        headers,
      })
      expect(refreshed.status).toBe(401)
    }
    // And the session of the API is none of the page.
    const token = users.bob.authorization.slice('Bearer '.length)
    const stranger = openBrowser(server.url)
    stranger.cookies.set('branchline_sign_in', token)
    const asksAgain = await stranger.open(authorizationUrl(server.url, asked()))
    expect(asksAgain.body).toContain('value="sign-in"')
  })
})

describe('a client', () => {
  it('must send its secret, once, in the body or by Basic', async () => {
    const { client_id, client_secret } = confidential
    const form = { grant_type: 'authorization_code', code: 'x', redirect_uri: CALLBACK }
    const basic = basicOf(confidential)
    const attempts: readonly (readonly [Parameters, Record<string, string>, string])[] = [
      [{ ...form, client_id }, {}, 'invalid_client'],
      [{ ...form, client_id, client_secret: 'wrong' }, {}, 'invalid_client'],
      [{ ...form, client_id, client_secret: other.client_secret }, {}, 'invalid_client'],
      [{ ...form, client_id: 'x', client_secret }, {}, 'invalid_client'],
      [form, {}, 'invalid_client'],
      [form, bearer(client_secret), 'invalid_client'],
      [{ ...form, client_secret }, basic, 'invalid_request'],
      [{ ...form, client_id: other.client_id }, basic, 'invalid_request'],
      [{ ...form, client_id }, basic, 'invalid_grant'],
      [{ ...form, client_id, client_secret }, {}, 'invalid_grant'],
      [{ client_id, client_secret }, {}, 'invalid_request'],
      [{ client_id, client_secret, grant_type: 'password' }, {}, 'unsupported_grant_type'],
      [
        { client_id, client_secret, grant_type: 'client_credentials' },
        {},
        'unsupported_grant_type',
      ],
    ]
    for (const [sent, headers, error] of attempts) {
      const answer = await postForm(`${server.url}/login/oauth/access_token`, sent, headers)
      expect([sent, answer.body.error]).toEqual([sent, error])
      expect(answer.status).toBe(error === 'invalid_client' ? 401 : 400)
    }
  })

  it('is not asked to send secrets in addresses, twice, or as JSON', async () => {
    const { client_id, client_secret } = confidential
    const url = `${server.url}/login/oauth/access_token`
    const query = new URLSearchParams({ client_id, client_secret, grant_type: 'refresh_token' })
    expect((await postForm(`${url}?${query}`, {})).body.error).toBe('invalid_client')
    expect((await fetch(`${url}?${query}`)).status).toBe(405)
    const twice = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${query}&client_id=${client_id}`,
    })
    expect(await twice.json()).toMatchObject({ error: 'invalid_request' })
    const json = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_id, client_secret }),
    })
    expect(json.status).toBe(400)
    const large = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'x'.repeat(100_000),
    })
    expect(large.status).toBe(413)
  })

  it('learns from every response which server sent it, against a mix-up', async () => {
    const good = await authorize(server.url, 'bob', asked())
    expect(good.get('iss')).toBe(server.url)
    const browser = openBrowser(server.url)
    const bad = await browser.open(authorizationUrl(server.url, asked({ response_type: 'token' })))
    const parameters = new URL(bad.headers.get('location') ?? '').searchParams
    expect(parameters.get('iss')).toBe(server.url)
    expect(parameters.get('state')).toBe('s')
    expect(parameters.get('error')).toBe('unsupported_response_type')
  })

  it.each<readonly [string, Parameters, string]>([
    ['the implicit grant', { response_type: 'token' }, 'unsupported_response_type'],
    ['a response in a fragment', { response_mode: 'fragment' }, 'invalid_request'],
    ['an unknown scope', { scope: 'openid everything' }, 'invalid_scope'],
    ['a restriction of nothing', { scope: 'public-only' }, 'invalid_scope'],
    ['a request object', { request: 'x.y.z' }, 'request_not_supported'],
    [
      'a request by reference',
      { request_uri: 'http://169.254.169.254/' },
      'request_uri_not_supported',
    ],
    ['two kinds of prompt', { prompt: 'none login' }, 'invalid_request'],
    ['a bad age', { max_age: '-1' }, 'invalid_request'],
    ['a control character', { nonce: 'a\0b' }, 'invalid_request'],
    ['a state without end', { state: 'x'.repeat(3000) }, 'invalid_request'],
  ])('gets an error for %s', async (_, extra, error) => {
    expect(await errorOf(asked(extra))).toBe(error)
  })

  it('learns about its own tokens only', async () => {
    const tokens = await tokensOf(server.url, 'bob', confidential)
    const introspect = (client: Client, token: string) =>
      postForm(`${server.url}/login/oauth/introspect`, { token }, basicOf(client))
    const revoke = (client: Client, token: string) =>
      postForm(`${server.url}/login/oauth/revoke`, { token }, basicOf(client))
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      expect((await introspect(confidential, token)).body.active).toBe(true)
      expect((await introspect(other, token)).body).toEqual({ active: false })
      expect((await introspect(publicClient, token)).status).toBe(401)
      expect((await revoke(other, token)).status).toBe(200)
    }
    expect(await works(tokens.access_token)).toBe(true)
    await revoke(confidential, tokens.access_token)
    expect(await works(tokens.access_token)).toBe(false)
    expect((await introspect(confidential, tokens.refresh_token)).body.active).toBe(true)
    expect((await introspect(confidential, 'nonsense')).body).toEqual({ active: false })
  })

  it('uses access tokens as credentials, and nothing else', async () => {
    const tokens = await tokensOf(server.url, 'bob', confidential, { scope: 'openid all' })
    const code = await codeOf('bob', asked())
    const others = [tokens.refresh_token, tokens.id_token, code, confidential.client_secret]
    for (const text of others) expect(await works(text)).toBe(false)
    expect(await works(tokens.access_token)).toBe(true)
  })
})

describe('names', () => {
  it('do not hide the endpoints', async () => {
    const made = await rest(users.ada, 'POST', '/orgs', { username: 'login' })
    expect(made.status).toBe(422)
  })
})
