import { createClient } from '@connectrpc/connect'
import { afterEach, describe, expect, it } from 'vitest'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { type HttpCall, sendHttp1, sendHttp2 } from '../../support/http-request.ts'
import {
  PASSWORD,
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
afterEach(() => server.stop())

const ADA = { username: 'ada', password: PASSWORD }
const JSON_TYPE = { 'content-type': 'application/json' }

const rest = (headers: Record<string, string>): HttpCall => ({
  method: 'POST',
  headers,
  body: JSON.stringify(ADA),
})
const connect = (headers: Record<string, string>): HttpCall => ({
  method: 'POST',
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify({ user: ADA }),
})
const port = () => new URL(server.url).port

/** Requests that a page in a browser on the machine can send. */
const FOREIGN: [string, () => Record<string, string>][] = [
  ['the origin of another site', () => ({ ...JSON_TYPE, origin: 'https://evil.example' })],
  ['the origin of another port', () => ({ ...JSON_TYPE, origin: 'http://127.0.0.1:1' })],
  ['no origin to speak of', () => ({ ...JSON_TYPE, origin: 'null' })],
  ['Sec-Fetch-Site: cross-site', () => ({ ...JSON_TYPE, 'sec-fetch-site': 'cross-site' })],
  ['Sec-Fetch-Site: same-site', () => ({ ...JSON_TYPE, 'sec-fetch-site': 'same-site' })],
  [
    'a name that was pointed at this machine',
    () => ({
      ...JSON_TYPE,
      host: `evil.example:${port()}`,
      origin: `http://evil.example:${port()}`,
      'sec-fetch-site': 'same-origin',
    }),
  ],
  ['such a name alone', () => ({ ...JSON_TYPE, host: 'localhost.evil.example' })],
]

describe('the first account cannot be created by a request', () => {
  it.each(FOREIGN)('with %s', async (_name, headers) => {
    server = await startTestServer({ publicUrl: 'https://git.example.org' })
    const users = `${server.url}/api/v1/users`
    const rpc = `${server.url}/branchline.v1.UserService/CreateUser`
    for (const [url, call] of [
      [users, rest(headers())],
      [rpc, connect(headers())],
    ] as const) {
      const answer = await sendHttp1(url, call)
      expect([answer.status, answer.body]).toEqual([
        403,
        expect.stringContaining('FIRST_ACCOUNT_REFUSED'),
      ])
      const { host, ...rest } = call.headers ?? {}
      const asHttp2 = {
        ...call,
        headers: { ...rest, ...(host !== undefined && { ':authority': host }) },
      }
      expect(await sendHttp2(url, asHttp2)).toMatchObject({ status: 403 })
    }
    // No account was created.
    expect((await sendHttp1(users, rest(JSON_TYPE))).status).toBe(200)
  })

  it('without a content type, like the body of a Blob', async () => {
    server = await startTestServer()
    const answer = await sendHttp1(`${server.url}/api/v1/users`, rest({}))
    expect([answer.status, answer.body]).toEqual([
      403,
      expect.stringContaining('FIRST_ACCOUNT_REFUSED'),
    ])
  })
})

describe('the first account can be created', () => {
  it.each(RPC_PROTOCOLS)('by a program on the machine over %s', async (protocol) => {
    server = await startTestServer()
    const made = await createClient(UserService, transportTo(server.url, protocol)).createUser({
      user: ADA,
    })
    expect(made.role).toBe(2)
  })

  it.each<[string, () => Record<string, string>]>([
    ['a program that names localhost', () => ({ host: `localhost:${port()}` })],
    ['a program that names the instance', () => ({ host: 'git.example.org' })],
    [
      'a page of the instance',
      () => ({ origin: 'https://git.example.org', host: 'git.example.org' }),
    ],
    ['a page at the address', () => ({ origin: server.url, 'sec-fetch-site': 'same-origin' })],
  ])('by %s', async (_name, headers) => {
    server = await startTestServer({ publicUrl: 'https://git.example.org' })
    const answer = await sendHttp1(
      `${server.url}/api/v1/users`,
      rest({ ...JSON_TYPE, ...headers() }),
    )
    expect([answer.status, answer.body]).toEqual([200, expect.stringContaining('"ADMIN"')])
  })
})

describe('metrics are available', () => {
  it('to no page of another site', async () => {
    server = await startTestServer({ publicUrl: 'https://git.example.org' })
    for (const [, headers] of FOREIGN) {
      expect((await sendHttp1(`${server.url}/metrics`, { headers: headers() })).status).toBe(401)
    }
  })

  it('to programs on the machine', async () => {
    server = await startTestServer()
    expect((await sendHttp1(`${server.url}/metrics`, {})).status).toBe(200)
    expect((await sendHttp2(`${server.url}/metrics`, {})).status).toBe(200)
  })
})
