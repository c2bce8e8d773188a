import { describe, expect, it } from 'vitest'
import {
  checkNewPassword,
  createPasswordHasher,
  NO_PASSWORD,
} from '../../../../src/forge/accounts/credentials/passwords.ts'

describe('PasswordHasher', () => {
  const hasher = createPasswordHasher()

  it('creates argon2id hashes with the documented cost and their own salt', async () => {
    const [one, two] = await Promise.all([
      hasher.hash('correct horse', 'server'),
      hasher.hash('correct horse', 'server'),
    ])
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(one).not.toBe(two)
    expect(await hasher.verify(one, 'correct horse', 'server')).toBe(true)
    expect(await hasher.verify(one, 'Correct horse', 'server')).toBe(false)
    expect(await hasher.verify(one, '', 'server')).toBe(false)
  })

  it('treats composed and decomposed characters as equal', async () => {
    const composed = 'caf\u00e9 caf\u00e9'
    expect(
      await hasher.verify(
        await hasher.hash(composed, 'server'),
        composed.normalize('NFD'),
        'server',
      ),
    ).toBe(true)
  })

  it('refuses a text too long for a password without normalising it', async () => {
    const hash = await hasher.hash('correct horse', 'server')
    // Alternating combining classes make normalisation sort in quadratic time, which would take
    // minutes.
    expect(await hasher.verify(hash, '\u0315\u0300\u031b'.repeat(500_000), 'server')).toBe(false)
  })

  it.each(['', ' ', 'correct horse'])('refuses %j if there is no password', async (password) => {
    expect(await hasher.verify(NO_PASSWORD, password, 'server')).toBe(false)
  })

  it('refuses work beyond its queue and recovers afterwards', async () => {
    const crowded = createPasswordHasher()
    // Checking against no password waits in the queue like other work.
    const work = [
      () => crowded.verifyNothing('server'),
      () => crowded.verify(NO_PASSWORD, 'correct horse', 'server'),
    ]
    const outcomes = await Promise.allSettled(
      Array.from({ length: 105 }, () => work.map((start) => start())).flat(),
    )
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    // Two run and 200 wait.
    expect(refused).toHaveLength(8)
    for (const { reason } of refused) {
      expect(reason).toMatchObject({
        reason: 'RATE_LIMITED',
        metadata: { retry_after_seconds: '3' },
      })
    }
    await expect(crowded.hash('correct horse', 'server')).resolves.toMatch(/^\$argon2id/)
  })
})

describe('checkNewPassword', () => {
  const settings = { minPasswordLength: 8 }

  it.each([
    ['eight characters', '12345678'],
    ['eight characters outside of the basic plane', '\u{1f40e}'.repeat(8)],
    ['256 bytes', 'x'.repeat(256)],
    ['blanks', '        '],
    ['the username and more', 'Alexandra1'],
  ])('accepts %s', (_, password) => {
    expect(() => checkNewPassword(settings, 'alexandra', password)).not.toThrow()
  })

  it.each([
    ['nothing', ''],
    ['seven characters', '1234567'],
    // 14 UTF-16 units, 28 bytes.
    ['seven characters outside of the basic plane', '\u{1f40e}'.repeat(7)],
    ['seven characters that arrive as fourteen', 'e\u0301'.repeat(7)],
    ['257 bytes', 'x'.repeat(257)],
    ['257 bytes in fewer characters', `${'é'.repeat(128)}x`],
    ['the username in another case', 'ALEXANDRA'],
  ])('refuses %s', (_, password) => {
    expect(() => checkNewPassword(settings, 'alexandra', password)).toThrow(
      expect.objectContaining({
        reason: 'WEAK_PASSWORD',
        metadata: { min_length: '8', max_bytes: '256' },
      }),
    )
  })

  it('refuses an empty password even without a minimum length', () => {
    expect(() => checkNewPassword({ minPasswordLength: 0 }, 'ada', '')).toThrow()
    expect(() => checkNewPassword({ minPasswordLength: 0 }, 'ada', 'x')).not.toThrow()
  })
})
