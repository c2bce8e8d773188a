import { BlockList } from 'node:net'
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt'
import { createContextValues } from '@connectrpc/connect'
import { beforeEach, describe, expect, it } from 'vitest'
import { isTrusted } from '../../../src/edge/authentication/forwarding.ts'
import { originKey } from '../../../src/edge/authentication/peers.ts'
import {
  createProxySignIn,
  type ProxyTrust,
} from '../../../src/edge/authentication/proxy-sign-in.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'

const OWN = 'https://git.example.org'
const PARTNER = 'https://app.example.org'

const trustedProxies = new BlockList()
trustedProxies.addSubnet('127.0.0.0', 8, 'ipv4')
trustedProxies.addAddress('::1', 'ipv6')
trustedProxies.addSubnet('fd00::', 8, 'ipv6')

const TRUST: ProxyTrust = {
  header: 'x-webauth-user',
  trustedProxies,
  api: true,
  register: false,
  emailHeader: undefined,
  nameHeader: undefined,
}

interface Sent {
  readonly address?: string
  readonly header?: Record<string, string>
  readonly requestMethod?: string
  readonly idempotency?: Idempotency
}

let app: TestApp
let warnings: unknown[][]

beforeEach(async () => {
  app = await testApp()
  warnings = []
  app.log.warn = (...line: unknown[]) => warnings.push(line)
  await addUser(app, 'bob')
})

/** The username that proxy sign-in takes from each request; undefined for none. */
async function signIn(
  requests: readonly Sent[],
  trust: Partial<ProxyTrust> = {},
): Promise<(string | undefined)[]> {
  const proxy = createProxySignIn(app, { ...TRUST, ...trust }, () => [OWN, PARTNER])
  const names: (string | undefined)[] = []
  for (const {
    address = '127.0.0.1',
    header = {},
    requestMethod = 'POST',
    idempotency,
  } of requests) {
    const user = await proxy.userOf({
      contextValues: createContextValues().set(originKey, {
        peer: { address, loopback: false },
        connectedFrom: address,
        requestId: '',
        protocol: 'connect',
      }),
      header: new Headers({ 'x-webauth-user': 'bob', ...header }),
      requestMethod,
      method: { idempotency: idempotency ?? Idempotency.NO_SIDE_EFFECTS },
    })
    names.push(user?.username)
  }
  return names
}

describe('a trusted proxy', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.255.0.1', true],
    ['::1', true],
    ['fd12::1', true],
    ['fd12::1%eth0', true],
    ['unix', true],
    ['128.0.0.1', false],
    ['192.0.2.1', false],
    ['::2', false],
    ['fe80::1%eth0', false],
    // A socket that is gone has no address.
    ['unknown', false],
    ['', false],
  ])('at %s: %s', (address, trusted) => {
    expect(isTrusted(trustedProxies, address)).toBe(trusted)
  })

  it('may connect over a Unix socket', () => {
    const elsewhere = new BlockList()
    elsewhere.addAddress('192.0.2.1')
    expect(isTrusted(elsewhere, 'unix')).toBe(false)
  })
})

describe('the header of a proxy', () => {
  it('names the caller', async () => {
    expect(await signIn([{}, { header: { 'x-webauth-user': '  bob ' } }])).toEqual(['bob', 'bob'])
  })

  it('is ignored if it is empty', async () => {
    expect(await signIn([{ header: { 'x-webauth-user': ' ' } }])).toEqual([undefined])
  })

  it.each(['bob, ada', 'bob,bob', ',bob', 'ada'])(
    'is refused with the value "%s"',
    async (value) => {
      await expect(signIn([{ header: { 'x-webauth-user': value } }])).rejects.toMatchObject({
        reason: 'BAD_CREDENTIALS',
      })
    },
  )

  it('is ignored from a peer that is not trusted, which is logged once', async () => {
    const forged = {
      address: '192.0.2.1',
      header: { 'x-webauth-user': 'bob, ada', origin: 'https://evil.example' },
    }
    expect(await signIn([forged, forged, { ...forged, address: '192.0.2.2' }])).toEqual(
      Array(3).fill(undefined),
    )
    expect(warnings).toEqual([[{ peer: '192.0.2.1' }, expect.any(String)]])
  })

  it('has the name that the operator configured', async () => {
    const sent = [{ header: { 'x-webauth-user': 'ada', 'remote-user': 'bob' } }]
    expect(await signIn(sent, { header: 'remote-user' })).toEqual(['bob'])
  })

  it('can come with headers for the profile of a new account, if configured', async () => {
    // What Node makes of the UTF-8 of "Zoë, the 2nd", and what it makes of ISO 8859-1.
    const names = ['ZoÃ«, the 2nd', 'Zoë']
    const sent = names.map((name, i) => ({
      header: {
        'x-webauth-user': `zoe-${i}`,
        'x-webauth-email': `zoe-${i}@example.org`,
        'x-webauth-fullname': name,
      },
    }))
    await signIn(sent, {
      register: true,
      emailHeader: 'x-webauth-email',
      nameHeader: 'x-webauth-fullname',
    })
    await signIn([{ header: { ...sent[0]?.header, 'x-webauth-user': 'plain' } }], {
      register: true,
    })
    const rows = await app.db
      .selectFrom('users')
      .select(['username', 'email', 'display_name'])
      .orderBy('id')
      .execute()
    expect(rows.slice(1)).toEqual([
      { username: 'zoe-0', email: 'zoe-0@example.org', display_name: 'Zoë, the 2nd' },
      { username: 'zoe-1', email: 'zoe-1@example.org', display_name: 'Zoë' },
      { username: 'plain', email: '', display_name: '' },
    ])
  })
})

describe('a write request with an identity from a proxy', () => {
  const json = { 'content-type': 'application/json' }
  const own = { origin: OWN }
  const allowed = (
    header: Record<string, string>,
    requestMethod = 'POST',
  ): [string, Sent, boolean] => [
    `${requestMethod} ${JSON.stringify(header)}`,
    { header, requestMethod, idempotency: Idempotency.IDEMPOTENT },
    true,
  ]
  const refused = (
    header: Record<string, string>,
    requestMethod = 'POST',
  ): [string, Sent, boolean] => {
    const [name, sent] = allowed(header, requestMethod)
    return [name, sent, false]
  }

  it.each<[string, Sent, boolean]>([
    allowed({ ...json, ...own }),
    allowed({ ...json, origin: PARTNER }),
    allowed({ ...json, 'sec-fetch-site': 'same-origin' }),
    allowed({ ...json, 'sec-fetch-site': 'none' }),
    // A page of a trusted origin beside the instance's own.
    allowed({ ...json, origin: PARTNER, 'sec-fetch-site': 'same-site' }),
    allowed({ 'content-type': 'application/json; charset=utf-8', ...own }),
    allowed({ 'content-type': 'application/proto', ...own }),
    allowed({ 'content-type': 'application/connect+proto', ...own }),
    allowed({ 'content-type': 'application/grpc-web+proto', ...own }),
    allowed({ 'content-type': 'application/grpc' }),
    allowed({ 'content-type': 'application/grpc+proto' }),
    allowed(own, 'DELETE'),
    // Another site, which the browser names.
    refused({ ...json, origin: 'https://evil.example' }),
    refused({ ...json, origin: 'https://git.example.org.evil.example' }),
    refused({ ...json, origin: 'http://git.example.org' }),
    refused({ ...json, origin: 'https://git.example.org:8443' }),
    // Sandboxed pages.
    refused({ ...json, origin: 'null' }),
    refused({ ...json, 'sec-fetch-site': 'cross-site' }),
    refused({ ...json, 'sec-fetch-site': 'same-site' }),
    refused({ ...json, origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }),
    refused({ 'content-type': 'application/grpc', origin: 'https://evil.example' }),
    // Nobody says where it comes from.
    refused(json),
    refused({ 'content-type': 'application/grpc-web+proto' }),
    refused({}, 'DELETE'),
    // What forms send, or scripts without asking first.
    refused({ 'content-type': 'text/plain', ...own }),
    refused({ 'content-type': 'application/x-www-form-urlencoded', ...own }),
    refused({ 'content-type': 'multipart/form-data; boundary=application/json', ...own }),
    refused({ 'content-type': 'application/jsonp', ...own }),
    refused(own),
  ])('with %s', async (_, sent, isAllowed) => {
    const outcome = signIn([sent])
    await (isAllowed
      ? expect(outcome).resolves.toEqual(['bob'])
      : expect(outcome).rejects.toMatchObject({ reason: 'CROSS_SITE_REQUEST' }))
  })

  it('has stricter rules than a read request', async () => {
    expect(
      await signIn([{ header: { origin: 'https://evil.example' }, requestMethod: 'GET' }]),
    ).toEqual(['bob'])
  })
})
