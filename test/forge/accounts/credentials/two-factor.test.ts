import { beforeEach, describe, expect, it } from 'vitest'
import {
  authenticateBasic,
  signInByPassword,
} from '../../../../src/forge/accounts/credentials/credentials.ts'
import { NO_PASSWORD } from '../../../../src/forge/accounts/credentials/passwords.ts'
import {
  confirmTwoFactor,
  disableTwoFactor,
  enrollTwoFactor,
  getTwoFactor,
  regenerateRecoveryCodes,
  requireSecondFactor,
} from '../../../../src/forge/accounts/credentials/two-factor.ts'
import { deleteUser, updateUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { SignedIn } from '../../../../src/forge/core/access.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import type { Holder } from '../../../../src/platform/concurrency/holders.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { addUser, LOCAL_PEER, PASSWORD, type TestApp, testApp } from '../../../support/app.ts'
import { passcodeAt, STEP_SECONDS, wrongPasscode } from '../../../support/passcodes.ts'

const NONE = { passcode: '', recoveryCode: '' }
const INVALID = expect.objectContaining({ reason: 'TWO_FACTOR_INVALID' })

let app: TestApp
let ada: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
})

const as = (user: User): SignedIn => ({
  kind: 'user',
  peer: LOCAL_PEER,
  user,
  credential: { kind: 'password' },
})
const byPasscode = (passcode: string) => ({ passcode, recoveryCode: '' })
const byRecoveryCode = (recoveryCode = '') => ({ passcode: '', recoveryCode })
const require = (factor = NONE, user = ada) => requireSecondFactor(app, user, factor, 'sign-in')

/** Enrols, confirms, and advances past the step that confirmed. */
async function enable(user = ada): Promise<{ secret: string; recoveryCodes: string[] }> {
  const { secret } = await enrollTwoFactor(app, as(user), PASSWORD)
  const { recoveryCodes } = await confirmTwoFactor(app, user, passcodeAt(secret, app.clock))
  app.clock.advance(STEP_SECONDS)
  return { secret, recoveryCodes }
}

function countReasons(outcomes: readonly PromiseSettledResult<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const outcome of outcomes) {
    const reason = outcome.status === 'fulfilled' ? 'OK' : outcome.reason.reason
    counts[reason] = (counts[reason] ?? 0) + 1
  }
  return counts
}

describe('enabling a second factor', () => {
  it('changes the state from DISABLED to PENDING to ENABLED', async () => {
    const start = app.clock.now() / 1000
    const off = {
      state: 'DISABLED',
      createTime: null,
      confirmTime: null,
      lastUsedTime: null,
      recoveryCodesRemaining: 0,
    }
    expect(await getTwoFactor(app, ada)).toEqual(off)
    const enrolled = await enrollTwoFactor(app, as(ada), PASSWORD)
    expect(enrolled.twoFactor).toEqual({ ...off, state: 'PENDING', createTime: start })
    app.clock.advance(60)
    const confirmed = await confirmTwoFactor(app, ada, passcodeAt(enrolled.secret, app.clock))
    expect(confirmed.twoFactor).toEqual({
      state: 'ENABLED',
      createTime: start,
      confirmTime: start + 60,
      lastUsedTime: start + 60,
      recoveryCodesRemaining: 10,
    })
    expect(new Set(confirmed.recoveryCodes).size).toBe(10)
    expect(await getTwoFactor(app, ada)).toEqual(confirmed.twoFactor)
  })

  it('requires no second factor before it is confirmed', async () => {
    await expect(require()).resolves.toBeUndefined()
    await enrollTwoFactor(app, as(ada), PASSWORD)
    await expect(require()).resolves.toBeUndefined()
    await expect(require(byPasscode('000000'))).resolves.toBeUndefined()
  })

  it('requires the password, whose guesses count together with those of sign-ins', async () => {
    for (let i = 0; i < 10; i++) {
      await expect(enrollTwoFactor(app, as(ada), `guess ${i}`)).rejects.toMatchObject({
        reason: 'BAD_CREDENTIALS',
      })
    }
    await expect(enrollTwoFactor(app, as(ada), PASSWORD)).rejects.toMatchObject({
      reason: 'RATE_LIMITED',
    })
    const credentials = { username: 'ada', password: PASSWORD }
    await expect(signInByPassword(app, LOCAL_PEER, credentials, NONE, '')).rejects.toMatchObject({
      reason: 'RATE_LIMITED',
    })
    expect(await getTwoFactor(app, ada)).toMatchObject({ state: 'DISABLED' })
  })

  it('requires no password of an account without one', async () => {
    const sso = await addUser(app, 'sso', { password_hash: NO_PASSWORD })
    const { secret } = await enrollTwoFactor(app, as(sso), '')
    await confirmTwoFactor(app, sso, passcodeAt(secret, app.clock))
    app.clock.advance(STEP_SECONDS)
    await disableTwoFactor(app, as(sso), sso, {
      password: '',
      ...byPasscode(passcodeAt(secret, app.clock)),
    })
    expect(await getTwoFactor(app, sso)).toMatchObject({ state: 'DISABLED' })
  })

  it('accepts only the latest secret', async () => {
    const first = await enrollTwoFactor(app, as(ada), PASSWORD)
    const second = await enrollTwoFactor(app, as(ada), PASSWORD)
    await expect(confirmTwoFactor(app, ada, passcodeAt(first.secret, app.clock))).rejects.toEqual(
      INVALID,
    )
    await expect(
      confirmTwoFactor(app, ada, passcodeAt(second.secret, app.clock)),
    ).resolves.toBeDefined()
  })

  it('expires after an hour', async () => {
    const { secret } = await enrollTwoFactor(app, as(ada), PASSWORD)
    app.clock.advance(3599)
    expect(await getTwoFactor(app, ada)).toMatchObject({ state: 'PENDING' })
    app.clock.advance(1)
    expect(await getTwoFactor(app, ada)).toMatchObject({ state: 'DISABLED', createTime: null })
    await expect(confirmTwoFactor(app, ada, passcodeAt(secret, app.clock))).rejects.toMatchObject({
      reason: 'TWO_FACTOR_NOT_PENDING',
    })
    const anew = await enrollTwoFactor(app, as(ada), PASSWORD)
    await expect(
      confirmTwoFactor(app, ada, passcodeAt(anew.secret, app.clock)),
    ).resolves.toBeDefined()
  })

  it('cannot start again once the second factor is enabled', async () => {
    const { secret } = await enable()
    await expect(enrollTwoFactor(app, as(ada), PASSWORD)).rejects.toMatchObject({
      reason: 'TWO_FACTOR_ALREADY_ENABLED',
    })
    await expect(require(byPasscode(passcodeAt(secret, app.clock)))).resolves.toBeUndefined()
  })

  it('fails for an account that is deleted while its password is checked', async () => {
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    await expect(enrollTwoFactor(app, as(ada), PASSWORD)).rejects.toMatchObject({
      reason: 'USER_NOT_FOUND',
    })
  })

  it('succeeds for one of many requests at once, whose recovery codes are valid', async () => {
    const { secret } = await enrollTwoFactor(app, as(ada), PASSWORD)
    const passcode = passcodeAt(secret, app.clock)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => confirmTwoFactor(app, ada, passcode)),
    )
    expect(countReasons(outcomes)).toEqual({ OK: 1, TWO_FACTOR_NOT_PENDING: 4 })
    const won = outcomes.find((outcome) => outcome.status === 'fulfilled')
    await expect(require(byRecoveryCode(won?.value.recoveryCodes[9]))).resolves.toBeUndefined()
  })

  it('stores neither the secret nor the codes in readable form', async () => {
    const { secret, recoveryCodes } = await enable()
    const stored = [
      ...(await app.db.selectFrom('two_factors').selectAll().execute()),
      ...(await app.db.selectFrom('recovery_codes').selectAll().execute()),
    ].flatMap((row): unknown[] => Object.values(row))
    const texts = stored
      .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
      .join('\n')
    expect(texts).toContain('$argon2id$')
    expect(texts).not.toContain(secret)
    for (const code of recoveryCodes) expect(texts).not.toContain(code.slice(5))
  })

  it('survives a new password and archiving, and ends when the account is deleted', async () => {
    const { secret } = await enable()
    const password_hash = await app.passwords.hash('another horse', 'server')
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { password_hash, token_version: 2 }))
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { state: 'ARCHIVED' }))
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { state: 'NORMAL' }))
    await expect(require()).rejects.toMatchObject({ reason: 'TWO_FACTOR_REQUIRED' })
    await expect(require(byPasscode(passcodeAt(secret, app.clock)))).resolves.toBeUndefined()
    await transaction(app.db, (tx) => tx.deleteFrom('users').where('id', '=', ada.id).execute())
    expect(await app.db.selectFrom('two_factors').select('user_id').execute()).toEqual([])
    expect(await app.db.selectFrom('recovery_codes').select('user_id').execute()).toEqual([])
  })
})

describe('a passcode', () => {
  it('works once', async () => {
    const { secret } = await enable()
    const passcode = byPasscode(passcodeAt(secret, app.clock))
    await expect(require(passcode)).resolves.toBeUndefined()
    await expect(require(passcode)).rejects.toEqual(INVALID)
  })

  it('that confirmed the secret cannot be used again', async () => {
    const { secret } = await enrollTwoFactor(app, as(ada), PASSWORD)
    const passcode = passcodeAt(secret, app.clock)
    await confirmTwoFactor(app, ada, passcode)
    await expect(require(byPasscode(passcode))).rejects.toEqual(INVALID)
    await expect(require(byPasscode(passcodeAt(secret, app.clock, -1)))).rejects.toEqual(INVALID)
    await expect(require(byPasscode(passcodeAt(secret, app.clock, 1)))).resolves.toBeUndefined()
  })

  it('does not work after a newer one, even if it has not expired', async () => {
    const { secret } = await enable()
    const [before, now, after] = [-1, 0, 1].map((steps) =>
      byPasscode(passcodeAt(secret, app.clock, steps)),
    )
    await expect(require(after)).resolves.toBeUndefined()
    await expect(require(now)).rejects.toEqual(INVALID)
    await expect(require(before)).rejects.toEqual(INVALID)
  })

  it('is refused like a wrong one when it is used again', async () => {
    const { secret } = await enable()
    const used = byPasscode(passcodeAt(secret, app.clock))
    await require(used)
    const refusalOf = async (factor: typeof NONE) => {
      const error = await require(factor).catch((thrown: unknown) => thrown)
      return JSON.stringify(
        error,
        Object.getOwnPropertyNames(error).filter((name) => name !== 'stack'),
      )
    }
    expect(await refusalOf(used)).toBe(
      await refusalOf(byPasscode(wrongPasscode(secret, app.clock))),
    )
  })

  it('of another account is refused', async () => {
    await enable()
    const bob = await addUser(app, 'bob')
    const ofBob = await enable(bob)
    await expect(require(byPasscode(passcodeAt(ofBob.secret, app.clock)))).rejects.toEqual(INVALID)
  })

  it('that is missing leads to a different error than a wrong one', async () => {
    await enable()
    await expect(require()).rejects.toMatchObject({ reason: 'TWO_FACTOR_REQUIRED' })
    await expect(require(byPasscode(' '))).rejects.toEqual(INVALID)
  })

  it('succeeds once when it is used twenty times at once', async () => {
    const { secret } = await enable()
    const passcode = byPasscode(passcodeAt(secret, app.clock))
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => require(passcode)))
    expect(countReasons(outcomes).OK).toBe(1)
  })

  it('is consumed by a request that fails later, but not by one that is refused earlier', async () => {
    const { secret } = await enable()
    const passcode = byPasscode(passcodeAt(secret, app.clock))
    const wrong = { username: 'ada', password: 'wrong' }
    await expect(signInByPassword(app, LOCAL_PEER, wrong, passcode, '')).rejects.toMatchObject({
      reason: 'BAD_CREDENTIALS',
    })
    await expect(
      authenticateBasic(app, LOCAL_PEER, wrong, passcode.passcode),
    ).rejects.toMatchObject({
      reason: 'BAD_CREDENTIALS',
    })
    const disable = { password: 'wrong', ...passcode }
    await expect(disableTwoFactor(app, as(ada), ada, disable)).rejects.toMatchObject({
      reason: 'BAD_CREDENTIALS',
    })
    const failing = {
      ...app,
      passwords: { ...app.passwords, hash: () => Promise.reject(new Error('out of memory')) },
    }
    await expect(regenerateRecoveryCodes(failing, ada, passcode.passcode)).rejects.toThrow(
      'out of memory',
    )
    await expect(require(passcode)).rejects.toEqual(INVALID)
  })

  it('of an archived account is not checked', async () => {
    const { secret } = await enable()
    const credentials = { username: 'ada', password: PASSWORD }
    const passcode = byPasscode(passcodeAt(secret, app.clock))
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { state: 'ARCHIVED' }))
    await expect(
      signInByPassword(app, LOCAL_PEER, credentials, passcode, ''),
    ).rejects.toMatchObject({
      reason: 'ACCOUNT_ARCHIVED',
    })
    await expect(
      authenticateBasic(app, LOCAL_PEER, credentials, passcode.passcode),
    ).rejects.toMatchObject({
      reason: 'BAD_CREDENTIALS',
    })
    await expect(require(passcode)).resolves.toBeUndefined()
  })
})

describe('wrong second factors', () => {
  it('are limited to five in five minutes, across all methods', async () => {
    const { secret, recoveryCodes } = await enable()
    const wrong = wrongPasscode(secret, app.clock)
    const good = () => byPasscode(passcodeAt(secret, app.clock))
    const credentials = { username: 'ada', password: PASSWORD }
    await expect(require(byPasscode(wrong))).rejects.toEqual(INVALID)
    await expect(authenticateBasic(app, LOCAL_PEER, credentials, wrong)).rejects.toEqual(INVALID)
    await expect(
      signInByPassword(app, LOCAL_PEER, credentials, byRecoveryCode('ABCD'), ''),
    ).rejects.toEqual(INVALID)
    await expect(regenerateRecoveryCodes(app, ada, wrong)).rejects.toEqual(INVALID)
    await expect(
      disableTwoFactor(app, as(ada), ada, { password: PASSWORD, ...NONE }),
    ).rejects.toEqual(INVALID)
    const limited = { reason: 'RATE_LIMITED', metadata: { retry_after_seconds: '300' } }
    await expect(require(good())).rejects.toMatchObject(limited)
    await expect(require(byRecoveryCode(recoveryCodes[0]))).rejects.toMatchObject(limited)
    // A refused code was not checked and therefore not consumed.
    app.clock.advance(300)
    await expect(require(good())).resolves.toBeUndefined()
    await expect(require(byRecoveryCode(recoveryCodes[0]))).resolves.toBeUndefined()
  })

  it('count while they are being checked', async () => {
    await enable()
    const guesses = Array.from({ length: 50 }, () =>
      require(byRecoveryCode('AAAA-AAAA-AAAA-AAAA-AAAA')),
    )
    expect(countReasons(await Promise.allSettled(guesses))).toEqual({
      TWO_FACTOR_INVALID: 5,
      RATE_LIMITED: 45,
    })
  })

  it('are forgotten after a correct one', async () => {
    const { secret } = await enable()
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 4; i++) {
        await expect(require(byPasscode(wrongPasscode(secret, app.clock)))).rejects.toEqual(INVALID)
      }
      await require(byPasscode(passcodeAt(secret, app.clock)))
      app.clock.advance(STEP_SECONDS)
    }
  })

  it('of one account affect neither other accounts nor the peer', async () => {
    const { secret } = await enable()
    for (let i = 0; i < 5; i++)
      await require(byPasscode(wrongPasscode(secret, app.clock))).catch(() => undefined)
    const bob = await addUser(app, 'bob')
    const ofBob = await enable(bob)
    await expect(
      require(byPasscode(passcodeAt(ofBob.secret, app.clock)), bob),
    ).resolves.toBeUndefined()
  })

  it('also limit confirmation', async () => {
    const { secret } = await enrollTwoFactor(app, as(ada), PASSWORD)
    for (let i = 0; i < 5; i++) {
      await expect(confirmTwoFactor(app, ada, wrongPasscode(secret, app.clock))).rejects.toEqual(
        INVALID,
      )
    }
    await expect(confirmTwoFactor(app, ada, passcodeAt(secret, app.clock))).rejects.toMatchObject({
      reason: 'RATE_LIMITED',
    })
  })
})

describe('a recovery code', () => {
  it('works once, in any case, and does not affect the other nine', async () => {
    const { recoveryCodes } = await enable()
    for (const code of recoveryCodes) {
      await expect(require(byRecoveryCode(code.toLowerCase()))).resolves.toBeUndefined()
      await expect(require(byRecoveryCode(code))).rejects.toEqual(INVALID)
    }
    expect(await getTwoFactor(app, ada)).toMatchObject({ recoveryCodesRemaining: 0 })
  })

  it('succeeds once when it is used several times at once', async () => {
    const { recoveryCodes } = await enable()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => require(byRecoveryCode(recoveryCodes[0]))),
    )
    expect(countReasons(outcomes)).toEqual({ OK: 1, TWO_FACTOR_INVALID: 4 })
    expect(await getTwoFactor(app, ada)).toMatchObject({ recoveryCodesRemaining: 9 })
  })

  it('costs one slow hash to check, whether it is valid, wrong or used', async () => {
    const { recoveryCodes } = await enable()
    const hashes: string[] = []
    const { passwords } = app
    const watched = {
      ...app,
      passwords: {
        ...passwords,
        verify: (hash: string, text: string, holder: Holder) => {
          hashes.push('verify')
          return passwords.verify(hash, text, holder)
        },
        verifyNothing: (holder: Holder) => {
          hashes.push('verifyNothing')
          return passwords.verifyNothing(holder)
        },
      },
    }
    const [code = ''] = recoveryCodes
    for (const text of [
      `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`,
      code,
      code,
      'nonsense',
    ]) {
      await requireSecondFactor(watched, ada, byRecoveryCode(text), 'sign-in').catch(
        () => undefined,
      )
    }
    expect(hashes).toEqual(['verify', 'verify', 'verifyNothing', 'verifyNothing'])
  })

  it('is revoked when new ones are created', async () => {
    const { secret, recoveryCodes } = await enable()
    const anew = await regenerateRecoveryCodes(app, ada, passcodeAt(secret, app.clock))
    expect(new Set(anew).size).toBe(10)
    await expect(require(byRecoveryCode(recoveryCodes[0]))).rejects.toEqual(INVALID)
    await expect(require(byRecoveryCode(anew[0]))).resolves.toBeUndefined()
    expect(await getTwoFactor(app, ada)).toMatchObject({ recoveryCodesRemaining: 9 })
  })

  it('does not work as a passcode and creates no new codes', async () => {
    const { recoveryCodes } = await enable()
    await expect(require(byPasscode(recoveryCodes[0] ?? ''))).rejects.toEqual(INVALID)
    await expect(regenerateRecoveryCodes(app, ada, recoveryCodes[0] ?? '')).rejects.toEqual(INVALID)
  })

  it('is not consumed if a passcode is also given', async () => {
    const { secret, recoveryCodes } = await enable()
    const [recoveryCode = ''] = recoveryCodes
    await expect(
      require({ passcode: wrongPasscode(secret, app.clock), recoveryCode }),
    ).rejects.toEqual(INVALID)
    await expect(
      require({ passcode: passcodeAt(secret, app.clock), recoveryCode }),
    ).resolves.toBeUndefined()
    await expect(require(byRecoveryCode(recoveryCode))).resolves.toBeUndefined()
  })

  it('is not created for an account that disables its second factor in the meantime', async () => {
    const { secret } = await enable()
    const { passwords } = app
    const slow = {
      ...app,
      passwords: {
        ...passwords,
        async hash(text: string) {
          const hash = await passwords.hash(text, 'server')
          await app.db.deleteFrom('two_factors').execute()
          return hash
        },
      },
    }
    await expect(
      regenerateRecoveryCodes(slow, ada, passcodeAt(secret, app.clock)),
    ).rejects.toMatchObject({
      reason: 'TWO_FACTOR_NOT_ENABLED',
    })
  })
})

describe('disabling a second factor', () => {
  it.each(['passcode', 'recovery code'])(
    'requires the password and a %s, and deletes all data',
    async (means) => {
      const { secret, recoveryCodes } = await enable()
      const factor =
        means === 'passcode'
          ? byPasscode(passcodeAt(secret, app.clock))
          : byRecoveryCode(recoveryCodes[3] ?? '')
      await expect(
        disableTwoFactor(app, as(ada), ada, { password: PASSWORD, ...NONE }),
      ).rejects.toEqual(INVALID)
      await disableTwoFactor(app, as(ada), ada, { password: PASSWORD, ...factor })
      expect(await app.db.selectFrom('recovery_codes').select('user_id').execute()).toEqual([])
      await expect(require()).resolves.toBeUndefined()
      await expect(
        disableTwoFactor(app, as(ada), ada, { password: PASSWORD, ...factor }),
      ).rejects.toMatchObject({
        reason: 'TWO_FACTOR_NOT_ENABLED',
      })
    },
  )

  it('by an administrator for another user requires no proof and is logged', async () => {
    const lines: { level: string; line: unknown }[] = []
    const log = app.log.child({}, { level: 'info' })
    log.warn = (line: unknown) => lines.push({ level: 'warn', line })
    const root = await addUser(app, 'root', { role: 'ADMIN' })
    await enable()
    await disableTwoFactor({ ...app, log }, as(root), ada, { password: '', ...NONE })
    expect(await getTwoFactor(app, ada)).toMatchObject({ state: 'DISABLED' })
    expect(lines).toEqual([{ level: 'warn', line: { userId: ada.id, administratorId: root.id } }])
  })

  it('by an administrator for themselves requires proof', async () => {
    const root = await addUser(app, 'root', { role: 'ADMIN' })
    await enable(root)
    await expect(
      disableTwoFactor(app, as(root), root, { password: '', ...NONE }),
    ).rejects.toMatchObject({
      reason: 'BAD_CREDENTIALS',
    })
  })

  it('fails while it is not confirmed', async () => {
    const { secret } = await enrollTwoFactor(app, as(ada), PASSWORD)
    const proof = { password: PASSWORD, ...byPasscode(passcodeAt(secret, app.clock)) }
    await expect(disableTwoFactor(app, as(ada), ada, proof)).rejects.toMatchObject({
      reason: 'TWO_FACTOR_NOT_ENABLED',
    })
    await expect(regenerateRecoveryCodes(app, ada, proof.passcode)).rejects.toMatchObject({
      reason: 'TWO_FACTOR_NOT_ENABLED',
    })
  })
})
