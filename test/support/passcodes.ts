import { Secret, TOTP } from 'otpauth'
import {
  confirmTwoFactor,
  enrollTwoFactor,
} from '../../src/forge/accounts/credentials/two-factor.ts'
import type { Clock } from '../../src/forge/core/core.ts'
import type { User } from '../../src/forge/core/schema.ts'
import { LOCAL_PEER, PASSWORD, type TestApp } from './app.ts'

/** How long a passcode is the current one. */
export const STEP_SECONDS = 30

/**
 * What an authenticator app shows.
 *
 * @param secret in base32, as the enrolment answers it.
 * @param stepsAhead how far the app's clock is ahead of the server's.
 */
export function passcodeAt(secret: string, clock: Clock, stepsAhead = 0): string {
  const timestamp = clock.now() + stepsAhead * STEP_SECONDS * 1000
  return TOTP.generate({ secret: Secret.fromBase32(secret), timestamp })
}

/** A passcode that is not good at any step near. */
export function wrongPasscode(secret: string, clock: Clock): string {
  const good = new Set([-2, -1, 0, 1, 2].map((steps) => passcodeAt(secret, clock, steps)))
  const wrong = ['000000', '111111', '222222', '333333', '444444', '555555'].find(
    (code) => !good.has(code),
  )
  if (wrong === undefined) throw new Error('five passcodes cannot be six')
  return wrong
}

/**
 * Gives an account that has `PASSWORD` a second factor, whose current passcode was not used yet.
 *
 * @returns the secret, in base32.
 */
export async function enableTwoFactor(app: TestApp, user: User): Promise<string> {
  const caller = { kind: 'user', peer: LOCAL_PEER, user, credential: { kind: 'password' } } as const
  const { secret } = await enrollTwoFactor(app, caller, PASSWORD)
  await confirmTwoFactor(app, user, passcodeAt(secret, app.clock))
  app.clock.advance(STEP_SECONDS)
  return secret
}
