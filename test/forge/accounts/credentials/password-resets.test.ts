import { beforeEach, describe, expect, it } from 'vitest'
import {
  authenticateToken,
  signInByPassword,
} from '../../../../src/forge/accounts/credentials/credentials.ts'
import { sendDueMails } from '../../../../src/forge/accounts/credentials/mail-queue.ts'
import {
  createPasswordResetToken,
  requestPasswordReset,
  resetPassword,
} from '../../../../src/forge/accounts/credentials/password-resets.ts'
import { createPersonalAccessToken } from '../../../../src/forge/accounts/credentials/personal-access-tokens.ts'
import {
  authenticateAccessToken,
  refreshSession,
  startSession,
} from '../../../../src/forge/accounts/credentials/sessions.ts'
import {
  confirmTwoFactor,
  enrollTwoFactor,
} from '../../../../src/forge/accounts/credentials/two-factor.ts'
import type { AccountsApp, ResetSubject } from '../../../../src/forge/accounts/ports.ts'
import type { UserChanges } from '../../../../src/forge/accounts/schema.ts'
import { findUserById, updateUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import { deleteUser } from '../../../../src/forge/administration/delete-user.ts'
import type { SignedIn } from '../../../../src/forge/core/access.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { Scopes } from '../../../../src/forge/core/scopes.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import type { Mail } from '../../../../src/platform/mail/mail.ts'
import {
  addUser,
  LOCAL_PEER,
  NO_CLIENT,
  PASSWORD,
  type TestApp,
  testApp,
} from '../../../support/app.ts'
import { passcodeAt, STEP_SECONDS, wrongPasscode } from '../../../support/passcodes.ts'

const NEW_PASSWORD = 'another horse'
const NONE = { passcode: '', recoveryCode: '' }
const INVALID = expect.objectContaining({ reason: 'INVALID_RESET_TOKEN' })

let app: TestApp
let sent: Mail[]
let ada: User
let bob: User

beforeEach(async () => {
  sent = []
  app = await testApp(
    {},
    {
      mail: {
        async send(mail) {
          sent.push(mail)
          return { kind: 'accepted' }
        },
      },
    },
  )
  ada = await addUser(app, 'ada', { role: 'ADMIN' })
  bob = await addUser(app, 'Bob', { email: 'Bob@example.org', email_key: 'bob@example.org' })
})

async function request(...subjects: ResetSubject[]): Promise<void> {
  for (const subject of subjects) requestPasswordReset(app, subject)
  await app.background.settled()
  await sendDueMails(app)
}

/** Returns the token in the latest mail. */
function mailedToken(): string {
  return /token=(\S+)$/m.exec(sent.at(-1)?.text ?? '')?.[1] ?? ''
}

const as = (user: User): SignedIn => ({
  kind: 'user',
  peer: LOCAL_PEER,
  user,
  credential: { kind: 'password' },
})
const tokenFor = async (user: User) => (await createPasswordResetToken(app, as(ada), user)).token
const change = (user: User, changes: UserChanges) =>
  transaction(app.db, (tx) => updateUser(tx, user.id, changes))
const signIn = (password: string) =>
  signInByPassword(app, LOCAL_PEER, { username: 'bob', password }, NONE, '').then(() => 'signed in')

describe('a request for a reset', () => {
  it.each<[string, ResetSubject]>([
    ['the username', { username: 'Bob' }],
    ['the username in another case', { username: 'bOB' }],
    ['the address', { email: 'Bob@example.org' }],
    ['the address in another case', { email: 'BOB@EXAMPLE.ORG' }],
  ])('by %s mails the owner a link that sets a new password', async (_, subject) => {
    await request(subject)
    expect(sent).toEqual([
      {
        from: 'noreply@git.example.org',
        to: 'Bob@example.org',
        subject: 'Set a new password',
        text: expect.stringMatching(
          /^https:\/\/git\.example\.org\/reset-password\?token=[\w-]{43}$/m,
        ),
      },
    ])
    await resetPassword(app, mailedToken(), NEW_PASSWORD, NONE)
    await expect(signIn(NEW_PASSWORD)).resolves.toBe('signed in')
  })

  it('sends nothing to other accounts', async () => {
    await addUser(app, 'archived', {
      email: 'a@example.org',
      email_key: 'a@example.org',
      state: 'ARCHIVED',
    })
    await addUser(app, 'sso', {
      email: 's@example.org',
      email_key: 's@example.org',
      password_hash: '',
    })
    await addUser(app, 'chosen', {
      email: 'c@example.org',
      email_key: 'c@example.org',
      user_id: 'the-id',
    })
    await request(
      { username: 'nobody' },
      { email: 'nobody@example.org' },
      { email: 'bob' },
      { username: 'bob@example.org' },
      { username: 'archived' },
      { email: 'a@example.org' },
      { username: 'sso' },
      { email: 's@example.org' },
      // An account without an address, and the address that all of those have.
      { username: 'ada' },
      { email: '' },
      // The custom id is not the username.
      { username: 'the-id' },
      { username: 'x'.repeat(100_000) },
      { email: `${'x'.repeat(100_000)}@example.org` },
    )
    expect(sent).toEqual([])
  })

  it('sends at most one mail to an account in three minutes, under any of its names', async () => {
    await request({ username: 'bob' }, { email: 'bob@example.org' }, { username: 'BOB' })
    app.clock.advance(179)
    await request({ username: 'bob' })
    await resetPassword(app, mailedToken(), NEW_PASSWORD, NONE)
    await request({ username: 'bob' })
    expect(sent).toHaveLength(1)
    app.clock.advance(1)
    await request({ username: 'bob' })
    expect(sent).toHaveLength(2)
  })

  it('is answered before the account is looked up', async () => {
    await change(bob, { state: 'ARCHIVED' })
    requestPasswordReset(app, { username: 'bob' })
    await change(bob, { state: 'NORMAL' })
    await app.background.settled()
    await sendDueMails(app)
    expect(sent).toHaveLength(1)
  })

  it('voids the token that was mailed before', async () => {
    await request({ username: 'bob' })
    const first = mailedToken()
    app.clock.advance(180)
    await request({ username: 'bob' })
    await expect(resetPassword(app, first, NEW_PASSWORD, NONE)).rejects.toEqual(INVALID)
    await expect(resetPassword(app, mailedToken(), NEW_PASSWORD, NONE)).resolves.toBeUndefined()
  })

  it('waits in a queue of a thousand, which accepts more once it is processed', async () => {
    for (let i = 0; i < 1000; i++) requestPasswordReset(app, { username: `nobody-${i}` })
    expect(() => requestPasswordReset(app, { username: 'bob' })).toThrow(
      expect.objectContaining({ reason: 'RATE_LIMITED' }),
    )
    await app.background.settled()
    await request({ username: 'bob' })
    expect(sent).toHaveLength(1)
  })

  it('is processed after the mail of another one could not be sent, which is logged', async () => {
    const warnings: unknown[] = []
    app.log.warn = (...line: unknown[]) => warnings.push(line)
    await addUser(app, 'carol', { email: 'carol@example.org', email_key: 'carol@example.org' })
    const mail: AccountsApp['mail'] = {
      async send(message) {
        if (message.to === 'carol@example.org') return { kind: 'deferred', reason: 'status 450' }
        sent.push(message)
        return { kind: 'accepted' }
      },
    }
    app = { ...app, mail }
    await request({ username: 'carol' }, { username: 'bob' })
    expect(sent.map(({ to }) => to)).toEqual(['Bob@example.org'])
    expect(warnings).toEqual([
      [expect.objectContaining({ reason: 'status 450' }), 'a mail was deferred'],
    ])
  })

  it('is refused if no mail is configured', () => {
    expect(() => requestPasswordReset({ ...app, mail: undefined }, { username: 'bob' })).toThrow(
      expect.objectContaining({ reason: 'MAIL_NOT_CONFIGURED' }),
    )
  })

  it.each([
    ['http://127.0.0.1:8080', 'noreply@[127.0.0.1]'],
    ['http://[::1]:8080', 'noreply@[IPv6:::1]'],
    ['https://git.example.org/forge', 'noreply@git.example.org'],
  ])('has the sender address of the host of %s', async (publicUrl, from) => {
    app = { ...app, publicUrl: () => publicUrl }
    await request({ username: 'bob' })
    expect(sent[0]).toMatchObject({
      from,
      text: expect.stringContaining(`\n${publicUrl}/reset-password?token=`),
    })
  })
})

describe('a reset token', () => {
  it('works once, even if it is used twenty times at once', async () => {
    const token = await tokenFor(bob)
    const attempts = Array.from({ length: 20 }, (_, i) =>
      resetPassword(app, token, `password ${i}`, NONE),
    )
    const outcomes = await Promise.allSettled(attempts)
    const winners = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
    expect(winners).toHaveLength(1)
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual(
      Array(19).fill({ status: 'rejected', reason: INVALID }),
    )
    await expect(signIn(`password ${winners[0]}`)).resolves.toBe('signed in')
    await expect(resetPassword(app, token, NEW_PASSWORD, NONE)).rejects.toEqual(INVALID)
  })

  it.each([
    [180 * 60 - 1, true],
    [180 * 60, false],
  ])('after %i seconds is valid: %s', async (seconds, good) => {
    const token = await tokenFor(bob)
    app.clock.advance(seconds)
    const outcome = resetPassword(app, token, NEW_PASSWORD, NONE)
    await (good
      ? expect(outcome).resolves.toBeUndefined()
      : expect(outcome).rejects.toEqual(INVALID))
  })

  it.each<[string, UserChanges, boolean]>([
    ['the password', { password_hash: 'another' }, false],
    ['the address', { email: 'robert@example.org', email_key: 'robert@example.org' }, false],
    // Only the case differs, but the mail may have gone to another mailbox.
    ['the case of the address', { email: 'bob@example.org' }, false],
    ['the username', { username: 'robert' }, false],
    ['the display name', { display_name: 'Robert' }, true],
    ['the role', { role: 'ADMIN' }, true],
    ['nothing', { username: 'Bob', email: 'Bob@example.org', state: 'NORMAL' }, true],
  ])('after a change of %s is valid: %s', async (_, changes, good) => {
    const token = await tokenFor(bob)
    await change(bob, changes)
    const outcome = resetPassword(app, token, NEW_PASSWORD, NONE)
    await (good
      ? expect(outcome).resolves.toBeUndefined()
      : expect(outcome).rejects.toEqual(INVALID))
  })

  it('is void once the account has been archived, even after it is restored', async () => {
    const token = await tokenFor(bob)
    await change(bob, { state: 'ARCHIVED' })
    await expect(resetPassword(app, token, NEW_PASSWORD, NONE)).rejects.toEqual(INVALID)
    await change(bob, { state: 'NORMAL' })
    await expect(resetPassword(app, token, NEW_PASSWORD, NONE)).rejects.toEqual(INVALID)
  })

  it('is deleted with the account', async () => {
    const token = await tokenFor(bob)
    await deleteUser(app, bob, 'refused')
    await expect(resetPassword(app, token, NEW_PASSWORD, NONE)).rejects.toEqual(INVALID)
  })

  it.each(['', 'nonsense', 'A'.repeat(43)])('is not "%s"', async (token) => {
    await tokenFor(bob)
    await expect(resetPassword(app, token, NEW_PASSWORD, NONE)).rejects.toEqual(INVALID)
  })

  it.each(['', 'short', 'x'.repeat(257)])(
    'is not consumed if the new password is refused: %j',
    async (password) => {
      const token = await tokenFor(await change(bob, { username: 'robert-tables' }))
      for (const refused of [password, 'Robert-Tables']) {
        await expect(resetPassword(app, token, refused, NONE)).rejects.toMatchObject({
          reason: 'WEAK_PASSWORD',
        })
      }
      await expect(resetPassword(app, token, NEW_PASSWORD, NONE)).resolves.toBeUndefined()
    },
  )

  it('is stored as a hash', async () => {
    const token = await tokenFor(bob)
    const rows = await app.db.selectFrom('password_resets').selectAll().execute()
    expect(rows).toEqual([
      expect.objectContaining({ token_hash: expect.stringMatching(/^[\da-f]{64}$/) }),
    ])
    expect(JSON.stringify(rows)).not.toContain(token)
  })
})

describe('a reset', () => {
  it('ends all sessions and their access tokens, but not personal access tokens', async () => {
    const session = await startSession(app, bob, NO_CLIENT)
    const pat = await createPersonalAccessToken(app, as(bob), {
      description: '',
      expiresInDays: 0,
      scopes: ['all'],
    })
    await resetPassword(app, await tokenFor(bob), NEW_PASSWORD, NONE)
    await expect(authenticateAccessToken(app, session.accessToken)).rejects.toMatchObject({
      reason: 'BAD_CREDENTIALS',
    })
    await expect(refreshSession(app, session.refreshToken)).rejects.toMatchObject({
      reason: 'BAD_CREDENTIALS',
    })
    await expect(signIn(PASSWORD)).rejects.toMatchObject({ reason: 'BAD_CREDENTIALS' })
    await expect(authenticateToken(app, LOCAL_PEER, pat.text)).resolves.toMatchObject({
      user: { username: 'Bob' },
    })
  })

  it('leaves no session that is refreshed, or started with the old password, at the same time', async () => {
    const session = await startSession(app, bob, NO_CLIENT)
    const token = await tokenFor(bob)
    const raced = await Promise.allSettled([
      signInByPassword(app, LOCAL_PEER, { username: 'bob', password: PASSWORD }, NONE, ''),
      resetPassword(app, token, NEW_PASSWORD, NONE),
      ...Array.from({ length: 20 }, () => refreshSession(app, session.refreshToken)),
    ])
    expect(raced[1]?.status).toBe('fulfilled')
    const grants = raced.flatMap((one) =>
      one.status === 'fulfilled' && one.value ? [one.value] : [],
    )
    for (const { accessToken, refreshToken } of [session, ...grants]) {
      await expect(authenticateAccessToken(app, accessToken)).rejects.toMatchObject({
        reason: 'BAD_CREDENTIALS',
      })
      await expect(refreshSession(app, refreshToken)).rejects.toMatchObject({
        reason: 'BAD_CREDENTIALS',
      })
    }
  })

  it('requires the second factor, and a wrong one does not consume the token', async () => {
    const { secret } = await enrollTwoFactor(app, as(bob), PASSWORD)
    const { recoveryCodes } = await confirmTwoFactor(app, bob, passcodeAt(secret, app.clock))
    app.clock.advance(STEP_SECONDS)
    const token = await tokenFor(bob)
    await expect(resetPassword(app, token, NEW_PASSWORD, NONE)).rejects.toMatchObject({
      reason: 'TWO_FACTOR_REQUIRED',
    })
    const wrong = { passcode: wrongPasscode(secret, app.clock), recoveryCode: '' }
    await expect(resetPassword(app, token, NEW_PASSWORD, wrong)).rejects.toMatchObject({
      reason: 'TWO_FACTOR_INVALID',
    })
    const passcode = { passcode: passcodeAt(secret, app.clock), recoveryCode: '' }
    // A refused password does not consume the passcode either.
    await expect(resetPassword(app, token, 'short', passcode)).rejects.toMatchObject({
      reason: 'WEAK_PASSWORD',
    })
    await expect(resetPassword(app, token, NEW_PASSWORD, passcode)).resolves.toBeUndefined()
    const byCode = { passcode: '', recoveryCode: recoveryCodes[0] ?? '' }
    await expect(
      resetPassword(app, await tokenFor(bob), 'third horse', byCode),
    ).resolves.toBeUndefined()
  })
})

describe('a reset token from an administrator', () => {
  it('sets a password for an account that has none', async () => {
    const sso = await addUser(app, 'sso', { password_hash: '' })
    await resetPassword(app, await tokenFor(sso), NEW_PASSWORD, NONE)
    const found = await findUserById(app.db, sso.id)
    await expect(
      app.passwords.verify(found?.password_hash ?? '', NEW_PASSWORD, 'server'),
    ).resolves.toBe(true)
  })

  it('replaces the previous token and does not delay the next mail', async () => {
    const first = await tokenFor(bob)
    const { expireTime } = await createPasswordResetToken(app, as(ada), bob)
    expect(expireTime * 1000).toBe(app.clock.now() + 180 * 60 * 1000)
    await expect(resetPassword(app, first, NEW_PASSWORD, NONE)).rejects.toEqual(INVALID)
    await request({ username: 'bob' })
    expect(sent).toHaveLength(1)
  })

  it('does not allow an earlier mail', async () => {
    await request({ username: 'bob' })
    await tokenFor(bob)
    await request({ username: 'bob' })
    expect(sent).toHaveLength(1)
  })

  it('is not created for archived or deleted accounts', async () => {
    await change(bob, { state: 'ARCHIVED' })
    await expect(tokenFor(bob)).rejects.toMatchObject({ reason: 'ACCOUNT_ARCHIVED' })
    await deleteUser(app, bob, 'refused')
    await expect(tokenFor(bob)).rejects.toMatchObject({ reason: 'USER_NOT_FOUND' })
  })

  it('is not created by a personal access token for its own account', async () => {
    const byToken: SignedIn = {
      ...as(ada),
      credential: { kind: 'token', uuid: '', scopes: Scopes.fromText('write:admin') },
    }
    await expect(createPasswordResetToken(app, byToken, ada)).rejects.toMatchObject({
      reason: 'SESSION_REQUIRED',
    })
    await expect(createPasswordResetToken(app, byToken, bob)).resolves.toBeDefined()
  })
})
