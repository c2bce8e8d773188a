import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { execFileSync } from '../support/programs.ts'
import {
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestUsers,
} from '../support/server.ts'
import { type SelfSigned, selfSigned } from './certificate.ts'
import { run } from './program.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLIENT = join(import.meta.dirname, 'python/client.py')

/** Debian's own: the packages of apt-get are seen by no other Python. */
const PYTHON = '/usr/bin/python3'

const here = spawnSync(PYTHON, ['-c', 'import grpc, google.protobuf']).status === 0
const suite = (name: string) => (here ? name : `${name} (skipped: python3-grpcio is not installed)`)

interface Call {
  readonly method: string
  readonly request: unknown
  readonly metadata: Readonly<Record<string, string>>
}

describe.skipIf(!here)(suite('the gRPC library of Python'), () => {
  let folder: string
  let descriptors: string
  let server: TestServer
  let users: TestUsers

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'branchline-python-'))
    descriptors = join(folder, 'descriptors.binpb')
    const buf = join(ROOT, 'node_modules/.bin/buf')
    const paths = [
      'proto/branchline',
      'node_modules/google-proto-files/google/rpc/status.proto',
    ].flatMap((path) => ['--path', path])
    const details = ['--path', 'node_modules/google-proto-files/google/rpc/error_details.proto']
    execFileSync(
      buf,
      ['build', '--as-file-descriptor-set', ...paths, ...details, '--output', descriptors],
      {
        cwd: ROOT,
      },
    )
    server = await startTestServer()
    users = await createTestUsers(server.url)
  })
  afterAll(async () => {
    await server.stop()
    await rm(folder, { recursive: true })
  })

  const python = async (
    url: string,
    calls: readonly Call[],
    ...certificate: string[]
  ): Promise<unknown> => {
    const { code, stdout, stderr } = await run(
      PYTHON,
      [CLIENT, new URL(url).host, descriptors, ...certificate],
      JSON.stringify(calls),
    )
    if (code !== 0) throw new Error(stderr)
    return JSON.parse(stdout.toString())
  }
  const call = (method: string, request: unknown, authorization?: string): Call => ({
    method: `branchline.v1.${method}`,
    request,
    metadata: authorization === undefined ? {} : { authorization },
  })

  it('creates, reads and changes an account, and reads why a call failed', async () => {
    const { authorization } = users.ada
    const outcomes = await python(server.url, [
      call(
        'UserService/CreateUser',
        { user: { username: 'Eve', password: 'correct horse' }, userId: 'eve-1' },
        authorization,
      ),
      call(
        'UserService/UpdateUser',
        { user: { name: 'users/eve-1', displayName: 'Ève ✓' }, updateMask: 'displayName' },
        authorization,
      ),
      call('UserService/GetUser', { name: 'users/eve-1' }),
      call('AuthService/GetCurrentUser', {}, authorization),
      call('UserService/GetUser', { name: 'users/nobody' }),
      call(
        'UserService/CreateUser',
        { user: { username: 'a b', password: 'correct horse' } },
        authorization,
      ),
    ])
    expect(outcomes).toMatchObject([
      { message: { name: 'users/eve-1', role: 'USER' } },
      { message: { displayName: 'Ève ✓' } },
      {
        message: {
          name: 'users/eve-1',
          username: 'Eve',
          displayName: 'Ève ✓',
          createTime: expect.any(String),
        },
      },
      { message: { user: { name: 'users/ada', role: 'ADMIN' } } },
      {
        code: 'NOT_FOUND',
        text: 'users/nobody does not exist',
        details: [
          { reason: 'USER_NOT_FOUND', domain: 'branchline', metadata: { name: 'users/nobody' } },
        ],
      },
      {
        code: 'INVALID_ARGUMENT',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'INVALID_USERNAME' },
          {
            '@type': 'type.googleapis.com/google.rpc.BadRequest',
            fieldViolations: [{ field: 'user.username' }],
          },
        ],
      },
    ])
  })

  describe('over TLS', () => {
    let certificate: SelfSigned
    let secure: TestServer
    beforeAll(async () => {
      certificate = selfSigned()
      secure = await startTestServer({ tls: certificate })
    })
    afterAll(async () => {
      await secure.stop()
      certificate.remove()
    })

    it('agrees on HTTP/2 and calls', async () => {
      const calls = [call('UserService/GetUser', { name: 'users/nobody' })]
      expect(await python(secure.url, calls, certificate.certFile)).toMatchObject([
        { code: 'NOT_FOUND' },
      ])
    })
  })
})
