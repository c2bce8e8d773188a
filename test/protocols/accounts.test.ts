import { type DescMethod, fromJson, type JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { UserSchema } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { authorizationsOf } from '../support/authorizations.ts'
import { createTestUsers, PASSWORD, startTestServer, type TestServer } from '../support/server.ts'
import { type Call, call, invoke, type Outcome, PROTOCOLS } from './invoke.ts'

const { method } = UserService
const auth = AuthService.method

/** Who calls: somebody of the users by session, by token, or nobody. */
type As =
  | 'nobody'
  | 'ada'
  | 'bob'
  | 'bob: read:user'
  | 'bob: public-only'
  | 'bob: read:notification'
  | 'ada: write:user'
  | 'garbage'

interface Case {
  readonly name: string
  readonly as: As
  readonly call: Call
  /** What the answer holds, or how the call is refused. */
  readonly want:
    | { readonly message: JsonObject }
    | { readonly code: string; readonly reason: string }
}

const getUser = (user: string) =>
  call(method.getUser, { name: `users/${user}` }, `GET /api/v1/users/${user}`)
const patch = (user: string, fields: Record<string, string>, paths: string[]) =>
  call(
    method.updateUser,
    { user: fromJson(UserSchema, { name: `users/${user}`, ...fields }), updateMask: { paths } },
    `PATCH /api/v1/users/${user}?updateMask=${paths.join(',')}`,
    fields,
  )
const create = (user: Record<string, string>, userId = '') =>
  call(method.createUser, { user, userId }, `POST /api/v1/users?userId=${userId}`, user)
const remove = (user: string) =>
  call(method.deleteUser, { name: `users/${user}` }, `DELETE /api/v1/users/${user}`)
const list = (
  query: { pageSize?: number; pageToken?: string; filter?: string; showDeleted?: boolean } = {},
) => {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return call(method.listUsers, query, `GET /api/v1/users?${text}`)
}
const batch = (usernames: string[]) =>
  call(method.batchGetUsers, { usernames }, 'POST /api/v1/users:batchGet', { usernames })
const tokens = (user: string) =>
  call(
    method.listPersonalAccessTokens,
    { parent: `users/${user}` },
    `GET /api/v1/users/${user}/personalAccessTokens`,
  )
const mint = (user: string, scopes: string[], expiresInDays = 0) =>
  call(
    method.createPersonalAccessToken,
    { parent: `users/${user}`, scopes, expiresInDays },
    `POST /api/v1/users/${user}/personalAccessTokens`,
    { scopes, expiresInDays },
  )

const refused = (code: string, reason: string) => ({ code, reason })

const CASES: readonly Case[] = [
  // Who sees what
  {
    name: 'anyone sees an account',
    as: 'nobody',
    call: getUser('bob'),
    want: { message: { name: 'users/bob', username: 'bob', role: 'USER', state: 'NORMAL' } },
  },
  {
    name: 'names are found in any case',
    as: 'nobody',
    call: getUser('BOB'),
    want: { message: { name: 'users/bob' } },
  },
  {
    name: 'the owner sees the address',
    as: 'bob',
    call: getUser('bob'),
    want: { message: { email: 'bob@example.org' } },
  },
  {
    name: 'an administrator sees the address',
    as: 'ada',
    call: getUser('bob'),
    want: { message: { email: 'bob@example.org' } },
  },
  {
    name: 'archived accounts are shown',
    as: 'nobody',
    call: getUser('dan'),
    want: { message: { state: 'ARCHIVED' } },
  },
  {
    name: 'an unknown account',
    as: 'nobody',
    call: getUser('nobody'),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  {
    name: 'internal numbers name nobody',
    as: 'nobody',
    call: getUser('1'),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  {
    name: 'an escaped slash in the name',
    as: 'nobody',
    call: call(method.getUser, { name: 'users/a%2Fb' }, 'GET /api/v1/users/a%2Fb'),
    want: refused('InvalidArgument', 'INVALID_NAME'),
  },
  {
    name: 'a read mask',
    as: 'bob',
    call: call(
      method.getUser,
      { name: 'users/bob', readMask: { paths: ['email'] } },
      'GET /api/v1/users/bob?readMask=email',
    ),
    want: { message: { name: 'users/bob', email: 'bob@example.org' } },
  },
  {
    name: 'a read mask with password',
    as: 'bob',
    call: call(
      method.getUser,
      { name: 'users/bob', readMask: { paths: ['password'] } },
      'GET /api/v1/users/bob?readMask=password',
    ),
    want: refused('InvalidArgument', 'UNKNOWN_MASK_PATH'),
  },
  // Credentials
  {
    name: 'credentials that do not verify are not taken for none',
    as: 'garbage',
    call: getUser('bob'),
    want: refused('Unauthenticated', 'BAD_CREDENTIALS'),
  },
  {
    name: 'who am I, without signing in',
    as: 'nobody',
    call: call(auth.getCurrentUser, {}, 'GET /api/v1/auth/me'),
    want: refused('Unauthenticated', 'UNAUTHENTICATED'),
  },
  {
    name: 'who am I',
    as: 'bob',
    call: call(auth.getCurrentUser, {}, 'GET /api/v1/auth/me'),
    want: {
      message: { user: expect.objectContaining({ name: 'users/bob', email: 'bob@example.org' }) },
    },
  },
  {
    name: 'a token with the scope',
    as: 'bob: read:user',
    call: call(auth.getCurrentUser, {}, 'GET /api/v1/auth/me'),
    want: { message: { user: expect.objectContaining({ name: 'users/bob' }) } },
  },
  {
    name: 'a token without the scope',
    as: 'bob: read:notification',
    call: getUser('bob'),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'a wrong password',
    as: 'nobody',
    call: call(
      auth.signIn,
      {
        credentials: {
          case: 'passwordCredentials',
          value: { username: 'bob', password: 'wrong horse' },
        },
      },
      'POST /api/v1/auth/signin',
      { passwordCredentials: { username: 'bob', password: 'wrong horse' } },
    ),
    want: refused('Unauthenticated', 'BAD_CREDENTIALS'),
  },
  {
    name: 'sign-in to an archived account',
    as: 'nobody',
    call: call(
      auth.signIn,
      {
        credentials: {
          case: 'passwordCredentials',
          value: { username: 'dan', password: PASSWORD },
        },
      },
      'POST /api/v1/auth/signin',
      { passwordCredentials: { username: 'dan', password: PASSWORD } },
    ),
    want: refused('PermissionDenied', 'ACCOUNT_ARCHIVED'),
  },
  {
    name: 'sign-in with nothing',
    as: 'nobody',
    call: call(auth.signIn, {}, 'POST /api/v1/auth/signin', {}),
    want: refused('InvalidArgument', 'INVALID_FIELD'),
  },
  {
    name: 'refresh without a cookie',
    as: 'nobody',
    call: call(auth.refreshToken, {}, 'POST /api/v1/auth/refresh', {}),
    want: refused('Unauthenticated', 'UNAUTHENTICATED'),
  },
  // Lists
  {
    name: 'a list is for administrators',
    as: 'bob',
    call: list(),
    want: refused('PermissionDenied', 'PERMISSION_DENIED'),
  },
  {
    name: 'a list is not for strangers',
    as: 'nobody',
    call: list(),
    want: refused('Unauthenticated', 'UNAUTHENTICATED'),
  },
  {
    name: 'an administrator token without the scope',
    as: 'ada: write:user',
    call: list(),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'a filter',
    as: 'ada',
    call: list({ filter: "username == 'BOB'" }),
    want: { message: { users: [expect.objectContaining({ name: 'users/bob' })], totalSize: 1 } },
  },
  {
    name: 'a filter that matches an archived account',
    as: 'ada',
    call: list({ filter: 'username == "dan"' }),
    want: { message: {} },
  },
  {
    name: 'deleted accounts on request',
    as: 'ada',
    call: list({ filter: 'username == "dan"', showDeleted: true }),
    want: { message: { totalSize: 1 } },
  },
  {
    name: 'a bad filter',
    as: 'ada',
    call: list({ filter: 'username != "bob"' }),
    want: refused('InvalidArgument', 'INVALID_FILTER'),
  },
  {
    name: 'a negative page size',
    as: 'ada',
    call: list({ pageSize: -1 }),
    want: refused('InvalidArgument', 'INVALID_PAGE_SIZE'),
  },
  {
    name: 'an absurd page size is coerced',
    as: 'ada',
    call: list({ pageSize: 2 ** 31 - 1, filter: "username=='bob'" }),
    want: { message: { totalSize: 1 } },
  },
  {
    name: 'a page token out of thin air',
    as: 'ada',
    call: list({ pageToken: 'CDIQMg==' }),
    want: refused('InvalidArgument', 'INVALID_PAGE_TOKEN'),
  },
  {
    name: 'a batch, in order of first mention',
    as: 'nobody',
    call: batch(['carol', ' bob', 'nobody', 'dan', '', 'carol']),
    want: {
      message: {
        users: [
          expect.objectContaining({ name: 'users/carol' }),
          expect.objectContaining({ name: 'users/bob' }),
        ],
      },
    },
  },
  { name: 'an empty batch', as: 'nobody', call: batch([]), want: { message: {} } },
  {
    name: 'a batch of too many',
    as: 'nobody',
    call: batch(Array(101).fill('bob')),
    want: refused('InvalidArgument', 'TOO_MANY_NAMES'),
  },
  // Creating
  {
    name: 'registration is closed',
    as: 'nobody',
    call: create({ username: 'eve', password: PASSWORD }),
    want: refused('PermissionDenied', 'REGISTRATION_CLOSED'),
  },
  {
    name: 'an administrator token without the scope creates nobody',
    as: 'ada: write:user',
    call: create({ username: 'eve', password: PASSWORD }),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'a bad username',
    as: 'ada',
    call: create({ username: ' eve', password: PASSWORD }),
    want: refused('InvalidArgument', 'INVALID_USERNAME'),
  },
  {
    name: 'a reserved username',
    as: 'ada',
    call: create({ username: 'me', password: PASSWORD }),
    want: refused('InvalidArgument', 'INVALID_USERNAME'),
  },
  {
    name: 'a bad id',
    as: 'ada',
    call: create({ username: 'eve', password: PASSWORD }, 'Eve'),
    want: refused('InvalidArgument', 'INVALID_USER_ID'),
  },
  {
    name: 'a username that is taken in another case',
    as: 'ada',
    call: create({ username: 'BOB', password: PASSWORD }),
    want: refused('AlreadyExists', 'USERNAME_TAKEN'),
  },
  {
    name: 'an id that is a username',
    as: 'ada',
    call: create({ username: 'eve', password: PASSWORD }, 'bob'),
    want: refused('AlreadyExists', 'USER_ID_TAKEN'),
  },
  {
    name: 'an address that is taken',
    as: 'ada',
    call: create({ username: 'eve', password: PASSWORD, email: 'BOB@example.org' }),
    want: refused('AlreadyExists', 'EMAIL_TAKEN'),
  },
  {
    name: 'no password',
    as: 'ada',
    call: create({ username: 'eve' }),
    want: refused('InvalidArgument', 'WEAK_PASSWORD'),
  },
  {
    name: 'a short password',
    as: 'ada',
    call: create({ username: 'eve', password: 'short' }),
    want: refused('InvalidArgument', 'WEAK_PASSWORD'),
  },
  {
    name: 'only validating',
    as: 'ada',
    call: call(
      method.createUser,
      { user: { username: 'Eve', password: PASSWORD }, userId: 'eve-1', validateOnly: true },
      'POST /api/v1/users?userId=eve-1&validateOnly=true',
      { username: 'Eve', password: PASSWORD },
    ),
    want: { message: { name: 'users/eve-1', username: 'Eve', role: 'USER', state: 'NORMAL' } },
  },
  {
    name: 'validating stored nothing',
    as: 'nobody',
    call: getUser('eve-1'),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  // Changing
  {
    name: 'changing oneself, in lowerCamelCase',
    as: 'bob',
    call: patch('bob', { displayName: 'Bob B.' }, ['displayName']),
    want: { message: { displayName: 'Bob B.', email: 'bob@example.org' } },
  },
  {
    name: 'changing oneself, in snake_case',
    as: 'bob',
    call: patch('bob', { displayName: 'Bob' }, ['display_name']),
    want: { message: { displayName: 'Bob' } },
  },
  {
    name: 'an output-only path has no effect',
    as: 'bob',
    call: patch('bob', {}, ['create_time']),
    want: { message: { displayName: 'Bob' } },
  },
  {
    name: 'an unknown path changes nothing',
    as: 'bob',
    call: patch('bob', { displayName: 'X' }, ['displayName', 'nickname']),
    want: refused('InvalidArgument', 'UNKNOWN_MASK_PATH'),
  },
  {
    name: 'the unknown path changed nothing',
    as: 'bob',
    call: getUser('bob'),
    want: { message: { displayName: 'Bob' } },
  },
  {
    name: 'changing somebody else',
    as: 'bob',
    call: patch('carol', { displayName: 'X' }, ['display_name']),
    want: refused('PermissionDenied', 'PERMISSION_DENIED'),
  },
  {
    name: 'changing nobody',
    as: 'bob',
    call: patch('nobody', { displayName: 'X' }, ['display_name']),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  {
    name: 'changing without signing in',
    as: 'nobody',
    call: patch('bob', { displayName: 'X' }, ['display_name']),
    want: refused('Unauthenticated', 'UNAUTHENTICATED'),
  },
  {
    name: 'promoting oneself',
    as: 'bob',
    call: patch('bob', { role: 'ADMIN' }, ['role']),
    want: refused('PermissionDenied', 'PERMISSION_DENIED'),
  },
  {
    name: 'a token that only reads',
    as: 'bob: read:user',
    call: patch('bob', { displayName: 'X' }, ['display_name']),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'an administrator token without the scope acts on nobody else',
    as: 'ada: write:user',
    call: patch('bob', { displayName: 'X' }, ['display_name']),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'a token does not change its own password',
    as: 'ada: write:user',
    call: patch('ada', { password: 'another horse' }, ['password']),
    want: refused('PermissionDenied', 'SESSION_REQUIRED'),
  },
  {
    name: 'the last administrator is not demoted',
    as: 'ada',
    call: patch('ada', { role: 'USER' }, ['role']),
    want: refused('FailedPrecondition', 'LAST_ADMIN'),
  },
  {
    name: 'nor archived',
    as: 'ada',
    call: patch('ada', { state: 'ARCHIVED' }, ['state']),
    want: refused('FailedPrecondition', 'LAST_ADMIN'),
  },
  {
    name: 'nor deleted',
    as: 'ada',
    call: remove('ada'),
    want: refused('FailedPrecondition', 'LAST_ADMIN'),
  },
  {
    name: 'a bad address',
    as: 'bob',
    call: patch('bob', { email: 'nonsense' }, ['email']),
    want: refused('InvalidArgument', 'INVALID_EMAIL'),
  },
  {
    name: 'an avatar by plain http',
    as: 'bob',
    call: patch('bob', { avatarUrl: 'http://example.org/a.png' }, ['avatar_url']),
    want: refused('InvalidArgument', 'INVALID_AVATAR'),
  },
  {
    name: 'an avatar that lies about its type',
    as: 'bob',
    call: patch('bob', { avatarUrl: 'data:image/png;base64,R0lGODlh' }, ['avatar_url']),
    want: refused('InvalidArgument', 'INVALID_AVATAR'),
  },
  {
    name: 'deleting somebody else',
    as: 'bob',
    call: remove('carol'),
    want: refused('PermissionDenied', 'PERMISSION_DENIED'),
  },
  {
    name: 'deleting nobody',
    as: 'ada',
    call: remove('nobody'),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  // Tokens
  {
    name: 'somebody else’s tokens',
    as: 'bob',
    call: tokens('carol'),
    want: refused('PermissionDenied', 'PERMISSION_DENIED'),
  },
  {
    name: 'tokens with a public-only token',
    as: 'bob: public-only',
    call: tokens('bob'),
    want: refused('PermissionDenied', 'PUBLIC_ONLY_TOKEN'),
  },
  {
    name: 'a token of unknown scope',
    as: 'bob',
    call: mint('bob', ['read:everything']),
    want: refused('InvalidArgument', 'INVALID_SCOPE'),
  },
  {
    name: 'a token that never was valid',
    as: 'bob',
    call: mint('bob', ['all'], -1),
    want: refused('InvalidArgument', 'INVALID_EXPIRY'),
  },
  {
    name: 'a token that mints a wider one',
    as: 'ada: write:user',
    call: mint('ada', ['all']),
    want: refused('PermissionDenied', 'SCOPE_NOT_HELD'),
  },
  {
    name: 'an administrator mints for nobody else',
    as: 'ada',
    call: mint('bob', ['all']),
    want: refused('PermissionDenied', 'PERMISSION_DENIED'),
  },
  {
    name: 'deleting a token that does not exist',
    as: 'bob',
    call: call(
      method.deletePersonalAccessToken,
      { name: 'users/bob/personalAccessTokens/00000000-0000-4000-8000-000000000000' },
      'DELETE /api/v1/users/bob/personalAccessTokens/00000000-0000-4000-8000-000000000000',
    ),
    want: refused('NotFound', 'TOKEN_NOT_FOUND'),
  },
]

describe.each(PROTOCOLS)('accounts by %s', (protocol) => {
  let server: TestServer
  let authorization: Map<As, string | undefined>

  beforeAll(async () => {
    server = await startTestServer()
    const users = await createTestUsers(server.url)
    authorization = await authorizationsOf(
      server.url,
      users,
      CASES.map(({ as }) => as),
    )
  })
  afterAll(() => server.stop())

  it.each(CASES)('$name ($as)', async ({ as, call: made, want }) => {
    const outcome: Outcome = await invoke(server.url, protocol, made, authorization.get(as))
    expect(outcome).toEqual(
      'message' in want
        ? { message: expect.objectContaining(want.message) }
        : expect.objectContaining(want),
    )
  })
})

describe('the table of cases', () => {
  it('covers every method', () => {
    const covered = new Set<DescMethod>(CASES.map(({ call: made }) => made.method))
    const served: DescMethod[] = [
      auth.signIn,
      auth.refreshToken,
      auth.getCurrentUser,
      method.listUsers,
      method.batchGetUsers,
      method.getUser,
      method.createUser,
      method.updateUser,
      method.deleteUser,
      method.listPersonalAccessTokens,
      method.createPersonalAccessToken,
      method.deletePersonalAccessToken,
    ]
    expect(served.filter((one) => !covered.has(one)).map(({ name }) => name)).toEqual([])
  })
})
