import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { type TestClock, testClock } from '../support/app.ts'
import { authorizationsOf } from '../support/authorizations.ts'
import { passcodeAt, STEP_SECONDS, wrongPasscode } from '../support/passcodes.ts'
import { createTestUsers, PASSWORD, startTestServer, type TestServer } from '../support/server.ts'
import { type Call, call, invoke, PROTOCOLS } from './invoke.ts'

const { method } = TwoFactorService
const OFF = { name: 'users/bob/twoFactor', state: 'DISABLED' }

type As = 'nobody' | 'ada' | 'bob' | 'carol' | 'bob: all'

/** What bob has in his hands. */
interface Belongings {
  readonly clock: TestClock
  /** In base32. */
  secret: string
  recoveryCodes: string[]
}

interface Case {
  readonly name: string
  readonly as: As
  readonly call: (bob: Belongings) => Call
  /** What the answer holds, or how the call is refused. */
  readonly want:
    | { readonly message: JsonObject }
    | { readonly code: string; readonly reason: string }
}

const get = (user: string) => () =>
  call(
    method.getTwoFactor,
    { name: `users/${user}/twoFactor` },
    `GET /api/v1/users/${user}/twoFactor`,
  )
const enroll =
  (user: string, password = PASSWORD) =>
  () =>
    call(
      method.enrollTwoFactor,
      { name: `users/${user}/twoFactor`, password },
      `POST /api/v1/users/${user}/twoFactor:enroll`,
      { password },
    )
const confirm = (code: (bob: Belongings) => string) => (bob: Belongings) => {
  const passcode = code(bob)
  const name = 'users/bob/twoFactor'
  return call(method.confirmTwoFactor, { name, passcode }, `POST /api/v1/${name}:confirm`, {
    passcode,
  })
}
const disable = (fields: (bob: Belongings) => Record<string, string>) => (bob: Belongings) => {
  const [name, proof] = ['users/bob/twoFactor', fields(bob)]
  return call(method.disableTwoFactor, { name, ...proof }, `POST /api/v1/${name}:disable`, proof)
}
const regenerate = (code: (bob: Belongings) => string) => (bob: Belongings) => {
  const passcode = code(bob)
  const name = 'users/bob/twoFactor'
  const path = `/api/v1/${name}:regenerateRecoveryCodes`
  return call(method.regenerateRecoveryCodes, { name, passcode }, `POST ${path}`, { passcode })
}
const signIn = (fields: (bob: Belongings) => Record<string, string>) => (bob: Belongings) => {
  const passwordCredentials = { username: 'bob', password: PASSWORD, ...fields(bob) }
  return call(
    AuthService.method.signIn,
    { credentials: { case: 'passwordCredentials', value: passwordCredentials } },
    'POST /api/v1/auth/signin',
    { passwordCredentials },
  )
}

const next = ({ clock, secret }: Belongings) => {
  clock.advance(STEP_SECONDS)
  return passcodeAt(secret, clock)
}
const current = ({ clock, secret }: Belongings) => passcodeAt(secret, clock)
const wrong = ({ clock, secret }: Belongings) => wrongPasscode(secret, clock)
const nothing = () => ({})

const refused = (code: string, reason: string) => ({ code, reason })
const invalid = refused('Unauthenticated', 'TWO_FACTOR_INVALID')
const denied = refused('PermissionDenied', 'PERMISSION_DENIED')
const signedIn = {
  message: {
    user: expect.objectContaining({ name: 'users/bob' }),
    accessToken: expect.any(String),
  },
}
const tenCodes = { recoveryCodes: Array.from({ length: 10 }, () => expect.any(String)) }

/** Each case goes on from the one before. */
const CASES: readonly Case[] = [
  // Off
  { name: 'the owner sees that it is off', as: 'bob', call: get('bob'), want: { message: OFF } },
  { name: 'by his name in another case', as: 'bob', call: get('BOB'), want: { message: OFF } },
  { name: 'an administrator sees it', as: 'ada', call: get('bob'), want: { message: OFF } },
  { name: 'others do not', as: 'carol', call: get('bob'), want: denied },
  {
    name: 'nor strangers',
    as: 'nobody',
    call: get('bob'),
    want: refused('Unauthenticated', 'UNAUTHENTICATED'),
  },
  {
    name: 'nor a token of the owner',
    as: 'bob: all',
    call: get('bob'),
    want: refused('PermissionDenied', 'SESSION_REQUIRED'),
  },
  {
    name: 'of nobody',
    as: 'ada',
    call: get('nobody'),
    want: refused('NotFound', 'USER_NOT_FOUND'),
  },
  {
    name: 'an escaped slash in the name',
    as: 'ada',
    call: get('a%2Fb'),
    want: refused('InvalidArgument', 'INVALID_NAME'),
  },
  {
    name: 'there is nothing to confirm',
    as: 'bob',
    call: confirm(() => '000000'),
    want: refused('FailedPrecondition', 'TWO_FACTOR_NOT_PENDING'),
  },
  {
    name: 'nothing to make codes for',
    as: 'bob',
    call: regenerate(() => '000000'),
    want: refused('FailedPrecondition', 'TWO_FACTOR_NOT_ENABLED'),
  },
  {
    name: 'and nothing to turn off',
    as: 'bob',
    call: disable(() => ({ password: PASSWORD, passcode: '000000' })),
    want: refused('FailedPrecondition', 'TWO_FACTOR_NOT_ENABLED'),
  },
  {
    name: 'also for an administrator',
    as: 'ada',
    call: disable(nothing),
    want: refused('FailedPrecondition', 'TWO_FACTOR_NOT_ENABLED'),
  },
  // Setting it up
  {
    name: 'enrolling with a wrong password',
    as: 'bob',
    call: enroll('bob', 'wrong horse'),
    want: refused('Unauthenticated', 'BAD_CREDENTIALS'),
  },
  {
    name: 'enrolling without one',
    as: 'bob',
    call: enroll('bob', ''),
    want: refused('Unauthenticated', 'BAD_CREDENTIALS'),
  },
  { name: 'an administrator enrolls nobody else', as: 'ada', call: enroll('bob'), want: denied },
  {
    name: 'enrolling',
    as: 'bob',
    call: enroll('bob'),
    want: {
      message: {
        twoFactor: {
          name: 'users/bob/twoFactor',
          state: 'PENDING',
          createTime: expect.any(String),
        },
        secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
        otpauthUri: expect.stringMatching(/^otpauth:\/\/totp\/Branchline:bob\?/),
      },
    },
  },
  {
    name: 'signing in as before while it waits',
    as: 'nobody',
    call: signIn(nothing),
    want: signedIn,
  },
  { name: 'confirming with a wrong passcode', as: 'bob', call: confirm(wrong), want: invalid },
  { name: 'confirming with none', as: 'bob', call: confirm(() => ''), want: invalid },
  { name: 'an administrator confirms for nobody', as: 'ada', call: confirm(current), want: denied },
  {
    name: 'confirming',
    as: 'bob',
    call: confirm(current),
    want: {
      message: {
        twoFactor: {
          name: 'users/bob/twoFactor',
          state: 'ENABLED',
          createTime: expect.any(String),
          confirmTime: expect.any(String),
          lastUsedTime: expect.any(String),
          recoveryCodesRemaining: 10,
        },
        ...tenCodes,
      },
    },
  },
  {
    name: 'confirming again',
    as: 'bob',
    call: confirm(next),
    want: refused('FailedPrecondition', 'TWO_FACTOR_NOT_PENDING'),
  },
  {
    name: 'enrolling again',
    as: 'bob',
    call: enroll('bob'),
    want: refused('FailedPrecondition', 'TWO_FACTOR_ALREADY_ENABLED'),
  },
  // Signing in
  {
    name: 'signing in without a code',
    as: 'nobody',
    call: signIn(nothing),
    want: refused('Unauthenticated', 'TWO_FACTOR_REQUIRED'),
  },
  {
    name: 'with a wrong one',
    as: 'nobody',
    call: signIn((bob) => ({ passcode: wrong(bob) })),
    want: invalid,
  },
  {
    name: 'with a right one',
    as: 'nobody',
    call: signIn((bob) => ({ passcode: next(bob) })),
    want: signedIn,
  },
  {
    name: 'with the same again',
    as: 'nobody',
    call: signIn((bob) => ({ passcode: current(bob) })),
    want: invalid,
  },
  {
    name: 'with blanks between its digits',
    as: 'nobody',
    call: signIn((bob) => ({ passcode: next(bob).replace(/^.../, '$& ') })),
    want: signedIn,
  },
  {
    name: 'with a recovery code',
    as: 'nobody',
    call: signIn(({ recoveryCodes: [recoveryCode = ''] }) => ({ recoveryCode })),
    want: signedIn,
  },
  {
    name: 'with the same recovery code again',
    as: 'nobody',
    call: signIn(({ recoveryCodes: [recoveryCode = ''] }) => ({ recoveryCode })),
    want: invalid,
  },
  {
    name: 'nine codes remain',
    as: 'ada',
    call: get('bob'),
    want: { message: { state: 'ENABLED', recoveryCodesRemaining: 9 } },
  },
  // New codes
  { name: 'new codes for a used passcode', as: 'bob', call: regenerate(current), want: invalid },
  {
    name: 'an administrator makes codes for nobody else',
    as: 'ada',
    call: regenerate(next),
    want: denied,
  },
  { name: 'new codes', as: 'bob', call: regenerate(next), want: { message: tenCodes } },
  // Turning it off
  {
    name: 'turning it off with a wrong password',
    as: 'bob',
    call: disable((bob) => ({ password: 'wrong horse', passcode: next(bob) })),
    want: refused('Unauthenticated', 'BAD_CREDENTIALS'),
  },
  {
    name: 'without a code',
    as: 'bob',
    call: disable(() => ({ password: PASSWORD })),
    want: invalid,
  },
  { name: 'as somebody else', as: 'carol', call: disable(nothing), want: denied },
  {
    name: 'with the password and the code that the wrong password did not use up',
    as: 'bob',
    call: disable((bob) => ({ password: PASSWORD, passcode: current(bob) })),
    want: { message: {} },
  },
  { name: 'it is off', as: 'bob', call: get('bob'), want: { message: OFF } },
  { name: 'signing in without a code again', as: 'nobody', call: signIn(nothing), want: signedIn },
]

describe.each(PROTOCOLS)('two-factor authentication over %s', (protocol) => {
  let server: TestServer
  const bob: Belongings = { clock: testClock(), secret: '', recoveryCodes: [] }
  let authorization: Map<As, string | undefined>

  beforeAll(async () => {
    server = await startTestServer({ clock: bob.clock })
    const users = await createTestUsers(server.url)
    authorization = await authorizationsOf(
      server.url,
      users,
      CASES.map(({ as }) => as),
    )
  })
  afterAll(() => server.stop())

  it.each(CASES)('$name ($as)', async ({ as, call: prepare, want }) => {
    const outcome = await invoke(server.url, protocol, prepare(bob), authorization.get(as))
    expect(outcome).toEqual(
      'message' in want
        ? { message: expect.objectContaining(want.message) }
        : expect.objectContaining(want),
    )
    if ('message' in outcome) Object.assign(bob, outcome.message)
  })
})

describe('the table of cases', () => {
  it('covers every method of the service', () => {
    const covered = new Set<DescMethod>(
      CASES.map(
        ({ call: prepare }) =>
          prepare({ clock: testClock(), secret: 'AAAA', recoveryCodes: [] }).method,
      ),
    )
    expect(
      TwoFactorService.methods.filter((one) => !covered.has(one)).map(({ name }) => name),
    ).toEqual([])
  })
})
