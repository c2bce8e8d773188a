import { rm } from 'node:fs/promises'
import { BlockList } from 'node:net'
import { createClient, type Interceptor, type Transport } from '@connectrpc/connect'
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { Config } from '../../src/app/config.ts'
import { createLogTo } from '../../src/app/log.ts'
import type { SpaceReading } from '../../src/app/server/disk-space.ts'
import { type Server, startServer } from '../../src/app/server/server.ts'
import { createPasswordHasher } from '../../src/forge/accounts/credentials/passwords.ts'
import type { Clock } from '../../src/forge/core/core.ts'
import { parseAllowedHosts } from '../../src/platform/outbound/allowed-hosts.ts'
import { CHEAP_HASHES, NO_QUOTAS } from './app.ts'
import { createDataFolder, databaseOf, dropDatabaseOf } from './database.ts'
import { declaredFailuresOnly } from './declared-failures.ts'
import { workerSpawner } from './process.ts'
import { noteRunning } from './running-servers.ts'

/** The bundles of the programs for SSH and for Markdown, which `npm run setup` makes. */
const SSH_PROGRAM = new URL('../../dist/ssh-program.js', import.meta.url).pathname
const MARKUP_PROGRAM = new URL('../../dist/markup-program.js', import.meta.url).pathname

/** A server on a data folder of its own, and what it logged. */
export interface TestServer extends Server {
  readonly data: string
  /** Log lines so far, parsed. */
  readonly logged: readonly Record<string, unknown>[]
  /** Stops the server and removes the data folder. */
  stop(): Promise<void>
}

/** Settings for tests; each test says what it needs otherwise. */
export interface TestServerOptions extends Partial<Omit<Config, 'settings'>> {
  readonly settings?: Partial<Config['settings']>
  readonly clock?: Clock
  readonly spaceReading?: SpaceReading
}

/**
 * Starts the real server on a free port and a new data folder, or on `options.data`, which then
 * stays.
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { settings, clock, spaceReading, ...config } = options
  const data = config.data ?? (await createDataFolder())
  const lines: string[] = []
  const logged: Record<string, unknown>[] = []
  const log = createLogTo({ write: (line) => lines.push(line) }, 'debug')
  const server = await startServer(
    {
      listen: { host: '127.0.0.1', port: 0 },
      ssh: undefined,
      workers: 1,
      publicUrl: undefined,
      tls: undefined,
      mailDir: undefined,
      mailSmtp: undefined,
      proxyAuth: undefined,
      trustedProxies: new BlockList(),
      limitLoopback: false,
      webhookAllowedHosts: parseAllowedHosts(''),
      corsOrigins: [],
      maxMessageBytes: 4 * 1024 * 1024,
      gitMemoryBytes: 2 * 1024 ** 3,
      diskReserveBytes: undefined,
      stopDelayMs: 0,
      reflection: true,
      webFolder: undefined,
      logLevel: 'debug',
      database: await databaseOf(data),
      ...config,
      data,
      settings: {
        registration: 'closed',
        passwordSignIn: true,
        basicPassword: true,
        minPasswordLength: 8,
        privateInstance: false,
        usernameChange: true,
        displayNameChange: true,
        statsBy: 'create',
        memoContentBytes: 8192,
        maxPushBytes: 64 * 1024 * 1024,
        maxAssetBytes: 64 * 1024 * 1024,
        maxAttachmentBytes: 1024 * 1024,
        attachmentTypes: ['*/*'],
        webhookRetryScheduleMs: [],
        mailFrom: undefined,
        defaultMergeStyle: 'merge',
        signing: true,
        wipPrefixes: ['WIP:', '[WIP]'],
        diffMaxLines: 1000,
        diffMaxLineCharacters: 5000,
        issueRate: 0,
        lfs: true,
        codeIndexBytes: 64 * 1024 ** 2,
        maxLfsBytes: 64 * 1024 * 1024,
        lfsLinkExpiryMs: 60 * 60_000,
        lfsPushCheck: true,
        lfsUnreferencedAfterMs: undefined,
        // Off, so that no test counts processes that another one has caused.
        refuseLfsPointers: false,
        maxFileBytes: undefined,
        quotas: NO_QUOTAS,
        maxRepositories: undefined,
        maintenance: false,
        maintenanceWindow: undefined,
        pruneAfterMs: 14 * 24 * 60 * 60_000,
        limboMs: 14 * 24 * 60 * 60_000,
        gitHooks: false,
        hookTimeoutMs: 30_000,
        defaultPageSize: undefined,
        maxPageSize: undefined,
        ...settings,
      },
    },
    log,
    {
      spawner: workerSpawner(),
      passwords: createPasswordHasher(CHEAP_HASHES),
      markupProgram: MARKUP_PROGRAM,
      sshProgram: SSH_PROGRAM,
      ...(clock && { clock }),
      ...(spaceReading && { spaceReading }),
    },
  )
  const close = async (graceMs: number) => {
    await server.close(graceMs)
    noteEnd()
  }
  const noteEnd = noteRunning(() => server.close(0))
  return {
    ...server,
    data,
    // Few tests look at the log.
    get logged() {
      for (const line of lines.splice(0)) logged.push(JSON.parse(line))
      return logged
    },
    close,
    async stop() {
      await close(0)
      if (config.data !== undefined) return
      await dropDatabaseOf(data)
      await rm(data, { recursive: true })
    },
  }
}

/** Every way to send an RPC with the libraries of the Connect project, by name. */
export const RPC_PROTOCOLS = ['gRPC', 'gRPC-Web', 'Connect JSON', 'Connect binary'] as const
export type RpcProtocol = (typeof RPC_PROTOCOLS)[number]

/** A transport to a server, with an Authorization header if one is given. */
export function transportTo(url: string, protocol: RpcProtocol, authorization?: string): Transport {
  const authorize: Interceptor = (next) => (request) => {
    if (authorization !== undefined) request.header.set('authorization', authorization)
    return next(request)
  }
  const common = { baseUrl: url, interceptors: [authorize, declaredFailuresOnly] }
  switch (protocol) {
    case 'gRPC':
      return createGrpcTransport(common)
    case 'gRPC-Web':
      return createGrpcWebTransport({ ...common, httpVersion: '1.1' })
    case 'Connect JSON':
      return createConnectTransport({ ...common, httpVersion: '1.1' })
    case 'Connect binary':
      return createConnectTransport({ ...common, httpVersion: '2', useBinaryFormat: true })
  }
}

/** The password of everybody in the users. */
export const PASSWORD = 'correct horse battery'

/** Someone with an account. */
export interface Actor {
  readonly username: string
  /** Value of the Authorization header of a session. */
  readonly authorization: string
}

/**
 * Who appears in the tests: ada administers, bob and carol are users, and dan's account is
 * archived.
 */
export interface TestUsers {
  readonly ada: Actor
  readonly bob: Actor
  readonly carol: Actor
}

/** Makes the users through the public API. */
export async function createTestUsers(url: string): Promise<TestUsers> {
  const anonymous = createClient(UserService, transportTo(url, 'Connect JSON'))
  await anonymous.createUser({
    user: { username: 'ada', password: PASSWORD, email: 'ada@example.org' },
  })
  const ada = await signIn(url, 'ada')
  const asAda = createClient(UserService, transportTo(url, 'Connect JSON', ada.authorization))
  for (const username of ['bob', 'carol', 'dan']) {
    const user = {
      username,
      password: PASSWORD,
      email: `${username}@example.org`,
      role: User_Role.USER,
    }
    await asAda.createUser({ user })
  }
  const [bob, carol] = [await signIn(url, 'bob'), await signIn(url, 'carol')]
  await asAda.updateUser({
    user: { name: 'users/dan', state: 2 },
    updateMask: { paths: ['state'] },
  })
  return { ada, bob, carol }
}

/** Signs in by password. */
export async function signIn(
  url: string,
  username: string,
  password: string = PASSWORD,
): Promise<Actor> {
  const client = createClient(AuthService, transportTo(url, 'Connect JSON'))
  const { accessToken } = await client.signIn({
    credentials: { case: 'passwordCredentials', value: { username, password } },
  })
  return { username, authorization: `Bearer ${accessToken}` }
}

/** Makes a personal access token and returns its text. */
export async function createToken(url: string, owner: Actor, scopes: string[]): Promise<string> {
  const client = createClient(UserService, transportTo(url, 'Connect JSON', owner.authorization))
  const { token } = await client.createPersonalAccessToken({
    parent: `users/${owner.username}`,
    scopes,
  })
  return token
}
