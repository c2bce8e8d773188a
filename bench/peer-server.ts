import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import type { ConnectRouter } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { type User, User_Role, UserSchema } from '#gen/branchline/v1/user_pb.ts'
import {
  type GetUserRequest,
  GetUserRequestSchema,
  UserService,
} from '#gen/branchline/v1/user_service_pb.ts'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/health/v1/health_pb.ts'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import { createRpc } from '../src/platform/rpc/index.ts'
import { SELECT_USER, type UserRow } from './user-row.ts'

/**
 * Peers: servers of other libraries with the same row, and servers of a stream.
 *
 * Arguments: the kind of the server, the database file, and the base of links.
 */
const [kind = '', database = '', base = ''] = process.argv.slice(2)
const sqlite = new Sqlite(database, { readonly: true })

/** Number of messages in a stream. */
const STREAM_MESSAGES = 1000

const readUser = sqlite.prepare<[string], UserRow>(`${SELECT_USER} where name_key = ?`)

function getUser({ name }: Pick<GetUserRequest, 'name'>): User {
  const row = readUser.get(name.slice('users/'.length).toLowerCase())
  if (row === undefined) throw new Error('no such account')
  const createTime = { seconds: BigInt(row.create_time) }
  return create(UserSchema, {
    name: `users/${row.name}`,
    role: User_Role[row.role],
    username: row.username,
    displayName: row.display_name,
    avatarUrl: row.avatar_url,
    description: row.description,
    state: State[row.state],
    createTime,
    updateTime: { seconds: BigInt(row.update_time) },
    id: row.id,
    login: row.username,
    fullName: row.display_name,
    htmlUrl: `${base}/${row.username}`,
    created: createTime,
  })
}

function register(router: ConnectRouter): void {
  router.rpc(UserService.method.getUser, getUser)
  router.rpc(Health.method.watch, async function* () {
    for (let i = 0; i < STREAM_MESSAGES; i++) yield { status: Status.SERVING }
  })
}

function grpcJsServer(): void {
  const server = new Server()
  server.register(
    '/branchline.v1.UserService/GetUser',
    (call: ServerUnaryCall<GetUserRequest, User>, callback: sendUnaryData<User>) =>
      callback(null, getUser(call.request)),
    (user: User) => Buffer.from(toBinary(UserSchema, user)),
    (bytes: Buffer) => fromBinary(GetUserRequestSchema, bytes),
    'unary',
  )
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, port) => announce(port))
}

function announce(port: number): void {
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`)
}

function listen(server: http.Server | http2.Http2Server): void {
  server.listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port))
}

const rpc = createRpc()
register(rpc.router)
const stock = connectNodeAdapter({ routes: register })
const kinds: Readonly<Record<string, () => void>> = {
  'grpc-js': grpcJsServer,
  'connect-node http': () => listen(http.createServer(stock)),
  'connect-node http2': () => listen(http2.createServer(stock)),
  'rpc http2': () => listen(http2.createServer(rpc.handlers().all)),
}
kinds[kind]?.()
