import { once } from 'node:events'
import {
  Client,
  compressionAlgorithms,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { Health, HealthCheckResponse_ServingStatus } from '#gen/health/v1/health_pb.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { type SelfSigned, selfSigned } from './certificate.ts'
import { authorized, callStream, callUnary, reasonOf } from './grpc-client.ts'

const { method } = UserService
const MEBIBYTE = 1024 * 1024

/** What a call that must fail failed with. */
async function failure(call: Promise<unknown>): Promise<ServiceError> {
  const outcome = await call.then(
    () => undefined,
    (error: ServiceError) => error,
  )
  if (outcome === undefined) throw new Error('the call succeeded')
  return outcome
}

describe('grpc-js', () => {
  let server: TestServer
  let users: TestUsers
  const clients: Client[] = []

  beforeAll(async () => {
    server = await startTestServer()
    users = await createTestUsers(server.url)
  })
  afterAll(() => server.stop())
  afterEach(() => {
    for (const client of clients.splice(0)) client.close()
  })

  const connect = (options: ConstructorParameters<typeof Client>[2] = {}) => {
    const client = new Client(new URL(server.url).host, credentials.createInsecure(), {
      // A channel of its own for each test, not one shared within the process.
      'grpc.use_local_subchannel_pool': 1,
      ...options,
    })
    clients.push(client)
    return client
  }

  it('calls, and sends metadata', async () => {
    const client = connect()
    expect(await callUnary(client, method.getUser, { name: 'users/bob' })).toMatchObject({
      username: 'bob',
      email: '',
    })
    const { user } = await callUnary(
      client,
      AuthService.method.getCurrentUser,
      {},
      authorized(users.bob.authorization),
    )
    expect(user).toMatchObject({ username: 'bob', email: 'bob@example.org' })
  })

  it.each([
    [
      'an account that does not exist',
      { name: 'users/nobody' },
      {},
      status.NOT_FOUND,
      'USER_NOT_FOUND',
    ],
    ['a name of another shape', { name: 'bob' }, {}, status.INVALID_ARGUMENT, 'INVALID_NAME'],
    [
      'credentials of nobody',
      { name: 'users/bob' },
      { authorization: 'Bearer x' },
      status.UNAUTHENTICATED,
      'BAD_CREDENTIALS',
    ],
  ])('reads the reason from the details of %s', async (_, request, metadata, code, reason) => {
    const error = await failure(
      callUnary(connect(), method.getUser, request, Metadata.fromHttp2Headers(metadata)),
    )
    expect({ code: error.code, reason: reasonOf(error) }).toEqual({ code, reason })
  })

  it('decodes text that is no ASCII from grpc-message', async () => {
    const error = await failure(callUnary(connect(), method.getUser, { name: 'Ève ✓' }))
    expect(error.details).toContain('"Ève ✓"')
  })

  it('answers health checks', async () => {
    const client = connect()
    for (const service of ['', 'branchline.v1.UserService']) {
      expect(await callUnary(client, Health.method.check, { service })).toMatchObject({
        status: HealthCheckResponse_ServingStatus.SERVING,
      })
    }
    expect(await failure(callUnary(client, Health.method.check, { service: 'x' }))).toMatchObject({
      code: status.NOT_FOUND,
    })
  })

  /**
   * A watch sends its first answer at once and then nothing: a call that is in flight for as long
   * as one likes.
   */
  const watch = async (client: Client, options: { deadline?: number } = {}) => {
    const stream = callStream(client, Health.method.watch, {}, options)
    const ended = new Promise<ServiceError>((resolve) => stream.once('error', resolve))
    // On a busy machine, the deadline may pass before the answer.
    await Promise.race([ended, once(stream, 'data')])
    return { stream, ended }
  }
  const watchesEnded = () =>
    server.logged.filter(({ method: name }) => name === 'grpc.health.v1.Health/Watch').length

  it('gives up at its deadline, and so does the server', async () => {
    const before = watchesEnded()
    const client = connect()
    // On a busy machine, the deadline may otherwise pass before there is a connection.
    await callUnary(client, method.getUser, { name: 'users/bob' })
    const { ended } = await watch(client, { deadline: Date.now() + 3_000 })
    expect(await ended).toMatchObject({ code: status.DEADLINE_EXCEEDED })
    await expect.poll(watchesEnded).toBe(before + 1)
  })

  it('cancels, and so does the server, and the connection stays', async () => {
    const before = watchesEnded()
    const client = connect()
    const { stream, ended } = await watch(client)
    stream.cancel()
    expect(await ended).toMatchObject({ code: status.CANCELLED })
    await expect.poll(watchesEnded).toBe(before + 1)
    expect(await callUnary(client, method.getUser, { name: 'users/bob' })).toMatchObject({
      username: 'bob',
    })
  })

  it('keeps a connection alive with pings that the server does not mind', async () => {
    // Ten times as many pings in half a second as servers that count them (GOAWAY too_many_pings)
    // would stand.
    const client = connect({ 'grpc.keepalive_time_ms': 10, 'grpc.keepalive_timeout_ms': 5_000 })
    const { ended } = await watch(client, { deadline: Date.now() + 500 })
    expect(await ended).toMatchObject({ code: status.DEADLINE_EXCEEDED })
  })

  it('makes more calls at once than a connection has streams', async () => {
    const client = connect()
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        callUnary(client, method.getUser, { name: i % 2 ? 'users/bob' : 'users/carol' }),
      ),
    )
    expect(answers.map(({ username }) => username)).toEqual(
      Array.from(answers, (_, i) => (i % 2 ? 'bob' : 'carol')),
    )
  })

  const compressed = { 'grpc.default_compression_algorithm': compressionAlgorithms.gzip }
  it.each([
    ['as it is', {}],
    // What is small on the line only is still too large in memory.
    ['compressed', compressed],
  ])('is told that a message is too large, sent %s', async (_, options) => {
    const client = connect({ ...options, 'grpc.max_send_message_length': -1 })
    const description = 'x'.repeat(5 * MEBIBYTE)
    const error = await failure(
      callUnary(client, method.createUser, { user: { username: 'eve', description } }),
    )
    expect({ code: error.code, reason: reasonOf(error) }).toEqual({
      code: status.RESOURCE_EXHAUSTED,
      reason: 'REQUEST_TOO_LARGE',
    })
    expect(await callUnary(client, method.getUser, { name: 'users/bob' })).toMatchObject({
      username: 'bob',
    })
  })

  it('compresses with gzip, both ways', async () => {
    const client = connect(compressed)
    const usernames = [...Array(99).fill('bob'), 'carol']
    const { users } = await callUnary(client, method.batchGetUsers, { usernames })
    expect(users.map(({ username }) => username)).toEqual(['bob', 'carol'])
  })

  it.each([
    ['method', 'branchline.v1.UserService/Nothing'],
    ['service', 'branchline.v1.NothingService/GetUser'],
  ])('is told that a %s is not served', async (_, path) => {
    const call = new Promise((resolve, reject) => {
      const identity = (bytes: Buffer) => bytes
      connect().makeUnaryRequest(
        `/${path}`,
        identity,
        identity,
        Buffer.alloc(0),
        (error, answer) => (error ? reject(error) : resolve(answer)),
      )
    })
    expect(await failure(call)).toMatchObject({ code: status.UNIMPLEMENTED })
  })
})

describe('grpc-js over TLS', () => {
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

  const connect = (root?: Buffer) =>
    new Client(new URL(server.url).host, credentials.createSsl(root))

  it('agrees on HTTP/2 and calls', async () => {
    const client = connect(certificate.cert)
    expect(await callUnary(client, Health.method.check, {})).toMatchObject({
      status: HealthCheckResponse_ServingStatus.SERVING,
    })
    client.close()
  })

  it('does not talk to a server whose certificate it does not know', async () => {
    const client = connect()
    expect(await failure(callUnary(client, Health.method.check, {}))).toMatchObject({
      code: status.UNAVAILABLE,
    })
    client.close()
  })
})
