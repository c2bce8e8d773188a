import { BlockList } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendHttp1, sendHttp2 } from '../../support/http-request.ts'
import {
  createTestUsers,
  PASSWORD,
  startTestServer,
  type TestServer,
} from '../../support/server.ts'

let server: TestServer
/** Starts a server that trusts the addresses of this machine, and a network behind it, to speak for others. */
beforeAll(async () => {
  const trustedProxies = new BlockList()
  trustedProxies.addAddress('127.0.0.1')
  trustedProxies.addSubnet('10.0.0.0', 8, 'ipv4')
  trustedProxies.addSubnet('fd00::', 8, 'ipv6')
  server = await startTestServer({ trustedProxies })
})
afterAll(() => server.stop())

const basic = (username: string, password = PASSWORD) => ({
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
})
const me = (headers: Record<string, string | string[]>) =>
  sendHttp1(`${server.url}/api/v1/auth/me`, { headers })

/** How many of some requests were answered with each status. */
async function statuses(
  requests: readonly Promise<{ readonly status: number }>[],
): Promise<Record<number, number>> {
  const counts: Record<number, number> = {}
  for (const { status } of await Promise.all(requests)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

describe('the peer behind a trusted proxy', () => {
  const cases: [string, Record<string, string | string[]>, string][] = [
    ['the address in X-Forwarded-For', { 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7'],
    [
      'the rightmost address that is not trusted',
      { 'x-forwarded-for': '198.51.100.1, 203.0.113.7, 10.1.2.3' },
      '203.0.113.7',
    ],
    [
      'the same for several header lines as for one',
      { 'x-forwarded-for': ['198.51.100.1', '203.0.113.7', '10.1.2.3'] },
      '203.0.113.7',
    ],
    [
      'the leftmost address if all are trusted',
      { 'x-forwarded-for': '10.9.9.9, 10.1.2.3' },
      '10.9.9.9',
    ],
    ['an address without its port', { 'x-forwarded-for': '203.0.113.7:4711' }, '203.0.113.7'],
    [
      'an IPv6 address in its shortest form',
      { 'x-forwarded-for': '2001:0DB8:0:0::7, fd00::1' },
      '2001:db8::7',
    ],
    [
      'an IPv4 address for an IPv4-mapped IPv6 address',
      { 'x-forwarded-for': '::ffff:203.0.113.7' },
      '203.0.113.7',
    ],
    [
      'the address in Forwarded',
      { forwarded: 'for=198.51.100.1, for="[2001:db8::7]:80";proto=https, For=10.1.2.3' },
      '2001:db8::7',
    ],
    [
      'the address in both headers',
      { forwarded: 'for=203.0.113.7', 'x-forwarded-for': '198.51.100.1, 203.0.113.7' },
      '203.0.113.7',
    ],
    [
      'the proxy if the two headers differ',
      { forwarded: 'for=203.0.113.7', 'x-forwarded-for': '198.51.100.1' },
      '127.0.0.1',
    ],
    [
      'the proxy if an entry is not an address',
      { 'x-forwarded-for': '198.51.100.1, somebody' },
      '127.0.0.1',
    ],
    [
      'the proxy if an entry is empty',
      { 'x-forwarded-for': '198.51.100.1,, 10.1.2.3' },
      '127.0.0.1',
    ],
    ['the proxy if the node is obfuscated', { forwarded: 'for=_hidden' }, '127.0.0.1'],
    ['the proxy if Forwarded is malformed', { forwarded: 'for=203.0.113.7;;"' }, '127.0.0.1'],
    [
      'the proxy if an element of Forwarded has two addresses',
      { forwarded: 'for=203.0.113.7;for=203.0.113.8' },
      '127.0.0.1',
    ],
    [
      'the proxy if there are too many entries',
      { 'x-forwarded-for': times(33, () => '203.0.113.7').join(',') },
      '127.0.0.1',
    ],
  ]
  it('is logged as each case expects', async () => {
    const found: [string, string | undefined][] = []
    for (const [name, headers] of cases) {
      await sendHttp1(`${server.url}/api/v1/users/nobody`, {
        headers: { ...headers, 'x-request-id': 'case' },
      })
      const line = server.logged.findLast(({ request_id }) => request_id === 'case')
      found.push([name, line?.peer as string | undefined])
    }
    expect(found).toEqual(cases.map(([name, , peer]) => [name, peer]))
  })

  it('is the same over HTTP/2 and for Git', async () => {
    await sendHttp2(`${server.url}/api/v1/users/nobody`, {
      headers: { 'x-forwarded-for': '203.0.113.7', 'x-request-id': 'h2' },
    })
    await sendHttp1(`${server.url}/ada/none.git/info/refs?service=git-upload-pack`, {
      headers: { forwarded: 'for=203.0.113.7', 'x-request-id': 'git' },
    })
    const peers = server.logged
      .filter(({ request_id }) => request_id === 'h2' || request_id === 'git')
      .map(({ peer }) => peer)
    expect(peers).toEqual(['203.0.113.7', '203.0.113.7'])
  })
})

describe('a header of a forwarded request', () => {
  it.each([
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-for': '' },
    { forwarded: 'for=127.0.0.1' },
    { 'x-real-ip': '127.0.0.1' },
    { 'x-forwarded-proto': 'https' },
    { 'x-forwarded-host': 'localhost' },
    { via: '1.1 proxy' },
    { 'cf-connecting-ip': '127.0.0.1' },
  ])('prevents the creation of the first administrator: %o', async (headers) => {
    const answer = await sendHttp1(`${server.url}/api/v1/users`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ username: 'ada', password: PASSWORD }),
    })
    expect([answer.status, answer.body]).toEqual([
      403,
      expect.stringContaining('FIRST_ACCOUNT_REFUSED'),
    ])
    expect((await sendHttp1(`${server.url}/metrics`, { headers })).status).toBe(401)
  })

  it('is ignored if the peer is not a trusted proxy', async () => {
    await sendHttp1(`${server.url}/api/v1/users/nobody`, {
      from: '127.0.0.9',
      headers: { 'x-forwarded-for': '203.0.113.7', 'x-request-id': 'forged' },
    })
    expect(server.logged.findLast(({ request_id }) => request_id === 'forged')).toMatchObject({
      peer: '127.0.0.9',
    })
  })
})

describe('with accounts', () => {
  beforeAll(() => createTestUsers(server.url))

  describe('the refresh cookie', () => {
    const signIn = (headers: Record<string, string>, from = '127.0.0.1') =>
      sendHttp1(`${server.url}/api/v1/auth/signin`, {
        method: 'POST',
        from,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ passwordCredentials: { username: 'bob', password: PASSWORD } }),
      })

    it('is Secure if a trusted proxy says that the client used HTTPS', async () => {
      const isSecure = async (...call: Parameters<typeof signIn>) =>
        /; Secure/.test(String((await signIn(...call)).headers['set-cookie']))
      expect([
        await isSecure({ 'x-forwarded-proto': 'https' }),
        await isSecure({ 'x-forwarded-proto': 'HTTPS, http' }),
        await isSecure({ forwarded: 'for=203.0.113.7;proto=https, for=10.1.2.3;proto=http' }),
      ]).toEqual([true, true, true])
      expect([
        await isSecure({}),
        await isSecure({ 'x-forwarded-proto': 'http' }),
        await isSecure({ 'x-forwarded-proto': 'http, https' }),
        await isSecure({ forwarded: 'for=203.0.113.7' }),
        await isSecure({ 'x-forwarded-proto': 'https' }, '127.0.0.9'),
      ]).toEqual([false, false, false, false, false])
    })
  })

  describe('concurrent requests with passwords', () => {
    it('are all accepted if the passwords are right', async () => {
      expect(await statuses(times(40, () => me(basic('bob'))))).toEqual({ 200: 40 })
      // A team behind one proxy, each with several requests.
      const team = times(120, (i) =>
        me({ ...basic(['ada', 'bob', 'carol'][i % 3] ?? ''), 'x-forwarded-for': '203.0.113.7' }),
      )
      expect(await statuses(team)).toEqual({ 200: 120 })
    })

    it('cannot guess more often than the limit allows', async () => {
      expect(await statuses(times(40, () => me(basic('bob', 'wrong'))))).toEqual({
        401: 10,
        429: 30,
      })
      expect((await me(basic('bob'))).status).toBe(429)
      const perPeer = times(80, (i) =>
        me({ ...basic(`nobody-${i}`), 'x-forwarded-for': '203.0.113.7' }),
      )
      expect(await statuses(perPeer)).toEqual({ 401: 50, 429: 30 })
      expect((await me({ ...basic('carol'), 'x-forwarded-for': '203.0.113.7' })).status).toBe(429)
      expect((await me({ ...basic('carol'), 'x-forwarded-for': '203.0.113.8' })).status).toBe(200)
    })
  })
})
