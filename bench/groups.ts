import assert from 'node:assert/strict'
import { create, equals, fromBinary, fromJson, toBinary } from '@bufbuild/protobuf'
import { type User, UserSchema } from '#gen/branchline/v1/user_pb.ts'
import {
  BatchGetUsersRequestSchema,
  BatchGetUsersResponseSchema,
  GetUserRequestSchema,
} from '#gen/branchline/v1/user_service_pb.ts'
import { type Credentials, signInBody, usernameOf } from './accounts.ts'
import { http1 } from './http1-load.ts'
import { http2Frames } from './http2-load.ts'
import type { Case, Group } from './measure.ts'
import { besideOneAccount, memoLists, statistics } from './memos.ts'
import type { ServerProcess } from './processes.ts'
import { type Answer, envelope, get, post, postJson, unwrapEnvelopes } from './requests.ts'

/** The measured servers. All except `few` have the same database. */
export interface Servers {
  readonly http: ServerProcess
  readonly http2: ServerProcess
  readonly branchline: ServerProcess
  readonly credentials: Credentials
  /** A Branchline with ten accounts. */
  readonly few: ServerProcess
  readonly credentialsOfFew: Credentials
  /** A page token of `branchline`, deep in its list of accounts. */
  readonly deepPageToken: string
  /** A page token of `few`, after its first five accounts. */
  readonly fewPageToken: string
}

/**
 * Enough to keep the server busy while responses are in transit, and few enough for a meaningful
 * latency.
 */
const IN_FLIGHT = 32

/** Number of accounts that the requests alternate between. */
const USERS_ASKED_FOR = 100

const GET_USER = '/branchline.v1.UserService/GetUser'
const BATCH_GET_USERS = '/branchline.v1.UserService/BatchGetUsers'

const usernames = Array.from({ length: USERS_ASKED_FOR }, (_, i) => usernameOf(i))
const names = usernames.map((username) => `users/${username}`)

/**
 * Returns all groups of requests. `expectedUser` and `expectedBatch` are the responses of the bare
 * server.
 */
export function groupsOf(servers: Servers, expectedUser: string, expectedBatch: string): Group[] {
  return [
    protocols(servers, expectedUser),
    batches(servers, expectedBatch),
    credentials(servers, expectedUser),
    lists(servers),
    besideOneAccount(servers),
    memoLists(servers),
    statistics(servers),
    signIns(servers),
  ]
}

/** The request for one account, which the bare servers and REST answer with the same bytes. */
export const restGetUser = names.map((name) => get(`/api/v1/${name}`))

/**
 * The request for a hundred accounts, which the bare servers and REST answer with the same bytes.
 */
export const restBatchGetUsers = [postJson('/api/v1/users:batchGet', { usernames })]

function protocols({ http, http2, branchline }: Servers, expected: string): Group {
  const user = fromJson(UserSchema, JSON.parse(expected))
  const getUser = names.map((name) =>
    toBinary(GetUserRequestSchema, create(GetUserRequestSchema, { name })),
  )
  const connect = { 'connect-protocol-version': '1' }
  const binary = { ...connect, 'content-type': 'application/proto' }
  const grpcWeb = { 'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1' }
  const onHttp1 = { client: http1, server: branchline, baseline: 'node:http' }
  const onHttp2 = { client: http2Frames, server: branchline, baseline: 'node:http2' }
  const checkText = isText(expected)
  return {
    name: 'protocols',
    title: 'GetUser',
    rounds: 5,
    durationMs: 800,
    inFlight: IN_FLIGHT,
    cases: [
      { name: 'node:http', client: http1, server: http, requests: restGetUser, check: checkText },
      { ...onHttp1, name: 'REST', requests: restGetUser, check: checkText },
      {
        ...onHttp1,
        name: 'Connect JSON',
        requests: names.map((name) => postJson(GET_USER, { name }, connect)),
        check: ({ body }) => checkUser(user, fromJson(UserSchema, JSON.parse(body.toString()))),
      },
      {
        ...onHttp1,
        name: 'Connect binary',
        requests: getUser.map((message) => post(GET_USER, binary, message)),
        check: ({ body }) => checkUser(user, fromBinary(UserSchema, body)),
      },
      {
        ...onHttp1,
        name: 'Connect GET',
        requests: names.map((name) =>
          get(
            `${GET_USER}?connect=v1&encoding=json&message=${encodeURIComponent(JSON.stringify({ name }))}`,
          ),
        ),
        check: ({ body }) => checkUser(user, fromJson(UserSchema, JSON.parse(body.toString()))),
      },
      {
        ...onHttp1,
        name: 'gRPC-Web',
        requests: getUser.map((message) => post(GET_USER, grpcWeb, envelope(message))),
        check: (answer) => checkUser(user, fromBinary(UserSchema, grpcWebMessage(answer))),
      },
      {
        name: 'node:http2',
        client: http2Frames,
        server: http2,
        requests: restGetUser,
        check: checkText,
      },
      { ...onHttp2, name: 'REST over HTTP/2', requests: restGetUser, check: checkText },
      {
        ...onHttp2,
        name: 'Connect over HTTP/2',
        requests: getUser.map((message) => post(GET_USER, binary, message)),
        check: ({ body }) => checkUser(user, fromBinary(UserSchema, body)),
      },
      {
        ...onHttp2,
        name: 'gRPC',
        requests: getUser.map((message) => post(GET_USER, GRPC_HEADERS, envelope(message))),
        check: (answer) => checkUser(user, fromBinary(UserSchema, grpcMessage(answer))),
      },
    ],
  }
}

function batches({ http, http2, branchline }: Servers, expected: string): Group {
  const response = fromJson(BatchGetUsersResponseSchema, JSON.parse(expected))
  const request = toBinary(
    BatchGetUsersRequestSchema,
    create(BatchGetUsersRequestSchema, { usernames }),
  )
  const check = isText(expected)
  return {
    name: 'batches',
    title: 'BatchGetUsers of 100',
    rounds: 3,
    durationMs: 600,
    inFlight: IN_FLIGHT,
    cases: [
      { name: 'node:http', client: http1, server: http, requests: restBatchGetUsers, check },
      {
        name: 'REST',
        client: http1,
        server: branchline,
        requests: restBatchGetUsers,
        baseline: 'node:http',
        check,
      },
      {
        name: 'node:http2',
        client: http2Frames,
        server: http2,
        requests: restBatchGetUsers,
        check,
      },
      {
        name: 'gRPC',
        client: http2Frames,
        server: branchline,
        requests: [post(BATCH_GET_USERS, GRPC_HEADERS, envelope(request))],
        baseline: 'node:http2',
        check: (answer) => {
          const received = fromBinary(BatchGetUsersResponseSchema, grpcMessage(answer))
          assert.ok(equals(BatchGetUsersResponseSchema, response, received))
        },
      },
    ],
  }
}

function credentials({ branchline, credentials }: Servers, expected: string): Group {
  const common = { client: http1, server: branchline, check: isText(expected) }
  const withToken = (token: string) => names.map((name) => get(`/api/v1/${name}`, token))
  return {
    name: 'credentials',
    title: 'GetUser over REST, by credential',
    rounds: 3,
    durationMs: 500,
    inFlight: IN_FLIGHT,
    cases: [
      { ...common, name: 'none', requests: restGetUser },
      {
        ...common,
        name: 'access token',
        requests: withToken(credentials.accessToken),
        baseline: 'none',
      },
      {
        ...common,
        name: 'personal access token',
        requests: withToken(credentials.personalAccessToken),
        baseline: 'none',
      },
    ],
  }
}

function lists(servers: Servers): Group {
  const { branchline, few, deepPageToken, fewPageToken } = servers
  const page = (server: ServerProcess, name: string, pageSize: number, pageToken: string): Case => {
    const { personalAccessToken } = server === few ? servers.credentialsOfFew : servers.credentials
    const query = new URLSearchParams({ pageSize: String(pageSize), pageToken })
    return {
      name,
      client: http1,
      server,
      requests: [get(`/api/v1/users?${query}`, personalAccessToken)],
      check: ({ status, body }) => {
        assert.equal(status, 200)
        assert.equal(JSON.parse(body.toString()).users.length, pageSize)
      },
    }
  }
  return {
    name: 'lists',
    title: 'ListUsers over REST',
    rounds: 3,
    durationMs: 400,
    inFlight: IN_FLIGHT,
    cases: [
      page(few, '10 accounts, first 5', 5, ''),
      { ...page(branchline, '100,000 accounts, first 5', 5, ''), baseline: '10 accounts, first 5' },
      page(few, '10 accounts, last 5', 5, fewPageToken),
      {
        ...page(branchline, '100,000 accounts, 5 after 90,000', 5, deepPageToken),
        baseline: '10 accounts, last 5',
      },
      page(branchline, '100,000 accounts, first 50', 50, ''),
      {
        ...page(branchline, '100,000 accounts, 50 after 90,000', 50, deepPageToken),
        baseline: '100,000 accounts, first 50',
      },
    ],
  }
}

function signIns({ branchline }: Servers): Group {
  const requests = [postJson('/api/v1/auth/signin', signInBody)]
  const check = ({ status }: Answer) => assert.equal(status, 200)
  return {
    name: 'sign-ins',
    title: 'SignIn over REST',
    rounds: 2,
    durationMs: 1000,
    // The limit on guesses counts undecided ones, and would refuse more concurrent sign-ins of one
    // account.
    inFlight: 4,
    cases: [{ name: 'password', client: http1, server: branchline, requests, check }],
  }
}

const GRPC_HEADERS = { 'content-type': 'application/grpc+proto', te: 'trailers' }

/** Returns a check that a response is a text, byte by byte. */
function isText(text: string): Case['check'] {
  return ({ status, body }) => {
    assert.equal(status, 200)
    assert.equal(body.toString(), text)
  }
}

function checkUser(expected: User, received: User): void {
  assert.ok(equals(UserSchema, expected, received))
}

function grpcMessage({ body, trailers }: Answer): Buffer {
  assert.equal(trailers['grpc-status'], '0')
  return messageOf(body)
}

/** The trailers of gRPC-Web are an envelope with the highest bit of its flags set. */
function grpcWebMessage({ body }: Answer): Buffer {
  const trailer = unwrapEnvelopes(body).find(({ flags }) => flags === 0x80)
  assert.match(trailer?.message.toString() ?? '', /^grpc-status: *0\r?$/m)
  return messageOf(body)
}

function messageOf(body: Buffer): Buffer {
  const [first] = unwrapEnvelopes(body)
  assert.ok(first)
  return first.message
}
