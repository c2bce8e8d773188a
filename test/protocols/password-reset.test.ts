import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { authorizationsOf } from '../support/authorizations.ts'
import { createTestUsers, PASSWORD, startTestServer, type TestServer } from '../support/server.ts'
import { type Call, call, invoke, type Outcome, PROTOCOLS } from './invoke.ts'

const { method } = AuthService

/** Who calls: somebody of the users by session, by token, or nobody. */
type As = 'nobody' | 'ada' | 'bob' | 'ada: write:admin' | 'ada: write:user' | 'garbage'

interface Case {
  readonly name: string
  readonly as: As
  readonly call: Call
  /** What the answer is, or how the call is refused. */
  readonly want:
    | { readonly message: JsonObject }
    | { readonly code: string; readonly reason: string }
}

const ask = (subject: { username?: string; email?: string }) =>
  call(method.requestPasswordReset, subject, 'POST /api/v1/auth/password:requestReset', subject)
const reset = (token: string, newPassword: string) =>
  call(method.resetPassword, { token, newPassword }, 'POST /api/v1/auth/password:reset', {
    token,
    newPassword,
  })
const make = (user: string) =>
  call(
    method.createPasswordResetToken,
    { name: `users/${user}` },
    `POST /api/v1/users/${user}:createPasswordResetToken`,
    {},
  )

const refused = (code: string, reason: string) => ({ code, reason })
const made = {
  message: { token: expect.stringMatching(/^[\w-]{43}$/), expireTime: expect.any(String) },
}

const CASES: readonly Case[] = [
  {
    name: 'asking by username',
    as: 'nobody',
    call: ask({ username: 'carol' }),
    want: { message: {} },
  },
  {
    name: 'asking by address',
    as: 'nobody',
    call: ask({ email: 'carol@example.org' }),
    want: { message: {} },
  },
  {
    name: 'asking for nobody',
    as: 'nobody',
    call: ask({ username: 'nobody' }),
    want: { message: {} },
  },
  {
    name: 'asking for an archived account',
    as: 'nobody',
    call: ask({ username: 'dan' }),
    want: { message: {} },
  },
  {
    name: 'credentials that are wrong are not in the way of asking',
    as: 'garbage',
    call: ask({ username: 'carol' }),
    want: { message: {} },
  },
  {
    name: 'asking for what',
    as: 'nobody',
    call: ask({}),
    want: refused('InvalidArgument', 'INVALID_FIELD'),
  },
  {
    name: 'asking for one or the other',
    as: 'nobody',
    call: ask({ username: 'carol', email: 'carol@example.org' }),
    want: refused('InvalidArgument', 'INVALID_FIELD'),
  },
  {
    name: 'a token out of thin air',
    as: 'nobody',
    call: reset('A'.repeat(43), PASSWORD),
    want: refused('InvalidArgument', 'INVALID_RESET_TOKEN'),
  },
  {
    name: 'no token',
    as: 'nobody',
    call: reset('', PASSWORD),
    want: refused('InvalidArgument', 'INVALID_RESET_TOKEN'),
  },
  {
    name: 'whether the password would do is not told without a token',
    as: 'garbage',
    call: reset('', ''),
    want: refused('InvalidArgument', 'INVALID_RESET_TOKEN'),
  },
  { name: 'an administrator makes a token', as: 'ada', call: make('bob'), want: made },
  { name: 'for the administrator', as: 'ada', call: make('ada'), want: made },
  { name: 'by a token with the scope', as: 'ada: write:admin', call: make('bob'), want: made },
  {
    name: 'by a token of the same account',
    as: 'ada: write:admin',
    call: make('ada'),
    want: refused('PermissionDenied', 'SESSION_REQUIRED'),
  },
  {
    name: 'by a token without the scope',
    as: 'ada: write:user',
    call: make('bob'),
    want: refused('PermissionDenied', 'SCOPE_MISSING'),
  },
  {
    name: 'for an archived account',
    as: 'ada',
    call: make('dan'),
    want: refused('PermissionDenied', 'ACCOUNT_ARCHIVED'),
  },
  {
    name: 'for nobody',
    as: 'ada',
    call: make('nobody'),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  {
    name: 'for something else',
    as: 'ada',
    call: call(
      method.createPasswordResetToken,
      { name: 'users/a%2Fb' },
      'POST /api/v1/users/a%2Fb:createPasswordResetToken',
      {},
    ),
    want: refused('InvalidArgument', 'INVALID_NAME'),
  },
  {
    name: 'a user makes none',
    as: 'bob',
    call: make('bob'),
    want: refused('PermissionDenied', 'PERMISSION_DENIED'),
  },
  {
    name: 'a user does not learn who is there',
    as: 'bob',
    call: make('nobody'),
    want: refused('PermissionDenied', 'PERMISSION_DENIED'),
  },
  {
    name: 'a stranger makes none',
    as: 'nobody',
    call: make('bob'),
    want: refused('Unauthenticated', 'UNAUTHENTICATED'),
  },
]

describe.each(PROTOCOLS)('password reset by %s', (protocol) => {
  let mailDir: string
  let server: TestServer
  let authorization: Map<As, string | undefined>

  beforeAll(async () => {
    mailDir = await mkdtemp(join(tmpdir(), 'branchline-mail-'))
    server = await startTestServer({ mailDir })
    const users = await createTestUsers(server.url)
    authorization = await authorizationsOf(
      server.url,
      users,
      CASES.map(({ as }) => as),
    )
  })
  afterAll(async () => {
    await server.stop()
    await rm(mailDir, { recursive: true })
  })

  const send = (made: Call, as: As): Promise<Outcome> =>
    invoke(server.url, protocol, made, authorization.get(as))

  it.each(CASES)('$name ($as)', async ({ as, call: sent, want }) => {
    expect(await send(sent, as)).toEqual('message' in want ? want : expect.objectContaining(want))
  })

  it('sets a password once per token, and no weak password', async () => {
    // Carol's mails, asked for above, would void the token.
    await server.app.background.settled()
    const answer = await send(make('carol'), 'ada')
    const { token } = ('message' in answer ? answer.message : {}) as { token: string }
    for (const weak of ['', 'short', 'x'.repeat(257)]) {
      expect(await send(reset(token, weak), 'nobody')).toMatchObject(
        refused('InvalidArgument', 'WEAK_PASSWORD'),
      )
    }
    expect(await send(reset(token, 'another horse'), 'garbage')).toEqual({ message: {} })
    const again = await send(reset(token, 'third horse'), 'nobody')
    expect(again).toMatchObject(refused('InvalidArgument', 'INVALID_RESET_TOKEN'))
  })
})
