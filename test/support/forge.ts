import type { DescService } from '@bufbuild/protobuf'
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect'
import { afterAll, expect } from 'vitest'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { repositoryPath } from '../../src/platform/git/repositories/repositories.ts'
import { type GitClient, openGitClient } from './git-client.ts'
import { type RestAnswer, restAt, type SendRest } from './rest.ts'
import {
  type Actor,
  createTestUsers,
  startTestServer,
  type TestServer,
  type TestServerOptions,
  type TestUsers,
  transportTo,
} from './server.ts'

/** Where stories about the forge happen: a server, who appears in them, and what they ask by. */
export interface Forge {
  readonly server: TestServer
  readonly users: TestUsers
  /** The git of bob. */
  readonly client: GitClient
  readonly rest: SendRest
  readonly ask: AskRest
  /** A service by gRPC, as somebody or as nobody. */
  grpc<Service extends DescService>(
    service: Service,
    who?: Pick<Actor, 'authorization'>,
  ): Client<Service>
  /** Makes sure that what is in the repositories is whole. */
  checkObjects(): Promise<void>
  stop(): Promise<void>
}

/** A request over REST that has to succeed; returns its answer. */
export type AskRest = (...request: Parameters<SendRest>) => Promise<RestAnswer['body']>

/**
 * Starts a forge for all tests of a file, and stops it after them. A test file calls the function
 * at its top level.
 */
export async function openForge(options: TestServerOptions = {}): Promise<Forge> {
  const forge = await startForge(options)
  afterAll(forge.stop)
  return forge
}

/** Starts a server with the test users. The caller stops it. */
export async function startForge(options: TestServerOptions = {}): Promise<Forge> {
  const server = await startTestServer(options)
  const users = await createTestUsers(server.url)
  const client = await openGitClient()
  const rest = restAt(server.url)
  let stopped: Promise<void> | undefined
  const stop = async () => {
    await server.stop()
    await client.remove()
  }
  return {
    server,
    users,
    client,
    rest,
    ask: askBy(rest),
    grpc: (service, who) =>
      createClient(service, transportTo(server.url, 'gRPC', who?.authorization)),
    async checkObjects() {
      for (const { id } of await server.app.db.selectFrom('repositories').select('id').execute()) {
        await client.git(
          '.',
          '-C',
          repositoryPath(server.app.git, id),
          'fsck',
          '--full',
          '--strict',
          '--no-dangling',
        )
      }
    },
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

/** Requests that have to succeed. */
export function askBy(rest: SendRest): AskRest {
  return async (who, method, path, body) => {
    const { status, body: answer } = await rest(who, method, path, body)
    expect(status, `${method} ${path}: ${answer.message}`).toBeLessThan(300)
    return answer
  }
}

/** What an RPC that fails is refused with. */
export async function refusalOf(made: Promise<unknown>) {
  const error = ConnectError.from(
    await made.then(
      () => expect.fail('was not refused'),
      (thrown: unknown) => thrown,
    ),
  )
  const [info] = error.findDetails(ErrorInfoSchema)
  return {
    code: Code[error.code],
    message: error.rawMessage,
    reason: info?.reason,
    metadata: info?.metadata,
  }
}
