import { hash, type Options, verify } from '@node-rs/argon2'
import { FairSlots } from '../../../platform/concurrency/fair-slots.ts'
import { accountHolder, type Holder } from '../../../platform/concurrency/holders.ts'
import type { SignedIn } from '../../core/access.ts'
import type { Settings } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { AccountsApp, PasswordHasher } from '../ports.ts'

/**
 * Argon2id with 19 MiB, two passes and one lane, the first choice of the OWASP Password Storage
 * Cheat Sheet (https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html).
 * Takes about 25 ms of one core.
 */
const COST: PasswordCost = { memoryCost: 19 * 1024, timeCost: 2 }

/** The memory in KiB and the number of passes of a hash. */
export type PasswordCost = Required<Pick<Options, 'memoryCost' | 'timeCost'>>

/**
 * Maximum number of concurrent hashes. They run on libuv's thread pool, which has four threads by
 * default. File access and the verification of access tokens need the other two.
 */
const MAX_RUNNING = 2

/**
 * Maximum number of waiting hashes, which accounts and peers share. The last one waits some three
 * seconds, about as long as a person accepts.
 */
const MAX_WAITING = 200
const RETRY_AFTER_SECONDS = 3

const MAX_PASSWORD_BYTES = 256

/**
 * Maximum length of a text to compare with a hash. Decomposed characters may take three times as
 * many bytes. Normalising a text of unlimited length would block the event loop.
 */
const MAX_COMPARED_BYTES = 4 * MAX_PASSWORD_BYTES

/** Stored in place of a hash for accounts without a password, which single sign-on creates. */
export const NO_PASSWORD = ''

/**
 * Creates a hasher with its own queue.
 *
 * @param cost of new hashes. Only tests use another one than the default.
 */
export function createPasswordHasher(cost: PasswordCost = COST): PasswordHasher {
  const parameters: Options = { algorithm: 2, parallelism: 1, ...cost }
  const slots = new FairSlots({
    max: MAX_RUNNING,
    // More threads would take those that others need.
    firstPlaces: 0,
    maxWaiting: MAX_WAITING,
    full: () =>
      new DomainError('RATE_LIMITED', { retry_after_seconds: String(RETRY_AFTER_SECONDS) }),
  })
  const verifyNothing = async (holder: Holder) => {
    await slots.run(holder, () => hash('', parameters))
  }
  return {
    hash: (password, holder) => slots.run(holder, () => hash(normalize(password), parameters)),
    async verify(phc, password, holder) {
      const isComparable = phc !== NO_PASSWORD && Buffer.byteLength(password) <= MAX_COMPARED_BYTES
      if (isComparable) return slots.run(holder, () => verify(phc, normalize(password)))
      await verifyNothing(holder)
      return false
    },
    verifyNothing,
  }
}

/**
 * Checks a new password: long enough in characters, at most 256 bytes, and different from the
 * username. There are no other rules, as NIST SP 800-63B section 5.1.1.2 advises.
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
 * Applies NFC (RFC 8265 section 4.2.2), because keyboards differ in whether `é` is one code point
 * or two. The other mappings of the RFC are not applied, so that a password stays as typed.
 */
function normalize(password: string): string {
  return password.normalize('NFC')
}

/**
 * Compares a text with the password of the caller. Wrong ones count against the limit of sign-ins.
 *
 * @throws BAD_CREDENTIALS, also for an account without a password; RATE_LIMITED
 */
export async function requirePassword(
  app: AccountsApp,
  { user, administrator, peer }: SignedIn,
  password: string,
): Promise<void> {
  const account = administrator ?? user
  const right = await app.guesses.attempt(
    nameKey(account.username),
    peer.address,
    async () =>
      (await app.passwords.verify(account.password_hash, password, accountHolder(account.id))) ||
      undefined,
  )
  if (!right) throw new DomainError('BAD_CREDENTIALS')
}

/** Returns whether an account has a password. Single sign-on creates accounts without one. */
export function hasPassword({ password_hash }: SignedIn['user']): boolean {
  return password_hash !== NO_PASSWORD
}
