import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Browser, BrowserContext, Frame } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { browserSuite, closeWindows, hasChromium, openBrowser } from '../support/chromium.ts'
import {
  createTestUsers,
  PASSWORD,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { type Attempt, BROWSER_PROTOCOLS, type BrowserProtocol, type Page } from './browser-page.ts'

/** A site with one page that carries the client library, at an origin of its own. */
interface Site {
  readonly origin: string
  close(): Promise<void>
}

async function startSite(script: string): Promise<Site> {
  const html = `<!doctype html><meta charset="utf-8"><script type="module">${script.replaceAll('</script', '<\\/script')}</script>`
  const site = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(html)
  })
  await once(site.listen(0, '127.0.0.1'), 'listening')
  return {
    origin: `http://127.0.0.1:${(site.address() as AddressInfo).port}`,
    async close() {
      site.closeAllConnections()
      await new Promise((resolve) => site.close(resolve))
    },
  }
}

async function bundlePage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'browser-page.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  })
  return outputFiles.map(({ text }) => text).join('')
}

describe.skipIf(!hasChromium)(browserSuite('a browser'), () => {
  let browser: Browser
  let context: BrowserContext
  let server: TestServer
  let users: TestUsers
  let trusted: Site
  let stranger: Site

  beforeAll(async () => {
    const script = await bundlePage()
    ;[trusted, stranger] = [await startSite(script), await startSite(script)]
    server = await startTestServer({ corsOrigins: [trusted.origin] })
    users = await createTestUsers(server.url)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await closeWindows(browser)
    await Promise.all([trusted?.close(), stranger?.close(), server?.stop()])
  })
  beforeEach(async () => {
    context = await browser.newContext()
  })
  afterEach(() => context.close())

  /** Opens the page of a site, in the one browser with its one set of cookies. */
  const visit = async ({ origin }: Site) => {
    const tab = await context.newPage()
    await tab.goto(origin)
    return inside(tab.mainFrame())
  }
  /** The functions of the page, called from here. */
  const inside = (frame: Frame) => {
    const call = async (name: keyof Page, ...args: unknown[]): Promise<Attempt> => {
      await frame.waitForFunction('globalThis.page')
      return frame.evaluate<Attempt>(`page.${name}(...${JSON.stringify(args)})`)
    }
    return {
      getUser: (protocol: BrowserProtocol, name: string, authorization = '') =>
        call('getUser', server.url, protocol, name, authorization),
      signIn: (protocol: BrowserProtocol) => call('signIn', server.url, protocol, 'bob', PASSWORD),
      refresh: (protocol: BrowserProtocol) => call('refresh', server.url, protocol),
      fetch: (path: string, init: RequestInit) => call('fetch', server.url + path, init),
    }
  }
  const json = { 'content-type': 'application/json' }
  const withCookies = { method: 'POST', headers: json, body: '{}', credentials: 'include' } as const
  const blocked = { code: 'TypeError', reason: undefined }

  describe.each(BROWSER_PROTOCOLS)('by %s', (protocol) => {
    it('calls from any origin, with a token', async () => {
      const page = await visit(stranger)
      expect(await page.getUser(protocol, 'users/bob')).toEqual({
        value: { username: 'bob', email: '' },
      })
      expect(await page.getUser(protocol, 'users/bob', users.bob.authorization)).toEqual({
        value: { username: 'bob', email: 'bob@example.org' },
      })
    })

    it('reads why a call failed', async () => {
      const page = await visit(stranger)
      expect(await page.getUser(protocol, 'users/nobody')).toEqual({
        code: 'NotFound',
        reason: 'USER_NOT_FOUND',
      })
      expect(await page.getUser(protocol, 'users/bob', 'Bearer x')).toEqual({
        code: 'Unauthenticated',
        reason: 'BAD_CREDENTIALS',
      })
    })

    it('keeps a session in its cookie, from a trusted origin', async () => {
      const page = await visit(trusted)
      expect(await page.refresh(protocol)).toEqual({
        code: 'Unauthenticated',
        reason: 'UNAUTHENTICATED',
      })
      expect(await page.signIn(protocol)).toEqual({ value: 'bob' })
      const [cookie] = await context.cookies(server.url)
      expect(cookie).toMatchObject({
        name: 'branchline_refresh',
        httpOnly: true,
        sameSite: 'Lax',
        secure: false,
      })
      expect(await page.refresh(protocol)).toEqual({ value: 3 })
      expect((await context.cookies(server.url))[0]?.value).not.toBe(cookie?.value)
    })

    it('shows no token to an origin that is not trusted', async () => {
      await (await visit(trusted)).signIn(protocol)
      const page = await visit(stranger)
      expect(await page.refresh(protocol)).toEqual(blocked)
      expect(await page.signIn(protocol)).toEqual(blocked)
    })
  })

  it('patches over REST from any origin, after a preflight', async () => {
    const page = await visit(stranger)
    const headers = {
      ...json,
      authorization: users.bob.authorization,
      'x-request-id': 'from-a-page',
    }
    const init = { method: 'PATCH', headers, body: JSON.stringify({ displayName: 'Bob' }) }
    expect(await page.fetch('/api/v1/users/bob', init)).toMatchObject({
      value: { status: 200, requestId: 'from-a-page', json: { displayName: 'Bob' } },
    })
  })

  it.each([
    ['a refusal', '/api/v1/users/nobody', 404],
    ['a path that does not exist', '/api/v1/nothing', 404],
    ['a method that is not served', '/api/v1/auth/signin', 405],
  ])('reads %s over REST from any origin', async (_, path, status) => {
    const page = await visit(stranger)
    expect(await page.fetch(path, {})).toMatchObject({
      value: { status, json: { message: expect.any(String) } },
    })
  })

  it('shows nothing with credentials to an origin that is not trusted, over REST', async () => {
    await (await visit(trusted)).signIn('Connect')
    const page = await visit(stranger)
    expect(await page.fetch('/api/v1/users/bob', { credentials: 'include' })).toEqual(blocked)
    expect(await page.fetch('/api/v1/auth/refresh', withCookies)).toEqual(blocked)
    // A form's content type needs no preflight, but has no effect either.
    const form = { ...withCookies, headers: { 'content-type': 'text/plain' } }
    expect(await page.fetch('/api/v1/auth/signout', form)).toEqual(blocked)
    expect(await (await visit(trusted)).refresh('Connect')).toEqual({ value: 3 })
  })

  it('shows nothing to a document without an origin', async () => {
    const tab = await context.newPage()
    await tab.goto(trusted.origin)
    await inside(tab.mainFrame()).signIn('Connect')
    // A sandboxed frame has the origin null, whatever site it comes from.
    const attached = tab.waitForEvent('frameattached')
    await tab.evaluate(
      `document.body.append(Object.assign(document.createElement('iframe'), { sandbox: 'allow-scripts', src: '/' }))`,
    )
    const frame = inside(await attached)
    expect(await frame.fetch('/api/v1/auth/refresh', withCookies)).toEqual(blocked)
    expect(await frame.fetch('/api/v1/users/bob', { credentials: 'include' })).toEqual(blocked)
    expect(await frame.refresh('gRPC-Web')).toEqual(blocked)
  })
})
