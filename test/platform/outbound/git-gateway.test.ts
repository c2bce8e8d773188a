import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import type { Resolve } from '../../../src/platform/outbound/destinations.ts'
import {
  type GatewayOptions,
  type GitGateway,
  openGitGateway,
} from '../../../src/platform/outbound/git-gateway.ts'
import { createOutbound } from '../../../src/platform/outbound/outbound.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'

const ADVERTISEMENT = '/info/refs?service=git-upload-pack'
const TYPE = { 'content-type': 'application/x-git-upload-pack-advertisement' }

let upstream: GitUpstream

beforeEach(async () => {
  upstream = await startGitUpstream()
  upstream.commit('main')
})
afterEach(() => upstream.stop())

interface Setting extends Partial<GatewayOptions> {
  readonly url?: string
  readonly authorization?: string
  /** Loopback by default. */
  readonly allowedHosts?: string
  readonly resolve?: Resolve
}

async function open({
  url,
  authorization,
  allowedHosts,
  resolve,
  ...options
}: Setting = {}): Promise<GitGateway> {
  const outbound = createOutbound({
    allowedHosts: parseAllowedHosts(allowedHosts ?? '127.0.0.1'),
    ownAddresses: () => [],
    ...(resolve && { resolve }),
  })
  const gateway = await openGitGateway(
    outbound,
    { url: new URL(url ?? upstream.url), authorization },
    { maxBytes: 1024 * 1024, signal: new AbortController().signal, ...options },
  )
  onTestFinished(() => gateway.close())
  return gateway
}

/** Sends the first request of Git. */
async function ask(
  gateway: GitGateway,
  headers: Record<string, string> = {},
): Promise<number | 'cut off'> {
  const [name = '', value = ''] = gateway.header.split(': ')
  const response = await fetch(gateway.url + ADVERTISEMENT, {
    headers: { [name]: value, ...headers },
  })
  return response.text().then(
    () => response.status,
    () => 'cut off' as const,
  )
}

/** Responds with a redirect. */
const redirect = (location: string) => (_: IncomingMessage, response: ServerResponse) => {
  response.writeHead(302, { location }).end()
  return true
}

/** Sends as much as the client accepts. */
function flood(response: ServerResponse, type: 'advertisement' | 'result'): true {
  response.writeHead(200, { 'content-type': `application/x-git-upload-pack-${type}` })
  const more = () => {
    while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
  }
  response.on('drain', more)
  more()
  return true
}

describe('the Git gateway', () => {
  it('forwards requests of Git, with credentials that Git does not know', async () => {
    const gateway = await open({ authorization: 'Basic dW1hOnNlY3JldA==' })
    expect(await ask(gateway, { 'git-protocol': 'version=2', cookie: 'a=b' })).toBe(200)
    expect(upstream.asked).toEqual([`GET /uma/engine.git${ADVERTISEMENT} Basic dW1hOnNlY3JldA==`])
    expect(gateway.failure()).toBeUndefined()
  })

  it('rejects requests without its secret', async () => {
    const gateway = await open()
    expect(await ask(gateway, { 'x-gateway-secret': 'guess' })).toBe(404)
    expect(upstream.asked).toEqual([])
  })

  it('forwards only the smart protocol', async () => {
    const gateway = await open()
    const [name = '', value = ''] = gateway.header.split(': ')
    for (const path of ['/HEAD', '/info/refs', '/objects/info/http-alternates', '/../secret']) {
      expect((await fetch(gateway.url + path, { headers: { [name]: value } })).status).toBe(404)
    }
    expect(upstream.asked).toEqual([])
  })

  it.each<[what: string, url: (port: string) => string, allowedHosts: string, failure: string]>([
    ['a private address', (port) => `http://127.0.0.1:${port}/a.git`, '', 'BLOCKED_ADDRESS'],
    ['a name of one', (port) => `http://localhost:${port}/a.git`, '', 'BLOCKED_ADDRESS'],
    ['a metadata service', () => 'http://169.254.169.254/a.git', '127.0.0.1', 'BLOCKED_ADDRESS'],
    [
      'a name that nobody has',
      () => 'http://nobody.invalid/a.git',
      '127.0.0.1',
      'UNRESOLVABLE_HOST',
    ],
    [
      'a port where nobody listens',
      () => 'http://127.0.0.1:1/a.git',
      '127.0.0.1',
      'CONNECTION_FAILED',
    ],
    [
      'plain HTTP in place of TLS',
      (port) => `https://127.0.0.1:${port}/a.git`,
      '127.0.0.1',
      'CONNECTION_FAILED',
    ],
  ])('reaches nobody at %s', async (_, urlAt, allowedHosts, failure) => {
    const resolve: Resolve = async (name) => (name === 'localhost' ? ['127.0.0.1'] : [])
    const gateway = await open({ url: urlAt(new URL(upstream.url).port), allowedHosts, resolve })
    expect(await ask(gateway)).toBe(502)
    expect(gateway.failure()).toBe(failure)
    expect(upstream.asked).toEqual([])
  })

  it('connects to the checked addresses, and checks them again for each request', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.1', '10.0.0.1']]
    const port = new URL(upstream.url).port
    const gateway = await open({
      url: `http://git.example:${port}/x`,
      resolve: async () => answers.shift() ?? [],
    })
    expect(await ask(gateway)).toBe(200)
    expect(await ask(gateway)).toBe(502)
    expect(gateway.failure()).toBe('BLOCKED_ADDRESS')
  })

  it.each([
    ['169.254.169.254', `http://169.254.169.254${ADVERTISEMENT}`, 'BLOCKED_ADDRESS'],
    ['another file', 'http://127.0.0.1/latest/meta-data', 'BAD_REDIRECT'],
    ['another protocol', `file:///etc${ADVERTISEMENT}`, 'BAD_REDIRECT'],
    ['somebody else by name', `http://ada:secret@127.0.0.1${ADVERTISEMENT}`, 'BAD_REDIRECT'],
    ['nowhere', 'http://', 'BAD_REDIRECT'],
  ])('follows no redirect to %s', async (_, location, failure) => {
    upstream.intercept = redirect(location)
    const gateway = await open()
    expect(await ask(gateway)).toBe(502)
    expect(gateway.failure()).toBe(failure)
  })

  it('follows redirects permanently, up to a limit', async () => {
    upstream.intercept = (request, response) => {
      if (!request.url?.startsWith('/old')) return false
      return redirect(`/uma/engine.git${ADVERTISEMENT}`)(request, response)
    }
    const gateway = await open({
      url: new URL('/old', upstream.url).href,
      authorization: 'Basic eA==',
    })
    expect(await ask(gateway)).toBe(200)
    await ask(gateway)
    const moved = `GET /uma/engine.git${ADVERTISEMENT} Basic eA==`
    expect(upstream.asked).toEqual([`GET /old${ADVERTISEMENT} Basic eA==`, moved, moved])
    upstream.intercept = redirect(`/uma/engine.git${ADVERTISEMENT}`)
    expect(await ask(gateway)).toBe(502)
    expect(gateway.failure()).toBe('BAD_REDIRECT')
  })

  it('does not send credentials to another origin', async () => {
    const other = await startGitUpstream()
    onTestFinished(() => other.stop())
    upstream.intercept = redirect(`${other.url}${ADVERTISEMENT}`)
    const gateway = await open({ authorization: 'Basic c2VjcmV0' })
    expect(await ask(gateway)).toBe(200)
    expect(other.asked).toEqual([`GET /uma/engine.git${ADVERTISEMENT}`])
  })

  it.each([
    ['wants credentials', 401, {}, 'UNAUTHORIZED'],
    ['knows nothing', 404, {}, 'NOT_FOUND'],
    ['fails', 500, {}, 'NO_REPOSITORY'],
    ['speaks the dumb protocol', 200, { 'content-type': 'text/plain' }, 'NO_REPOSITORY'],
    // The bytes are counted before decompression.
    ['compresses', 200, { ...TYPE, 'content-encoding': 'gzip' }, 'NO_REPOSITORY'],
  ])('says that the other side %s', async (_, status, headers, failure) => {
    upstream.intercept = (_, response) => {
      response.writeHead(status, headers).end('x')
      return true
    }
    const gateway = await open()
    expect(await ask(gateway)).toBe(502)
    expect(gateway.failure()).toBe(failure)
  })

  it.each([
    ['than it is told to', { maxBytes: 300_000 }],
    ['refs than it could store', { maxBytes: 1024 ** 3 }],
  ])('takes no more %s', async (_, options) => {
    upstream.intercept = (_, response) => flood(response, 'advertisement')
    const gateway = await open(options)
    expect(await ask(gateway)).toBe('cut off')
    expect(gateway.failure()).toBe('TOO_LARGE')
  })

  it('limits lists of refs in both versions of the protocol', async () => {
    upstream.intercept = (_, response) => flood(response, 'result')
    const gateway = await open({ maxBytes: 1024 ** 3 })
    const [name = '', value = ''] = gateway.header.split(': ')
    const response = await fetch(`${gateway.url}/git-upload-pack`, {
      method: 'POST',
      headers: { [name]: value, 'content-type': 'application/x-git-upload-pack-request' },
      body: '0014command=ls-refs\n0000',
    })
    await expect(response.arrayBuffer()).rejects.toThrow()
    expect(gateway.failure()).toBe('TOO_LARGE')
  })

  it('times out', async () => {
    upstream.intercept = (_, response) => {
      response.writeHead(200, TYPE).write('001e')
      return true
    }
    const gateway = await open({ times: { idleMs: 100, listMs: 60_000 } })
    expect(await ask(gateway)).toBe('cut off')
    expect(gateway.failure()).toBe('TIMEOUT')
  })

  it('closes', async () => {
    const giveUp = new AbortController()
    upstream.intercept = (_, response) => {
      response.writeHead(200, TYPE).write('001e')
      giveUp.abort()
      return true
    }
    const gateway = await open({ signal: giveUp.signal })
    await ask(gateway).catch(() => {})
    expect(gateway.failure()).toMatch(/CANCELLED|CONNECTION_FAILED/)
  })
})
