import { describe, expect, it } from 'vitest'
import { signInByPassword } from '../../../../src/forge/accounts/credentials/credentials.ts'
import { createPasswordHasher } from '../../../../src/forge/accounts/credentials/passwords.ts'
import { authenticateAccessToken } from '../../../../src/forge/accounts/credentials/sessions.ts'
import type { PasswordHasher } from '../../../../src/forge/accounts/ports.ts'
import { updateUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { App } from '../../../../src/forge/app.ts'
import type { Peer } from '../../../../src/forge/core/access.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, LOCAL_PEER, PASSWORD, testApp } from '../../../support/app.ts'

function signIn(app: App, username: string, password = PASSWORD, peer: Peer = LOCAL_PEER) {
  return signInByPassword(
    app,
    peer,
    { username, password },
    { passcode: '', recoveryCode: '' },
    'curl/8',
  )
}

function reasons(outcomes: readonly PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const outcome of outcomes) {
    const reason = outcome.status === 'fulfilled' ? 'OK' : outcome.reason.reason
    counts[reason] = (counts[reason] ?? 0) + 1
  }
  return counts
}

describe('signInByPassword', () => {
  it('starts a session and ignores the case of the username', async () => {
    const app = await testApp()
    const ada = await addUser(app, 'Ada')
    const session = await signIn(app, 'aDA')
    await expect(authenticateAccessToken(app, session.accessToken)).resolves.toMatchObject({
      user: { id: ada.id },
    })
    expect(await app.db.selectFrom('sessions').select('user_agent').execute()).toEqual([
      { user_agent: 'curl/8' },
    ])
  })

  it('gives the same answer for unknown names, custom ids and wrong passwords, after the time of a hash', async () => {
    const real = createPasswordHasher()
    const hashes: string[] = []
    const passwords: PasswordHasher = {
      hash: (password, holder) => real.hash(password, holder),
      verify(hash, password, holder) {
        hashes.push('verify')
        return real.verify(hash, password, holder)
      },
      verifyNothing(holder) {
        hashes.push('verifyNothing')
        return real.verifyNothing(holder)
      },
    }
    const app = await testApp({}, { passwords })
    await addUser(app, 'ada', { user_id: 'chosen' })
    for (const [username, password] of [
      ['ada', 'wrong'],
      ['nobody', PASSWORD],
      // A custom id is not valid for signing in, even with the right password.
      ['chosen', PASSWORD],
      [' ada', PASSWORD],
    ] as const) {
      await expect(signIn(app, username, password)).rejects.toMatchObject({
        reason: 'BAD_CREDENTIALS',
        metadata: {},
      })
    }
    expect(hashes).toEqual(['verify', 'verifyNothing', 'verifyNothing', 'verifyNothing'])
  })

  it('reveals that an account is archived only to callers who know its password', async () => {
    const app = await testApp()
    await addUser(app, 'ada', { state: 'ARCHIVED' })
    await expect(signIn(app, 'ada', 'wrong')).rejects.toMatchObject({ reason: 'BAD_CREDENTIALS' })
    await expect(signIn(app, 'ada')).rejects.toMatchObject({ reason: 'ACCOUNT_ARCHIVED' })
  })

  it('restricts passwords to administrators if so configured, and says so only to callers who know the password', async () => {
    const app = await testApp({ passwordSignIn: false })
    await addUser(app, 'ada')
    await addUser(app, 'root', { role: 'ADMIN' })
    await expect(signIn(app, 'ada', 'wrong')).rejects.toMatchObject({ reason: 'BAD_CREDENTIALS' })
    await expect(signIn(app, 'ada')).rejects.toMatchObject({ reason: 'PASSWORD_SIGN_IN_CLOSED' })
    await expect(signIn(app, 'root')).resolves.toBeDefined()
  })

  it('checks ten of a hundred wrong passwords sent at once from many addresses', async () => {
    const app = await testApp()
    await addUser(app, 'ada')
    const guesses = Array.from({ length: 100 }, (_, i) =>
      signIn(app, i % 2 === 0 ? 'ada' : 'ADA', `guess ${i}`, {
        address: `192.0.2.${i}`,
        loopback: false,
      }),
    )
    expect(reasons(await Promise.allSettled(guesses))).toEqual({
      BAD_CREDENTIALS: 10,
      RATE_LIMITED: 90,
    })
    await expect(signIn(app, 'ada')).rejects.toMatchObject({
      reason: 'RATE_LIMITED',
      metadata: { retry_after_seconds: '600' },
    })
    app.clock.advance(600)
    await expect(signIn(app, 'ada')).resolves.toBeDefined()
  })

  it('limits guesses for names without an account as well', async () => {
    const app = await testApp()
    const guesses = Array.from({ length: 11 }, () => signIn(app, 'nobody', 'guess'))
    expect(reasons(await Promise.allSettled(guesses))).toEqual({
      BAD_CREDENTIALS: 10,
      RATE_LIMITED: 1,
    })
  })

  it('starts no session if the password changes during the check', async () => {
    const real = createPasswordHasher()
    const app = await testApp(
      {},
      { passwords: { ...real, verify: (hash, password) => verifySlowly(hash, password) } },
    )
    const ada = await addUser(app, 'ada')
    async function verifySlowly(hash: string, password: string) {
      const right = await real.verify(hash, password, 'server')
      await transaction(app.db, (tx) =>
        updateUser(tx, ada.id, { password_hash: 'other', token_version: 2 }),
      )
      return right
    }
    await expect(signIn(app, 'ada')).rejects.toMatchObject({ reason: 'BAD_CREDENTIALS' })
  })
})
