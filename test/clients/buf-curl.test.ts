import { join } from 'node:path'
import { fromBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { type Ended, run } from './program.ts'

const ROOT = join(import.meta.dirname, '../..')
const BUF = join(ROOT, 'node_modules/.bin/buf')

/**
 * Not found and permission denied: a failed RPC is the exit code, shifted left by three bits (buf
 * curl --help).
 */
const EXIT = { notFound: 5 << 3, permissionDenied: 7 << 3 }

const PROTOCOLS = [
  ['gRPC', ['--protocol', 'grpc', '--http2-prior-knowledge']],
  ['gRPC-Web', ['--protocol', 'grpcweb']],
  ['Connect', ['--protocol', 'connect']],
] as const

/** The schema is from the server itself, or from the proto files of the project, by one protocol. */
const CASES = [
  ...PROTOCOLS.map(([protocol, options]) => ({ protocol, schema: 'reflection', options })),
  { protocol: 'Connect', schema: 'proto files', options: ['--schema', ROOT] },
]

/** What buf prints about a failed RPC: the JSON of Connect, whatever the protocol. */
interface ErrorOutput {
  readonly code: string
  readonly message: string
  readonly details: readonly { readonly type: string; readonly value: string }[]
}

describe('buf curl', () => {
  let server: TestServer
  let users: TestUsers
  beforeAll(async () => {
    server = await startTestServer()
    users = await createTestUsers(server.url)
  })
  afterAll(() => server.stop())

  const call = async (
    options: readonly string[],
    method: string,
    request: unknown,
  ): Promise<Ended> =>
    run(BUF, [
      'curl',
      ...options,
      '--data',
      JSON.stringify(request),
      `${server.url}/branchline.v1.${method}`,
    ])

  it.each(CASES)('calls over $protocol with the schema from $schema', async ({ options }) => {
    const { code, stdout, stderr } = await call(options, 'UserService/GetUser', {
      name: 'users/bob',
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout.toString())).toMatchObject({ name: 'users/bob', role: 'USER' })
  })

  it.each(CASES)(
    'shows who it is over $protocol with the schema from $schema',
    async ({ options }) => {
      const authorize = ['--header', `authorization: ${users.bob.authorization}`]
      const { stdout } = await call([...options, ...authorize], 'AuthService/GetCurrentUser', {})
      expect(JSON.parse(stdout.toString())).toMatchObject({ user: { email: 'bob@example.org' } })
    },
  )

  it.each(CASES)(
    'shows why a call failed over $protocol with the schema from $schema',
    async ({ options }) => {
      const ended = await call(options, 'UserService/GetUser', { name: 'users/nobody' })
      expect(ended.code).toBe(EXIT.notFound)
      const { code, message, details } = JSON.parse(ended.stderr) as ErrorOutput
      expect({ code, message }).toEqual({
        code: 'not_found',
        message: 'users/nobody does not exist',
      })
      const info = details.find(({ type }) => type === 'google.rpc.ErrorInfo')
      const decoded = fromBinary(ErrorInfoSchema, Buffer.from(info?.value ?? '', 'base64'))
      expect(decoded).toMatchObject({
        reason: 'USER_NOT_FOUND',
        domain: 'branchline',
        metadata: { name: 'users/nobody' },
      })
    },
  )

  it('is told that bob is no administrator', async () => {
    const authorize = ['--header', `authorization: ${users.bob.authorization}`]
    const { code } = await call(authorize, 'UserService/ListUsers', {})
    expect(code).toBe(EXIT.permissionDenied)
  })

  it('lists the services and methods that reflection tells', async () => {
    const { stdout } = await run(BUF, ['curl', '--list-methods', server.url])
    const methods = stdout.toString().trim().split('\n')
    expect(methods).toContain('branchline.v1.UserService/GetUser')
    expect(methods).toContain('branchline.v1.AuthService/SignIn')
    expect(methods).toContain('grpc.health.v1.Health/Check')
  })
})
