import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

/** The name that authenticator apps show. A colon in it would end it (see `otpauthUri`). */
const ISSUER = 'Branchline'

/** As long as the hash, which RFC 4226 section 4 recommends. */
const SECRET_BYTES = 20

/** What every authenticator app supports; some ignore that a URI asks for anything else. */
const PARAMETERS = { algorithm: 'SHA1', digits: 6, period: 30 }

/**
 * Steps that a clock may be off, both ways. RFC 6238 section 5.2 recommends one at most for the
 * delay of the network; the step ahead is for clocks that are fast.
 */
const WINDOW_STEPS = 1

const PASSCODE = /^[0-9]{6}$/

/** @returns a new secret of 160 random bits. */
export function newTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

/** A secret as people type it in: base32 (RFC 4648 section 6) without padding. */
export function totpSecretText(secret: Uint8Array): string {
  return secretOf(secret).base32
}

/**
 * A secret as authenticator apps scan it.
 *
 * @returns a URI by https://github.com/google/google-authenticator/wiki/Key-Uri-Format.
 */
export function otpauthUri(secret: Uint8Array, username: string): string {
  return new TOTP({
    ...PARAMETERS,
    issuer: ISSUER,
    label: username,
    secret: secretOf(secret),
  }).toString()
}

/**
 * The time step (RFC 6238 section 4.2) whose passcode somebody typed: the current one, the one
 * before or the one after.
 *
 * @param passcode six ASCII digits; blanks anywhere are dropped.
 * @param nowMs Unix milliseconds.
 * @returns undefined for a passcode that is wrong, or none at all.
 */
export function passcodeStep(
  secret: Uint8Array,
  passcode: string,
  nowMs: number,
): number | undefined {
  const token = passcode.replace(/\s/g, '')
  if (!PASSCODE.test(token)) return undefined
  const { period } = PARAMETERS
  const delta = TOTP.validate({
    ...PARAMETERS,
    secret: secretOf(secret),
    token,
    timestamp: nowMs,
    window: WINDOW_STEPS,
  })
  return delta === null ? undefined : TOTP.counter({ period, timestamp: nowMs }) + delta
}

function secretOf(bytes: Uint8Array): Secret {
  return new Secret({ buffer: Uint8Array.from(bytes).buffer })
}
