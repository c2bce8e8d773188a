import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IdentityProvider_Type } from '#gen/branchline/v1/identity_provider_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import {
  browserSuite,
  closeWindows,
  expectAccessible,
  hasChromium,
  openBrowser,
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { PASSWORD } from '../../support/server.ts'
import { signOut } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('sign-in by another provider'), () => {
  let browser: Browser
  let forge: Forge
  let provider: Server

  beforeAll(async () => {
    provider = await startProvider()
    forge = await startForge({ webFolder: WEB_FOLDER })
    await register(forge, `http://127.0.0.1:${(provider.address() as AddressInfo).port}`)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closeWindows(browser)
    await forge?.stop()
    provider?.close()
  })

  it('is linked on the page of the account, signs in, and is unlinked', async () => {
    const { page, faults, leave } = await visit(browser, forge.server.url)
    await page.goto('/user/login?redirect_to=/user/settings/security')
    await page.getByLabel('Username').fill('bob')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Link Example' }).click()
    await page.getByText('You are bob-there there.').waitFor()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/user/settings/security')
    await expectAccessible(page)
    await signOut(page)
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).waitFor()
    await page.goto('/user/login?redirect_to=/user/settings/security')
    await page.getByRole('button', { name: 'Sign in with Example' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Sign in with Example' }).click()
    await page.getByRole('button', { name: 'Unlink Example' }).click()
    await page.getByRole('button', { name: 'Yes, unlink Example' }).click()
    await page.getByText('No other provider signs you in.').waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  it('does not take an answer that the tab has not asked for', async () => {
    const { page, faults, leave } = await visit(browser, forge.server.url)
    await page.goto('/user/login/callback?code=stolen&state=guessed')
    await page.getByRole('alert').getByText('No sign-in of this tab waits').waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })
})

/** Starts a provider that signs everybody in as the same person. */
function startProvider(): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://provider')
    if (pathname === '/authorize') {
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('code', 'good-once')
      back.searchParams.set('state', searchParams.get('state') ?? '')
      response.writeHead(302, { location: back.href }).end()
      return
    }
    const answer =
      pathname === '/token' ? { access_token: 'a', token_type: 'bearer' } : { sub: 'bob-there' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

async function register({ grpc, users }: Forge, url: string): Promise<void> {
  const value = {
    clientId: 'branchline',
    clientSecret: 'secret',
    authUrl: `${url}/authorize`,
    tokenUrl: `${url}/token`,
    userInfoUrl: `${url}/userinfo`,
    scopes: ['openid'],
    fieldMapping: { identifier: 'sub' },
  }
  const config = { config: { case: 'oauth2Config', value } } as const
  await grpc(IdentityProviderService, users.ada).createIdentityProvider({
    identityProvider: { type: IdentityProvider_Type.OAUTH2, title: 'Example', config },
  })
}
