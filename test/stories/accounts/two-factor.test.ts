import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { TwoFactor_State } from '#gen/branchline/v1/two_factor_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import {
  type SessionGrant,
  startSession,
} from '../../../src/forge/accounts/credentials/sessions.ts'
import { findUserByNameKey } from '../../../src/forge/accounts/users/users.rows.ts'
import { NO_CLIENT, testClock } from '../../support/app.ts'
import { openForge } from '../../support/forge.ts'
import { passcodeAt, STEP_SECONDS, wrongPasscode } from '../../support/passcodes.ts'
import { withFolder } from '../../support/process.ts'
import {
  createTestUsers,
  createToken,
  PASSWORD,
  RPC_PROTOCOLS,
  startTestServer,
  transportTo,
} from '../../support/server.ts'

/** See GuessLimits. */
const FORGOTTEN_AFTER_SECONDS = 5 * 60

const BASIC = `Basic ${Buffer.from(`bob:${PASSWORD}`).toString('base64')}`
const NAME = 'users/bob/twoFactor'
const BY_PASSWORD = {
  case: 'passwordCredentials',
  value: { username: 'bob', password: PASSWORD },
} as const

const clock = testClock()

const { server } = await openForge({ clock })

/**
 * Starts a session without a passcode, so that a test can use all passcodes. Advances the clock
 * past the lifetime of an access token.
 */
async function sessionOf(username: string): Promise<SessionGrant> {
  const user = await findUserByNameKey(server.app.db, username)
  if (!user) throw new Error(`nobody is called ${username}`)
  return startSession(server.app, user, NO_CLIENT)
}

async function authorizationOf(username: string): Promise<string> {
  return `Bearer ${(await sessionOf(username)).accessToken}`
}

async function twoFactorAs(username: string) {
  return createClient(
    TwoFactorService,
    transportTo(server.url, 'Connect JSON', await authorizationOf(username)),
  )
}

/**
 * Enables a second factor for bob in place of an existing one, once earlier wrong codes have
 * expired.
 */
async function setUp(): Promise<{ secret: string; confirmed: string; recoveryCodes: string[] }> {
  clock.advance(FORGOTTEN_AFTER_SECONDS)
  const asBob = await twoFactorAs('bob')
  if ((await asBob.getTwoFactor({ name: NAME })).state === TwoFactor_State.ENABLED)
    await (await twoFactorAs('ada')).disableTwoFactor({ name: NAME })
  const { secret } = await asBob.enrollTwoFactor({ name: NAME, password: PASSWORD })
  const confirmed = passcodeAt(secret, clock)
  const { recoveryCodes } = await asBob.confirmTwoFactor({ name: NAME, passcode: confirmed })
  return { secret, confirmed, recoveryCodes }
}

/** Advances past the current passcode. */
function nextPasscode(secret: string): string {
  clock.advance(STEP_SECONDS)
  return passcodeAt(secret, clock)
}

async function signIn(fields: object, headers: Record<string, string> = {}): Promise<string> {
  const body = JSON.stringify({ passwordCredentials: { ...BY_PASSWORD.value, ...fields } })
  return outcomeOf(await post('/api/v1/auth/signin', body, headers))
}

function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
}

/** Returns OK or the reason of the error. */
async function outcomeOf(response: Response): Promise<string> {
  const answer = (await response.json()) as { details?: { reason?: string }[] }
  return response.ok
    ? 'OK'
    : (answer.details?.find(({ reason }) => reason !== undefined)?.reason ?? 'no reason')
}

async function outcomeOfRpc(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'OK'
  } catch (thrown) {
    return ConnectError.from(thrown).findDetails(ErrorInfoSchema)[0]?.reason ?? 'no reason'
  }
}

type Present = (passcode: string) => Promise<string>

/** Every way to present a passcode, prepared up to the passcode itself. */
const SURFACES = {
  'sign-in, in the field': async () => (passcode: string) => signIn({ passcode }),
  'sign-in, in the header': async () => (passcode: string) =>
    signIn({}, { 'x-service-otp': passcode }),
  'Basic over REST': async () => async (passcode: string) => {
    const headers = { authorization: BASIC, 'x-service-otp': passcode }
    return outcomeOf(await fetch(`${server.url}/api/v1/auth/me`, { headers }))
  },
  'Basic over gRPC': async () => {
    const client = createClient(AuthService, transportTo(server.url, 'gRPC', BASIC))
    return (passcode: string) =>
      outcomeOfRpc(client.getCurrentUser({}, { headers: { 'x-service-otp': passcode } }))
  },
  'password reset': async () => {
    const asAda = createClient(
      AuthService,
      transportTo(server.url, 'gRPC-Web', await authorizationOf('ada')),
    )
    const { token } = await asAda.createPasswordResetToken({ name: 'users/bob' })
    return (passcode: string) =>
      outcomeOfRpc(asAda.resetPassword({ token, newPassword: PASSWORD, passcode }))
  },
  'new recovery codes': async () => {
    const asBob = await twoFactorAs('bob')
    return (passcode: string) =>
      outcomeOfRpc(asBob.regenerateRecoveryCodes({ name: NAME, passcode }))
  },
  'turning it off': async () => {
    const asBob = await twoFactorAs('bob')
    return (passcode: string) =>
      outcomeOfRpc(asBob.disableTwoFactor({ name: NAME, password: PASSWORD, passcode }))
  },
} satisfies Readonly<Record<string, () => Promise<Present>>>

type Surface = keyof typeof SURFACES
const SURFACE_NAMES = Object.keys(SURFACES) as Surface[]

async function present(passcode: string, surface: Surface): Promise<string> {
  return (await SURFACES[surface]())(passcode)
}

describe('a passcode that was observed and has been used by its owner', () => {
  const pairs = SURFACE_NAMES.flatMap((first) => SURFACE_NAMES.map((second) => ({ first, second })))

  it.each(pairs)(
    'by $first is refused by $second, and a fresh one is not',
    async ({ first, second }) => {
      let { secret } = await setUp()
      const passcode = nextPasscode(secret)
      expect(await present(passcode, first)).toBe('OK')
      // Disabling ends the enrolment, and the next secret has other passcodes.
      if (first === 'turning it off') secret = (await setUp()).secret
      expect(await present(passcode, second)).toBe('TWO_FACTOR_INVALID')
      expect(await present(nextPasscode(secret), second)).toBe('OK')
    },
  )

  it.each(SURFACE_NAMES)(
    'to confirm its secret is refused by %s, and a fresh one is not',
    async (surface) => {
      const { secret, confirmed } = await setUp()
      expect(await present(confirmed, surface)).toBe('TWO_FACTOR_INVALID')
      expect(await present(nextPasscode(secret), surface)).toBe('OK')
    },
  )

  it.each(SURFACE_NAMES)(
    'is refused by %s after a newer one was used, even if it was not used itself',
    async (surface) => {
      const { secret } = await setUp()
      const older = nextPasscode(secret)
      expect(await signIn({ passcode: passcodeAt(secret, clock, 1) })).toBe('OK')
      expect(await present(older, surface)).toBe('TWO_FACTOR_INVALID')
    },
  )
})

describe('a passcode used twenty times at once', () => {
  it.each(SURFACE_NAMES)('by %s succeeds once', async (surface) => {
    const { secret } = await setUp()
    const passcode = nextPasscode(secret)
    const presentBySurface = await SURFACES[surface]()
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => presentBySurface(passcode)))
    expect(outcomes.filter((outcome) => outcome === 'OK')).toHaveLength(1)
  })

  it('by every method in turn but the one that disables the second factor succeeds once', async () => {
    const { secret } = await setUp()
    const passcode = nextPasscode(secret)
    const ways = await Promise.all(
      SURFACE_NAMES.flatMap((surface) =>
        surface === 'turning it off' ? [] : [SURFACES[surface]()],
      ),
    )
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) => ways[i % ways.length]?.(passcode)),
    )
    expect(outcomes.filter((outcome) => outcome === 'OK')).toHaveLength(1)
  })

  it('remains used after a restart', async () => {
    await withFolder(async (data) => {
      const other = await startTestServer({ clock, data })
      const { bob } = await createTestUsers(other.url)
      const asBob = createClient(
        TwoFactorService,
        transportTo(other.url, 'gRPC', bob.authorization),
      )
      const { secret } = await asBob.enrollTwoFactor({ name: NAME, password: PASSWORD })
      const passcode = passcodeAt(secret, clock)
      await asBob.confirmTwoFactor({ name: NAME, passcode })
      await other.stop()
      const again = await startTestServer({ clock, data })
      const client = createClient(AuthService, transportTo(again.url, 'gRPC'))
      const credentials = { ...BY_PASSWORD, value: { ...BY_PASSWORD.value, passcode } }
      expect(await outcomeOfRpc(client.signIn({ credentials }))).toBe('TWO_FACTOR_INVALID')
      await again.stop()
    })
  })
})

describe('a stranger who knows only the password', () => {
  it('gets neither session nor cookie, and is asked for a passcode', async () => {
    await setUp()
    const response = await post(
      '/api/v1/auth/signin',
      JSON.stringify({ passwordCredentials: BY_PASSWORD.value }),
    )
    expect(response.status).toBe(401)
    expect(response.headers.get('x-service-otp')).toBe('required')
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(await outcomeOf(response)).toBe('TWO_FACTOR_REQUIRED')
  })

  it.each(RPC_PROTOCOLS)('is asked for it by %s, at sign-in and with Basic', async (protocol) => {
    const { secret } = await setUp()
    const refusalOf = async (call: Promise<unknown>) => {
      const { code, metadata } = ConnectError.from(await call.catch((thrown: unknown) => thrown))
      return { code, challenge: metadata.get('x-service-otp') }
    }
    const asked = { code: Code.Unauthenticated, challenge: 'required' }
    const anonymous = createClient(AuthService, transportTo(server.url, protocol))
    expect(await refusalOf(anonymous.signIn({ credentials: BY_PASSWORD }))).toEqual(asked)
    const byBasic = createClient(AuthService, transportTo(server.url, protocol, BASIC))
    expect(await refusalOf(byBasic.getCurrentUser({}))).toEqual(asked)
    const headers = { 'x-service-otp': wrongPasscode(secret, clock) }
    expect(await refusalOf(byBasic.getCurrentUser({}, { headers }))).toEqual(asked)
  })

  it('has five guesses in five minutes across all methods, and the owner’s session continues', async () => {
    const { secret } = await setUp()
    clock.advance(STEP_SECONDS)
    const wrong = wrongPasscode(secret, clock)
    for (const surface of [
      'sign-in, in the field',
      'Basic over REST',
      'Basic over gRPC',
      'password reset',
    ] as const) {
      expect(await present(wrong, surface)).toBe('TWO_FACTOR_INVALID')
    }
    expect(await signIn({ recoveryCode: 'AAAA-AAAA-AAAA-AAAA-AAAA' })).toBe('TWO_FACTOR_INVALID')
    const body = {
      passwordCredentials: { ...BY_PASSWORD.value, passcode: passcodeAt(secret, clock) },
    }
    const limited = await post('/api/v1/auth/signin', JSON.stringify(body))
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '300'])
    expect(await (await twoFactorAs('bob')).getTwoFactor({ name: NAME })).toMatchObject({
      state: TwoFactor_State.ENABLED,
    })
    clock.advance(300)
    expect(await signIn({ passcode: passcodeAt(secret, clock) })).toBe('OK')
  })
})

describe('a stranger who does not know the password', () => {
  it('neither learns of a second factor nor uses one up', async () => {
    const { secret } = await setUp()
    const passcode = nextPasscode(secret)
    const answers = []
    // Bob has a second factor, carol has none, and eve does not exist.
    for (const username of ['bob', 'carol', 'eve']) {
      const body = JSON.stringify({
        passwordCredentials: { username, password: 'wrong', passcode },
      })
      const response = await post('/api/v1/auth/signin', body, { 'x-service-otp': passcode })
      const headers = [...response.headers].filter(
        ([name]) => name !== 'date' && name !== 'x-request-id',
      )
      answers.push({ status: response.status, headers, body: await response.json() })
    }
    expect(answers[0]?.status).toBe(401)
    expect(answers[1]).toEqual(answers[0])
    expect(answers[2]).toEqual(answers[0])
    expect(await signIn({ passcode })).toBe('OK')
  })
})

describe('programs', () => {
  it('continue with tokens and refreshed sessions, which require no passcode', async () => {
    await setUp()
    const token = await createToken(
      server.url,
      { username: 'bob', authorization: await authorizationOf('bob') },
      ['read:user'],
    )
    for (const authorization of [
      `Bearer ${token}`,
      `Basic ${Buffer.from(`bob:${token}`).toString('base64')}`,
    ]) {
      const users = createClient(UserService, transportTo(server.url, 'gRPC', authorization))
      await expect(users.getUser({ name: 'users/bob' })).resolves.toMatchObject({
        email: 'bob@example.org',
      })
    }
    const { refreshToken } = await sessionOf('bob')
    const refreshed = await post('/api/v1/auth/refresh', '{}', {
      cookie: `branchline_refresh=${refreshToken}`,
    })
    expect(refreshed.status).toBe(200)
  })

  it('cannot change the second factor with a token', async () => {
    const token = await createToken(
      server.url,
      { username: 'bob', authorization: await authorizationOf('bob') },
      ['all'],
    )
    const client = createClient(
      TwoFactorService,
      transportTo(server.url, 'gRPC', `Bearer ${token}`),
    )
    expect(await outcomeOfRpc(client.getTwoFactor({ name: NAME }))).toBe('SESSION_REQUIRED')
    expect(await outcomeOfRpc(client.enrollTwoFactor({ name: NAME, password: PASSWORD }))).toBe(
      'SESSION_REQUIRED',
    )
  })
})

describe('a user who has lost phone and recovery codes', () => {
  it('is helped by an administrator, which is logged, and by no one else', async () => {
    await setUp()
    const asCarol = await twoFactorAs('carol')
    expect(await outcomeOfRpc(asCarol.disableTwoFactor({ name: NAME }))).toBe('PERMISSION_DENIED')
    await (await twoFactorAs('ada')).disableTwoFactor({ name: NAME })
    expect(await signIn({})).toBe('OK')
    const [ada, bob] = [
      await findUserByNameKey(server.app.db, 'ada'),
      await findUserByNameKey(server.app.db, 'bob'),
    ]
    expect(server.logged).toContainEqual(
      expect.objectContaining({ level: 'warn', userId: bob?.id, administratorId: ada?.id }),
    )
  })
})

describe('the log', () => {
  it('contains no secret, recovery code or passcode, whether valid or not', async () => {
    const { secret, recoveryCodes } = await setUp()
    const passcode = nextPasscode(secret)
    await signIn({ passcode })
    await signIn({ passcode })
    await signIn({ recoveryCode: recoveryCodes[0] })
    const log = JSON.stringify(server.logged)
    expect(log).toContain('a recovery code was used')
    for (const text of [secret, `"${passcode}"`, recoveryCodes[0]]) expect(log).not.toContain(text)
  })
})
