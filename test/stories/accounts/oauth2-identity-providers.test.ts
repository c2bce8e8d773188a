import { describe, expect, it } from 'vitest'
import { type Browser, openBrowser } from '../../support/browser.ts'
import { openForge } from '../../support/forge.ts'
import {
  askToken,
  authorizationUrl,
  CALLBACK,
  type Client,
  type Parameters,
  register,
  signInOn,
} from '../../support/oauth-clients.ts'
import type { Actor } from '../../support/server.ts'

let aheadMs = 0
const clock = { now: () => Date.now() + aheadMs }

// The provider is another instance, since that is one: its application is the first instance.
const forge = await openForge({ clock, settings: { registration: 'open' } })
const provider = await openForge()
const { server, users, ask, rest } = forge

/** Lets the users of the other instance sign in at this one. */
async function addProvider(id: string, changes: Readonly<Record<string, unknown>> = {}) {
  const application = await register(provider, provider.users.ada, {
    name: 'The first instance',
    redirect_uris: [`${server.url}/login/oauth/callback/${id}`],
  })
  await ask(users.ada, 'POST', `/identity-providers?identityProviderId=${id}`, {
    type: 'OAUTH2',
    title: `The provider <${id}>`,
    config: {
      oauth2Config: {
        clientId: application.client_id,
        clientSecret: application.client_secret,
        authUrl: `${provider.server.url}/login/oauth/authorize`,
        tokenUrl: `${provider.server.url}/login/oauth/access_token`,
        userInfoUrl: `${provider.server.url}/login/oauth/userinfo`,
        scopes: ['openid', 'profile'],
        fieldMapping: { identifier: 'sub', displayName: 'name' },
        ...changes,
      },
    },
  })
}

await addProvider('example')

/** Opens the sign-in page for a new application in a new browser. */
async function start(extra: Parameters = {}): Promise<{ browser: Browser; client: Client }> {
  const client = await register(forge, users.ada)
  const browser = openBrowser(server.url)
  const parameters = { client_id: client.client_id, redirect_uri: CALLBACK, state: 's', ...extra }
  await browser.open(authorizationUrl(server.url, parameters))
  return { browser, client }
}

/** Leaves for the provider; returns its address. */
async function leave(browser: Browser): Promise<URL> {
  const sent = await browser.press('visit-provider')
  return new URL(sent.headers.get('location') ?? '')
}

/** Signs somebody in at the provider; returns the address to which it sends the browser. */
async function signInAtProvider(address: URL, username: string): Promise<string> {
  const there = openBrowser(provider.server.url)
  await there.open(address.href)
  const visited = await signInOn(there, username)
  // Who has agreed before is not asked again.
  const returned = visited.body.includes('value="allow"') ? await there.press('allow') : visited
  return returned.headers.get('location') ?? ''
}

describe('the sign-in page of a server with an identity provider', () => {
  it('signs a user in there, whom the application then gets', async () => {
    const { browser, client } = await start()
    expect(browser.page.body).toContain('Sign in with The provider &lt;example&gt;')
    const policy = browser.page.headers.get('content-security-policy')
    expect(policy).toMatch(`form-action 'self' https://ci.example.org ${provider.server.url};`)

    const address = await leave(browser)
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      response_type: 'code',
      scope: 'openid profile',
      redirect_uri: `${server.url}/login/oauth/callback/example`,
      code_challenge_method: 'S256',
    })
    const consent = await browser.open(await signInAtProvider(address, 'carol'))
    expect(consent.body).toContain('value="allow"')
    const returned = new URL((await browser.press('allow')).headers.get('location') ?? '')
    const code = returned.searchParams.get('code') ?? ''
    const form = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK }
    const { body } = await askToken(server.url, client, form)
    const bearer = { authorization: `Bearer ${body.access_token}` } as Actor
    const me = await ask(bearer, 'GET', '/user')
    // Another account than that of this instance with the same name.
    expect(me.login).not.toBe('carol')
    expect(me.full_name).toBe('carol')

    const { browser: another } = await start()
    const again = await another.open(await signInAtProvider(await leave(another), 'carol'))
    expect(again.body).toContain(`signed in as <strong>${me.login}</strong>`)
  })

  it('demands a new sign-in there when the application does', async () => {
    const { browser } = await start({ prompt: 'login' })
    const address = await leave(browser)
    expect(address.searchParams.get('prompt')).toBe('login')
    const consent = await browser.open(await signInAtProvider(address, 'bob'))
    expect(consent.body).toContain('value="allow"')
  })

  it('says what the provider refused, and lets the user try again', async () => {
    const { browser } = await start()
    const there = openBrowser(provider.server.url)
    await there.open((await leave(browser)).href)
    await signInOn(there, 'ada')
    const denied = await there.press('deny')
    const failed = await browser.open(denied.headers.get('location') ?? '')
    expect(failed.status).toBe(401)
    expect(failed.body).toContain('The identity provider refused the sign-in: the user denied')
    const [, retry = ''] = /<a href="([^"]+)">Try again/.exec(failed.body) ?? []
    const again = await browser.open(server.url + retry.replaceAll('&amp;', '&'))
    expect(again.body).toContain('value="sign-in"')
  })

  it('redeems a code once', async () => {
    const { browser } = await start()
    const returned = await signInAtProvider(await leave(browser), 'bob')
    expect((await browser.open(returned)).body).toContain('value="allow"')
    const replayed = await browser.open(returned)
    expect(replayed.status).toBe(401)
    expect(replayed.body).toContain('Try again')
  })

  it('takes no answer that another browser, provider or time asked for', async () => {
    await addProvider('other')
    const refused = async (browser: Browser, address: string) => {
      const { status, body } = await browser.open(address)
      expect(status).toBe(400)
      expect(body).toContain('started elsewhere or is too old')
    }
    const { browser } = await start()
    const returned = await signInAtProvider(await leave(browser), 'bob')
    await refused(openBrowser(server.url), returned)
    const { browser: attacker } = await start()
    await refused(attacker, returned)
    await refused(browser, returned.replace('/callback/example', '/callback/other'))
    await refused(browser, returned.replace(/state=[^&]*/, 'state=AAAA'))
    await refused(browser, returned.replace(/state=[^&]*/, ''))
    aheadMs = 16 * 60_000
    await refused(browser, returned)
    aheadMs = 0
  })

  it('offers no provider without an address for browsers, and knows when one is gone', async () => {
    await addProvider('programs', { authUrl: '' })
    await addProvider('short-lived')
    const { browser } = await start()
    expect(browser.page.body).toContain('&lt;short-lived&gt;')
    expect(browser.page.body).not.toContain('&lt;programs&gt;')
    const url = browser.page.url
    await ask(users.ada, 'DELETE', '/identity-providers/short-lived')
    for (const gone of ['programs', 'short-lived', 'never', '']) {
      await browser.open(url)
      const page = await browser.press('visit-provider', { provider: gone })
      expect(page.status).toBe(404)
      expect(page.body).toContain('role="alert"')
    }
    expect((await rest(undefined, 'GET', '/identity-providers')).status).toBe(200)
  })
})
