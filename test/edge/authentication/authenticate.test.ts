import { Code, ConnectError } from '@connectrpc/connect'
import { beforeEach, describe, expect, it } from 'vitest'
import { authenticate } from '../../../src/edge/authentication/authenticate.ts'
import { toConnectError } from '../../../src/edge/errors.ts'
import { createPersonalAccessToken } from '../../../src/forge/accounts/credentials/personal-access-tokens.ts'
import {
  type SessionGrant,
  startSession,
} from '../../../src/forge/accounts/credentials/sessions.ts'
import { updateUser } from '../../../src/forge/accounts/users/users.rows.ts'
import type { App } from '../../../src/forge/app.ts'
import type { Caller, Peer } from '../../../src/forge/core/access.ts'
import type { Settings } from '../../../src/forge/core/core.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import {
  addUser,
  LOCAL_PEER,
  NO_CLIENT,
  PASSWORD,
  type TestApp,
  testApp,
} from '../../support/app.ts'
import { enableTwoFactor, passcodeAt, wrongPasscode } from '../../support/passcodes.ts'

const BAD_CREDENTIALS = expect.objectContaining({ reason: 'BAD_CREDENTIALS' })

let app: TestApp
let ada: User
let session: SessionGrant
let pat: string

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  session = await startSession(app, ada, NO_CLIENT)
  const byPassword = {
    kind: 'user',
    peer: LOCAL_PEER,
    user: ada,
    credential: { kind: 'password' },
  } as const
  const input = { description: '', expiresInDays: 0, scopes: ['read:user'] }
  pat = (await createPersonalAccessToken(app, byPassword, input)).text
})

async function present(
  authorization: string,
  at: App = app,
  peer: Peer = LOCAL_PEER,
): Promise<Caller> {
  return authenticate(at, new Headers({ authorization }), peer)
}

function basic(text: string): string {
  return `Basic ${Buffer.from(text).toString('base64')}`
}

function having(settings: Partial<Settings>): App {
  return { ...app, settings: { ...app.settings, ...settings } }
}

describe('authenticate', () => {
  it('returns an anonymous caller without credentials', () => {
    expect(authenticate(app, new Headers(), LOCAL_PEER)).toEqual({
      kind: 'anonymous',
      peer: LOCAL_PEER,
    })
  })

  it('does not accept a cookie as a credential', () => {
    const headers = new Headers({ cookie: `branchline_refresh=${session.refreshToken}` })
    expect(authenticate(app, headers, LOCAL_PEER)).toEqual({ kind: 'anonymous', peer: LOCAL_PEER })
  })

  it.each<[string, () => string, string]>([
    ['an access token', () => `Bearer ${session.accessToken}`, 'session'],
    ['a scheme in any case', () => `bEARER   ${session.accessToken}`, 'session'],
    ['a personal access token', () => `Bearer ${pat}`, 'token'],
    ['a personal access token of the scheme "token"', () => `token ${pat}`, 'token'],
    ['a password', () => basic(`ada:${PASSWORD}`), 'password'],
    ['a password with the name in another case', () => basic(`ADA:${PASSWORD}`), 'password'],
    ['a token as password', () => basic(`ada:${pat}`), 'token'],
    ['a token as password beside any name', () => basic(`x-access-token:${pat}`), 'token'],
    ['a token as username', () => basic(`${pat}:`), 'token'],
    [
      'a token as username with the customary password',
      () => basic(`${pat}:x-oauth-basic`),
      'token',
    ],
  ])('accepts %s', async (_, authorization, kind) => {
    await expect(present(authorization())).resolves.toMatchObject({
      kind: 'user',
      peer: LOCAL_PEER,
      user: { id: ada.id },
      credential: { kind },
    })
  })

  it('returns the session and the scopes of the caller', async () => {
    await expect(present(`Bearer ${session.accessToken}`)).resolves.toMatchObject({
      credential: { sessionId: session.sessionId },
    })
    await expect(present(basic(`ada:${pat}`))).resolves.toMatchObject({
      credential: { scopes: { names: ['read:user'] } },
    })
  })

  it('reads passwords as UTF-8, colons included', async () => {
    const password = 'päss:wörd: 🐎'
    await addUser(app, 'bob', { password_hash: await app.passwords.hash(password, 'server') })
    await expect(present(basic(`bob:${password}`))).resolves.toMatchObject({
      user: { username: 'bob' },
    })
  })

  it.each<[string, () => string]>([
    ['an empty header', () => ''],
    ['a scheme alone', () => 'Bearer'],
    ['a token alone', () => pat],
    ['three words', () => `Bearer ${pat} ${pat}`],
    ['several headers', () => `Bearer ${session.accessToken}, Bearer ${session.accessToken}`],
    ['several headers without a blank', () => `Bearer ${pat},Bearer ${pat}`],
    ['another scheme', () => 'Digest username="ada", response="0"'],
    ['another scheme of two words', () => `Negotiate ${pat}`],
    ['a text that is no token', () => 'Bearer null'],
    ['a refresh token', () => `Bearer ${session.refreshToken}`],
    ['an access token of the scheme "token"', () => `token ${session.accessToken}`],
    ['a token that is not ours', () => `token ${pat.replace(/.$/, '-')}`],
    ['Basic that is no base64', () => 'Basic %%%'],
    ['Basic without a colon', () => basic('ada')],
    ['Basic that is no UTF-8', () => `Basic ${Buffer.from([0x61, 0x3a, 0xff]).toString('base64')}`],
    ['a wrong password', () => basic('ada:wrong')],
    ['no password', () => basic('ada:')],
    ['an access token as password', () => basic(`ada:${session.accessToken}`)],
    ['a token as username beside another password', () => basic(`${pat}:${PASSWORD}`)],
    ['a deleted token as password', () => basic(`ada:branchline_pat_${'0'.repeat(38)}`)],
  ])('refuses %s', async (_, authorization) => {
    await expect(present(authorization())).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('refuses all credentials of an archived account with the same error', async () => {
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { state: 'ARCHIVED' }))
    for (const authorization of [
      `Bearer ${session.accessToken}`,
      `token ${pat}`,
      basic(`ada:${PASSWORD}`),
    ]) {
      await expect(present(authorization)).rejects.toEqual(BAD_CREDENTIALS)
    }
  })

  it('ignores Basic passwords if they are disabled, but accepts tokens', async () => {
    const tokensOnly = having({ basicPassword: false })
    for (const password of [PASSWORD, 'wrong']) {
      await expect(present(basic(`ada:${password}`), tokensOnly)).resolves.toEqual({
        kind: 'anonymous',
        peer: LOCAL_PEER,
      })
    }
    await expect(present(basic(`ada:${pat}`), tokensOnly)).resolves.toMatchObject({
      user: { id: ada.id },
    })
    await expect(
      present(basic(`ada:branchline_pat_${'0'.repeat(38)}`), tokensOnly),
    ).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('refuses Basic passwords of users if only administrators may sign in with a password', async () => {
    await expect(
      present(basic(`ada:${PASSWORD}`), having({ passwordSignIn: false })),
    ).rejects.toMatchObject({
      reason: 'PASSWORD_SIGN_IN_CLOSED',
    })
  })

  describe('of an account with a second factor', () => {
    let secret: string

    beforeEach(async () => {
      secret = await enableTwoFactor(app, ada)
    })

    const withHeaders = async (headers: Record<string, string>) =>
      authenticate(
        app,
        new Headers({ authorization: basic(`ada:${PASSWORD}`), ...headers }),
        LOCAL_PEER,
      )

    it.each(['X-Service-OTP', 'X-Gitea-OTP', 'X-Forgejo-OTP'])(
      'takes a passcode in %s',
      async (name) => {
        await expect(withHeaders({ [name]: passcodeAt(secret, app.clock) })).resolves.toMatchObject(
          {
            user: { id: ada.id },
          },
        )
      },
    )

    it('prefers the header of Branchline if there are several', async () => {
      const [good, wrong] = [passcodeAt(secret, app.clock), wrongPasscode(secret, app.clock)]
      await expect(withHeaders({ 'x-gitea-otp': good, 'x-service-otp': wrong })).rejects.toThrow(
        ConnectError,
      )
      await expect(
        withHeaders({ 'x-gitea-otp': wrong, 'x-service-otp': good }),
      ).resolves.toMatchObject({
        kind: 'user',
      })
    })

    it.each<[string, () => Record<string, string>]>([
      ['no passcode', () => ({})],
      ['an empty one', () => ({ 'x-service-otp': '' })],
      ['a wrong one', () => ({ 'x-service-otp': wrongPasscode(secret, app.clock) })],
      // Two headers, as Node joins them.
      [
        'two',
        () => ({
          'x-service-otp': `${passcodeAt(secret, app.clock)}, ${passcodeAt(secret, app.clock, 1)}`,
        }),
      ],
    ])('asks for a passcode in the header when given %s', async (_, headers) => {
      const error = toConnectError(await withHeaders(headers()).catch((thrown: unknown) => thrown))
      expect([error.code, error.metadata.get('x-service-otp')]).toEqual([
        Code.Unauthenticated,
        'required',
      ])
    })

    it('does not require a passcode with other credentials', async () => {
      for (const authorization of [
        `Bearer ${session.accessToken}`,
        `token ${pat}`,
        basic(`ada:${pat}`),
      ]) {
        await expect(present(authorization)).resolves.toMatchObject({ user: { id: ada.id } })
      }
    })

    it('is disclosed only to callers who know the password', async () => {
      await expect(present(basic('ada:wrong'))).rejects.toEqual(BAD_CREDENTIALS)
    })
  })

  it('ignores a passcode if the account has no second factor', async () => {
    const headers = new Headers({
      authorization: basic(`ada:${PASSWORD}`),
      'x-service-otp': 'nonsense',
    })
    await expect(authenticate(app, headers, LOCAL_PEER)).resolves.toMatchObject({
      user: { id: ada.id },
    })
  })

  it('limits guesses by Basic, but no other credentials', async () => {
    const attacker = { address: '192.0.2.1', loopback: false }
    for (let i = 0; i < 10; i++) {
      await expect(present(basic(`ada:guess ${i}`), app, attacker)).rejects.toEqual(BAD_CREDENTIALS)
    }
    await expect(present(basic(`ada:${PASSWORD}`), app, attacker)).rejects.toMatchObject({
      reason: 'RATE_LIMITED',
    })
    await expect(present(`Bearer ${session.accessToken}`, app, attacker)).resolves.toMatchObject({
      kind: 'user',
    })
    await expect(present(basic(`ada:${pat}`), app, attacker)).resolves.toMatchObject({
      kind: 'user',
    })
  })
})
