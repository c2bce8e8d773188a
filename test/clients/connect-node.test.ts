import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest } from 'node:http'
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { Health, HealthCheckResponse_ServingStatus } from '#gen/health/v1/health_pb.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { type SelfSigned, selfSigned } from './certificate.ts'

interface TransportOptions {
  readonly baseUrl: string
  readonly useBinaryFormat: boolean
}

/** gRPC needs trailers, which Node's HTTP/1.1 client has but the library does not offer. */
const TRANSPORTS: readonly { name: string; make: (options: TransportOptions) => Transport }[] = [
  {
    name: 'Connect on HTTP/1.1',
    make: (options) => createConnectTransport({ ...options, httpVersion: '1.1' }),
  },
  {
    name: 'Connect on HTTP/2',
    make: (options) => createConnectTransport({ ...options, httpVersion: '2' }),
  },
  {
    name: 'Connect with GET on HTTP/1.1',
    make: (options) => createConnectTransport({ ...options, httpVersion: '1.1', useHttpGet: true }),
  },
  {
    name: 'Connect with GET on HTTP/2',
    make: (options) => createConnectTransport({ ...options, httpVersion: '2', useHttpGet: true }),
  },
  { name: 'gRPC on HTTP/2', make: (options) => createGrpcTransport(options) },
  {
    name: 'gRPC-Web on HTTP/1.1',
    make: (options) => createGrpcWebTransport({ ...options, httpVersion: '1.1' }),
  },
  {
    name: 'gRPC-Web on HTTP/2',
    make: (options) => createGrpcWebTransport({ ...options, httpVersion: '2' }),
  },
]

const CASES = TRANSPORTS.flatMap(({ name, make }) => [
  { name: `${name}, binary`, make, useBinaryFormat: true },
  { name: `${name}, JSON`, make, useBinaryFormat: false },
])

describe('connect-node', () => {
  let server: TestServer
  let testUsers: TestUsers
  beforeAll(async () => {
    server = await startTestServer()
    testUsers = await createTestUsers(server.url)
  })
  afterAll(() => server.stop())

  describe.each(CASES)('by $name', ({ make, useBinaryFormat }) => {
    let transport: Transport
    beforeAll(() => {
      transport = make({ baseUrl: server.url, useBinaryFormat })
    })

    it('calls, with credentials', async () => {
      const headers = { authorization: testUsers.bob.authorization }
      const { user } = await createClient(AuthService, transport).getCurrentUser({}, { headers })
      expect(user).toMatchObject({ username: 'bob', email: 'bob@example.org' })
    })

    it('calls a method that changes something', async () => {
      const headers = { authorization: testUsers.bob.authorization }
      const user = { name: 'users/bob', displayName: 'Bob ✓' }
      const updated = await createClient(UserService, transport).updateUser(
        { user, updateMask: { paths: ['display_name'] } },
        { headers },
      )
      expect(updated).toMatchObject(user)
    })

    it('gets the headers that every answer has', async () => {
      const headers = { 'x-request-id': 'of-my-own' }
      let answered = new Headers()
      await createClient(UserService, transport).getUser(
        { name: 'users/bob' },
        { headers, onHeader: (h) => (answered = h) },
      )
      expect(Object.fromEntries(answered)).toMatchObject({
        'x-request-id': 'of-my-own',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
    })

    it('gets why a call failed, and the same headers', async () => {
      const call = createClient(UserService, transport).getUser({ name: 'users/nobody' })
      const error = await call.then(() => undefined, ConnectError.from)
      expect(error?.code).toBe(Code.NotFound)
      expect(error?.findDetails(ErrorInfoSchema)).toMatchObject([
        { reason: 'USER_NOT_FOUND', domain: 'branchline', metadata: { name: 'users/nobody' } },
      ])
      expect(Object.fromEntries(error?.metadata ?? [])).toMatchObject({
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
        'cache-control': 'no-store',
      })
    })

    it('is told of a method that is not served', async () => {
      const missing = { ...UserService, typeName: 'branchline.v1.NoService' }
      const methods = { ...UserService.method.getUser, parent: missing }
      const call = transport.unary(methods, undefined, undefined, undefined, { name: 'users/bob' })
      const error = await call.then(() => undefined, ConnectError.from)
      expect(error?.code).toBe(Code.Unimplemented)
    })

    it('reads a stream, and leaves it', async () => {
      const controller = new AbortController()
      const watch = createClient(Health, transport).watch({}, { signal: controller.signal })
      const seen: HealthCheckResponse_ServingStatus[] = []
      const reading = (async () => {
        for await (const { status } of watch) {
          seen.push(status)
          controller.abort()
        }
      })()
      await expect(reading).rejects.toMatchObject({ code: Code.Canceled })
      expect(seen).toEqual([HealthCheckResponse_ServingStatus.SERVING])
    })
  })

  describe('by Connect with GET', () => {
    /** Methods of the HTTP requests that the calls of `action` make. */
    const requestsOf = async (action: () => Promise<unknown>) => {
      // A request that waits for its connection is announced twice.
      const requests = new Set<ClientRequest>()
      const record = (message: unknown) =>
        requests.add((message as { request: ClientRequest }).request)
      subscribe('http.client.request.start', record)
      await action().finally(() => unsubscribe('http.client.request.start', record))
      return Array.from(requests, (request) => request.method)
    }

    it('is used for methods without side effects, and for no other', async () => {
      const transport = createConnectTransport({
        baseUrl: server.url,
        httpVersion: '1.1',
        useHttpGet: true,
      })
      const [users, auth] = [
        createClient(UserService, transport),
        createClient(AuthService, transport),
      ]
      const headers = { authorization: testUsers.bob.authorization }
      expect(await requestsOf(() => users.getUser({ name: 'users/bob' }))).toEqual(['GET'])
      expect(await requestsOf(() => users.batchGetUsers({ usernames: ['bob'] }))).toEqual(['GET'])
      expect(await requestsOf(() => auth.getCurrentUser({}, { headers }))).toEqual(['GET'])
      expect(await requestsOf(() => auth.signOut({}, { headers }))).toEqual(['POST'])
    })

    it('is refused for a method that changes something', async () => {
      const response = await fetch(
        `${server.url}/branchline.v1.AuthService/SignOut?connect=v1&encoding=json&message=%7B%7D`,
      )
      expect(response.status).toBe(405)
    })
  })
})

describe('connect-node over TLS', () => {
  let certificate: SelfSigned
  let server: TestServer
  beforeAll(async () => {
    certificate = selfSigned()
    server = await startTestServer({ tls: certificate })
  })
  afterAll(async () => {
    await server.stop()
    certificate.remove()
  })

  it.each(['1.1', '2'] as const)('agrees on HTTP/%s and calls', async (httpVersion) => {
    const nodeOptions = { ca: certificate.cert }
    const sessions = new Http2SessionManager(server.url, {}, nodeOptions)
    const transport =
      httpVersion === '2'
        ? createConnectTransport({ baseUrl: server.url, httpVersion, sessionManager: sessions })
        : createConnectTransport({ baseUrl: server.url, httpVersion, nodeOptions })
    expect(await createClient(Health, transport).check({})).toMatchObject({
      status: HealthCheckResponse_ServingStatus.SERVING,
    })
    sessions.abort()
  })
})
