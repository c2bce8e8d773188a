import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  AuthService,
  GetCurrentUserRequestSchema,
  RefreshTokenRequestSchema,
  SignInRequestSchema,
  SignInResponseSchema,
  SignOutRequestSchema,
} from '#gen/branchline/v1/auth_service_pb.ts'
import { authenticate } from '../../../../src/edge/authentication/authenticate.ts'
import { authService } from '../../../../src/forge/accounts/credentials/auth.service.ts'
import { authenticateAccessToken } from '../../../../src/forge/accounts/credentials/sessions.ts'
import type { Caller } from '../../../../src/forge/core/access.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { createTrigger } from '../../../../src/platform/database/dialects/triggers.ts'
import { addUser, LOCAL_PEER, PASSWORD, type TestApp, testApp } from '../../../support/app.ts'
import { callContext } from '../../../support/call.ts'
import { enableTwoFactor, passcodeAt, STEP_SECONDS } from '../../../support/passcodes.ts'

const CLEARED =
  'branchline_refresh=; Path=/; HttpOnly; SameSite=Lax; Expires=Thu, 01 Jan 1970 00:00:00 GMT'
const BY_PASSWORD = {
  case: 'passwordCredentials',
  value: { username: 'ada', password: PASSWORD },
} as const

let app: TestApp
let ada: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada', { email: 'ada@example.org', email_key: 'ada@example.org' })
})

type Call = Parameters<typeof callContext>[1]

type Credentials = NonNullable<MessageInitShape<typeof SignInRequestSchema>['credentials']>

async function signIn(credentials: Credentials, call: Call = {}) {
  const context = callContext(AuthService.method.signIn, call)
  const answer = await authService(app).signIn(
    create(SignInRequestSchema, { credentials }),
    context,
  )
  return {
    answer: create(SignInResponseSchema, answer),
    cookie: context.responseHeader.get('set-cookie') ?? '',
  }
}

async function refresh(cookie: string, call: Call = {}) {
  const context = callContext(AuthService.method.refreshToken, { ...call, headers: { cookie } })
  const result = await Promise.allSettled([
    authService(app).refreshToken(create(RefreshTokenRequestSchema), context),
  ])
  return { result: result[0], cookie: context.responseHeader.get('set-cookie') }
}

async function signOut(call: Call) {
  const context = callContext(AuthService.method.signOut, call)
  await authService(app).signOut(create(SignOutRequestSchema), context)
  return context.responseHeader.get('set-cookie')
}

function callerOf(accessToken: string | undefined): Caller | Promise<Caller> {
  return authenticate(app, new Headers({ authorization: `Bearer ${accessToken}` }), LOCAL_PEER)
}

/** Returns the Cookie value that a browser sends for a Set-Cookie value. */
function sentBack(cookie: string): string {
  return cookie.split(';')[0] ?? ''
}

describe('SignIn', () => {
  it('returns the account with its address, an access token and the refresh cookie', async () => {
    const { answer, cookie } = await signIn(BY_PASSWORD)
    expect(answer.user).toMatchObject({ name: 'users/ada', email: 'ada@example.org' })
    expect(answer.accessTokenExpiresAt && timestampMs(answer.accessTokenExpiresAt)).toBe(
      app.clock.now() + 15 * 60 * 1000,
    )
    await expect(authenticateAccessToken(app, answer.accessToken)).resolves.toMatchObject({
      user: { id: ada.id },
    })
    expect(cookie).toMatch(
      /^branchline_refresh=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Expires=Sun, 31 May 2026 10:00:00 GMT$/,
    )
  })

  it('marks the cookie as Secure if the request came over HTTPS', async () => {
    expect((await signIn(BY_PASSWORD, { secure: true })).cookie).toMatch(/; Secure$/)
  })

  it.each([
    ['no credentials', { case: undefined }, 'credentials'],
    [
      'no username',
      { case: 'passwordCredentials', value: { username: '', password: 'x' } },
      'password_credentials.username',
    ],
    [
      'no password',
      { case: 'passwordCredentials', value: { username: 'ada', password: '' } },
      'password_credentials.password',
    ],
    [
      'no code',
      { case: 'ssoCredentials', value: { idpName: 'identity-providers/x' } },
      'sso_credentials.code',
    ],
  ] as const)('refuses %s', async (_, credentials, field) => {
    await expect(signIn(credentials)).rejects.toMatchObject({
      reason: 'INVALID_FIELD',
      metadata: { field },
    })
  })

  it.each([
    ['identity-providers/example', 'IDENTITY_PROVIDER_NOT_FOUND'],
    ['example', 'INVALID_NAME'],
    ['identity-providers/', 'INVALID_NAME'],
    ['identity-providers/a/b', 'INVALID_NAME'],
  ])('refuses the identity provider %s with %s', async (idpName, reason) => {
    const value = { idpName, code: 'code', redirectUri: 'https://app.example/callback' }
    await expect(signIn({ case: 'ssoCredentials', value })).rejects.toMatchObject({ reason })
  })

  describe('SignIn to an account with a second factor', () => {
    let secret: string

    beforeEach(async () => {
      secret = await enableTwoFactor(app, ada)
    })

    const withFactor = (
      fields: { passcode?: string; recoveryCode?: string },
      headers: Record<string, string> = {},
    ) =>
      signIn(
        { case: 'passwordCredentials', value: { ...BY_PASSWORD.value, ...fields } },
        { headers },
      )

    it('accepts a passcode in the field or in the header, and prefers the field', async () => {
      const next = () => {
        app.clock.advance(STEP_SECONDS)
        return passcodeAt(secret, app.clock)
      }
      await expect(withFactor({ passcode: next() })).resolves.toBeDefined()
      await expect(withFactor({}, { 'x-service-otp': next() })).resolves.toBeDefined()
      await expect(
        withFactor({ passcode: next() }, { 'x-service-otp': 'nonsense' }),
      ).resolves.toBeDefined()
      const unheard = next()
      for (const fields of [{ passcode: 'nonsense' }, { recoveryCode: 'nonsense' }]) {
        await expect(withFactor(fields, { 'x-service-otp': unheard })).rejects.toMatchObject({
          reason: 'TWO_FACTOR_INVALID',
        })
      }
      await expect(withFactor({}, { 'x-gitea-otp': unheard })).resolves.toBeDefined()
    })

    it('sets no cookie without one', async () => {
      const context = callContext(AuthService.method.signIn)
      const call = async () =>
        authService(app).signIn(create(SignInRequestSchema, { credentials: BY_PASSWORD }), context)
      await expect(call()).rejects.toMatchObject({ reason: 'TWO_FACTOR_REQUIRED' })
      expect(context.responseHeader.has('set-cookie')).toBe(false)
      expect(await app.db.selectFrom('sessions').select('id').execute()).toEqual([])
    })
  })

  it('sets no cookie if it fails', async () => {
    const context = callContext(AuthService.method.signIn)
    const credentials = {
      case: 'passwordCredentials',
      value: { username: 'ada', password: 'wrong' },
    } as const
    const call = async () =>
      authService(app).signIn(create(SignInRequestSchema, { credentials }), context)
    await expect(call()).rejects.toMatchObject({ reason: 'BAD_CREDENTIALS' })
    expect(context.responseHeader.has('set-cookie')).toBe(false)
  })
})

describe('RefreshToken', () => {
  it('finds its cookie among others and returns the next one', async () => {
    const { cookie } = await signIn(BY_PASSWORD)
    app.clock.advance(60)
    const next = await refresh(
      `a=b; not_branchline_refresh=c; ${sentBack(cookie)}; branchline_refresh_too=d`,
    )
    expect(next.result.status).toBe('fulfilled')
    expect(next.cookie).toMatch(
      /^branchline_refresh=[\w.-]+; .*; Expires=Sun, 31 May 2026 10:01:00 GMT$/,
    )
    expect(sentBack(next.cookie ?? '')).not.toBe(sentBack(cookie))
    expect((await refresh(sentBack(next.cookie ?? ''))).result.status).toBe('fulfilled')
  })

  it('clears an invalid cookie', async () => {
    const { result, cookie } = await refresh('branchline_refresh=nonsense')
    expect(result).toMatchObject({ status: 'rejected', reason: { reason: 'BAD_CREDENTIALS' } })
    expect(cookie).toBe(CLEARED)
  })

  it('keeps the cookie if the server is at fault', async () => {
    const { cookie } = await signIn(BY_PASSWORD)
    const failing = 'full_disk before update on sessions begin delete from nowhere; end'
    await transaction(app.db, (tx) => createTrigger(tx, failing))
    const failed = await refresh(sentBack(cookie))
    expect(failed).toMatchObject({ result: { status: 'rejected' }, cookie: null })
  })

  it.each(['', 'a=b', 'branchline_refresh=', 'branchline_refresh'])(
    'refuses the cookies "%s"',
    async (sent) => {
      const { result, cookie } = await refresh(sent)
      expect(result).toMatchObject({ status: 'rejected', reason: { reason: 'UNAUTHENTICATED' } })
      expect(cookie).toBeNull()
    },
  )
})

describe('SignOut', () => {
  it.each(['the access token', 'the cookie', 'both'])('ends the session by %s', async (means) => {
    const { answer, cookie } = await signIn(BY_PASSWORD)
    const caller = means === 'the cookie' ? undefined : await callerOf(answer.accessToken)
    const headers = means === 'the access token' ? undefined : { cookie: sentBack(cookie) }
    expect(await signOut({ ...(caller && { caller }), ...(headers && { headers }) })).toBe(CLEARED)
    await expect(callerOf(answer.accessToken)).rejects.toMatchObject({ reason: 'BAD_CREDENTIALS' })
    expect((await refresh(sentBack(cookie))).result.status).toBe('rejected')
  })

  it('ends both sessions if the access token and the cookie belong to two', async () => {
    const one = await signIn(BY_PASSWORD)
    const two = await signIn(BY_PASSWORD)
    await signOut({
      caller: await callerOf(one.answer.accessToken),
      headers: { cookie: sentBack(two.cookie) },
    })
    await expect(callerOf(one.answer.accessToken)).rejects.toThrow()
    await expect(callerOf(two.answer.accessToken)).rejects.toThrow()
  })

  it('may be repeated', async () => {
    const { cookie } = await signIn(BY_PASSWORD)
    await signOut({ headers: { cookie: sentBack(cookie) } })
    await expect(signOut({ headers: { cookie: sentBack(cookie) } })).resolves.toBe(CLEARED)
  })

  it.each<[string, Call]>([
    ['anonymous callers', {}],
    ['a cookie that is no good', { headers: { cookie: 'branchline_refresh=nonsense' } }],
  ])('refuses %s', async (_, call) => {
    await expect(signOut(call)).rejects.toMatchObject({ reason: 'UNAUTHENTICATED' })
  })
})

describe('GetCurrentUser', () => {
  it('returns the caller with the address', async () => {
    const caller = {
      kind: 'user',
      peer: LOCAL_PEER,
      user: ada,
      credential: { kind: 'password' },
    } as const
    const context = callContext(AuthService.method.getCurrentUser, { caller })
    const answer = await authService(app).getCurrentUser(
      create(GetCurrentUserRequestSchema),
      context,
    )
    expect(answer.user).toMatchObject({ name: 'users/ada', email: 'ada@example.org' })
  })
})
