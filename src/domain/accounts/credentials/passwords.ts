import { hash, type Options, verify } from '@node-rs/argon2'
import { createLimited } from '../../../concurrency/limited.ts'
import type { Settings } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { PasswordHasher } from '../ports.ts'

/**
 * Argon2id with 19 MiB, two passes and one lane: the first choice of the OWASP Password Storage
 * Cheat Sheet (https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html).
 * About 25 ms of one core.
 */
const PARAMETERS: Options = { algorithm: 2, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/**
 * Hashes at work at one time. They run on libuv's pool, which has four threads unless told
 * otherwise; file access and the verification of access tokens need the other two.
 */
const MAX_RUNNING = 2

/**
 * Hashes that wait. The last one waits for some three seconds, which is as long as a person may be
 * asked to.
 */
const MAX_WAITING = 200
const RETRY_AFTER_SECONDS = 3

const MAX_PASSWORD_BYTES = 256

/**
 * Longest text compared with a hash. The same password may take three times as many bytes when its
 * characters arrive decomposed; normalising an endless text would stop the event loop.
 */
const MAX_COMPARED_BYTES = 4 * MAX_PASSWORD_BYTES

/**
 * Stands in the place of a hash for accounts that have no password: those that single sign-on made.
 */
export const NO_PASSWORD = ''

/** @returns a hasher with a queue of its own. */
export function createPasswordHasher(): PasswordHasher {
  const limited = createLimited({
    maxRunning: MAX_RUNNING,
    maxWaitingPerKey: MAX_WAITING,
    full: () =>
      new DomainError('RATE_LIMITED', { retry_after_seconds: String(RETRY_AFTER_SECONDS) }),
  })
  const run = <T>(work: () => Promise<T>) => limited('hash', work)
  const verifyNothing = async () => {
    await run(() => hash('', PARAMETERS))
  }
  return {
    hash: (password) => run(() => hash(normalize(password), PARAMETERS)),
    async verify(phc, password) {
      const isComparable = phc !== NO_PASSWORD && Buffer.byteLength(password) <= MAX_COMPARED_BYTES
      if (isComparable) return run(() => verify(phc, normalize(password)))
      await verifyNothing()
      return false
    },
    verifyNothing,
  }
}

/**
 * Checks a password that somebody chooses: long enough in characters, at most 256 bytes, and not
 * the username. Nothing else is asked of it, as NIST SP 800-63B section 5.1.1.2 advises.
 *
 * @throws WEAK_PASSWORD
 */
export function checkNewPassword(
  settings: Pick<Settings, 'minPasswordLength'>,
  username: string,
  password: string,
): void {
  const tooLong = Buffer.byteLength(password) > MAX_PASSWORD_BYTES
  if (
    tooLong ||
    isTooShort(settings, password) ||
    password.toLowerCase() === username.toLowerCase()
  ) {
    throw new DomainError('WEAK_PASSWORD', {
      min_length: String(settings.minPasswordLength),
      max_bytes: String(MAX_PASSWORD_BYTES),
    })
  }
}

function isTooShort(settings: Pick<Settings, 'minPasswordLength'>, password: string): boolean {
  const characters = [...normalize(password)].length
  return characters === 0 || characters < settings.minPasswordLength
}

/**
 * Keyboards differ in whether `é` is one code point or two. RFC 8265 section 4.2.2 settles on NFC;
 * its other mappings are left out, so that a password stays what its owner typed.
 */
function normalize(password: string): string {
  return password.normalize('NFC')
}
