import assert from 'node:assert/strict'
import { join } from 'node:path'
import { create, equals, fromBinary, fromJson, toBinary } from '@bufbuild/protobuf'
import { type User, UserSchema } from '#gen/branchline/v1/user_pb.ts'
import { GetUserRequestSchema } from '#gen/branchline/v1/user_service_pb.ts'
import { usernameOf } from './accounts.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import { http2Frames } from './http2-load.ts'
import type { Case, Group } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { type Answer, envelope, post, unwrapEnvelopes } from './requests.ts'

const GET_USER = '/branchline.v1.UserService/GetUser'
const WATCH = '/grpc.health.v1.Health/Watch'
const GRPC = { 'content-type': 'application/grpc+proto', te: 'trailers' }
const CONNECT = { 'content-type': 'application/proto', 'connect-protocol-version': '1' }

/** Messages of the measured stream (bench/peer-server.ts). */
const STREAM_MESSAGES = 1000

/** The bare server and the peers, which the caller starts. */
export interface Peers {
  readonly grpcJs: ServerProcess
  readonly connectNode: ServerProcess
  readonly connectNodeHttp2: ServerProcess
  /** The RPC module alone, behind the HTTP/2 server of Node. */
  readonly rpc: ServerProcess
  /** Undefined where Go is not installed. */
  readonly connectGo: ServerProcess | undefined
}

/**
 * GetUser by servers of other libraries. Those for Node read the same row. The one of connect-go
 * returns a fixed message.
 *
 * @param expected the account in JSON.
 */
export function peerCalls({ branchline }: Servers, peers: Peers, expected: string): Group {
  const user = fromJson(UserSchema, JSON.parse(expected))
  const messages = Array.from({ length: 100 }, (_, i) =>
    toBinary(
      GetUserRequestSchema,
      create(GetUserRequestSchema, { name: `users/${usernameOf(i)}` }),
    ),
  )
  const grpc = {
    client: http2Frames,
    requests: messages.map((message) => post(GET_USER, GRPC, envelope(message))),
    check: (answer: Answer) => checkUser(user, fromBinary(UserSchema, grpcMessage(answer))),
  }
  const connect = {
    client: http1,
    requests: messages.map((message) => post(GET_USER, CONNECT, message)),
    check: ({ body }: Answer) => checkUser(user, fromBinary(UserSchema, body)),
  }
  const isAnswered = ({ status }: Answer) => assert.equal(status, 200)
  const beside = (
    call: typeof grpc | typeof connect,
    name: string,
    peer: ServerProcess,
  ): Case[] => [
    { ...call, name, server: peer },
    { ...call, name: `Branchline beside ${name}`, server: branchline, baseline: name },
  ]
  const go = peers.connectGo
  const fixed = (call: typeof grpc | typeof connect, name: string): Case[] => {
    if (!go) return []
    const [peer, ours] = beside(call, name, go)
    return peer && ours ? [{ ...peer, check: isAnswered }, ours] : []
  }
  return {
    name: 'peers',
    title: 'GetUser, by library',
    rounds: 5,
    durationMs: 600,
    inFlight: 32,
    cases: [
      ...beside(grpc, 'grpc-js, gRPC', peers.grpcJs),
      ...beside(grpc, 'connect-node, gRPC', peers.connectNodeHttp2),
      ...beside(connect, 'connect-node, Connect', peers.connectNode),
      ...fixed(grpc, 'connect-go, gRPC'),
      ...fixed(connect, 'connect-go, Connect'),
    ],
  }
}

/** A stream of small messages, by the RPC module alone and by connect-node. */
export function peerStreams({ rpc, connectNodeHttp2 }: Peers): Group {
  const call = {
    client: http2Frames,
    requests: [post(WATCH, GRPC, envelope(new Uint8Array()))],
    check: ({ body, trailers }: Answer) => {
      assert.equal(trailers['grpc-status'], '0')
      assert.equal(unwrapEnvelopes(body).length, STREAM_MESSAGES)
    },
  }
  return {
    name: 'streams',
    title: `A stream of ${STREAM_MESSAGES} small messages over gRPC`,
    rounds: 3,
    durationMs: 800,
    inFlight: 8,
    cases: [
      { ...call, name: 'connect-node', server: connectNodeHttp2 },
      { ...call, name: 'RPC module', server: rpc, baseline: 'connect-node' },
    ],
  }
}

/** Returns the path of the program of connect-go, which scripts/bench.mjs builds. */
export function connectGoProgram(scriptFolder: string): string {
  return join(scriptFolder, 'connect-go')
}

function checkUser(expected: User, received: User): void {
  assert.ok(equals(UserSchema, expected, received))
}

function grpcMessage({ body, trailers }: Answer): Buffer {
  assert.equal(trailers['grpc-status'], '0')
  const [first] = unwrapEnvelopes(body)
  assert.ok(first)
  return first.message
}
