import { randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'

/** The name that authenticator apps show. It must not contain a colon (see `otpauthUri`). */
const ISSUER = 'Branchline'

/** The length of the hash, as RFC 4226 section 4 recommends. */
const SECRET_BYTES = 20

/** The parameters that all authenticator apps support. Some ignore other values in a URI. */
const PARAMETERS = { algorithm: 'SHA1', digits: 6, period: 30 }

/**
 * Accepted clock difference in steps, in both directions. RFC 6238 section 5.2 recommends at most
 * one step for network delay. The step ahead is for fast clocks.
 */
const WINDOW_STEPS = 1

const PASSCODE = /^[0-9]{6}$/

/** Generates a secret of 160 random bits. */
export function newTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

/** Returns a secret in base32 (RFC 4648 section 6) without padding, for typing. */
export function totpSecretText(secret: Uint8Array): string {
  return secretOf(secret).base32
}

/**
 * Returns a secret as a URI for authenticator apps to scan:
 * https://github.com/google/google-authenticator/wiki/Key-Uri-Format.
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
 * Returns the time step (RFC 6238 section 4.2) of a passcode: the current, previous or next step.
 *
 * @param passcode six ASCII digits. Whitespace is ignored.
 * @param nowMs Unix milliseconds.
 * @returns undefined for an invalid passcode.
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
