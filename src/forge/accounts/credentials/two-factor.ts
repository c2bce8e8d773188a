import { randomBytes, randomInt } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { accountHolder, type Holder } from '../../../platform/concurrency/holders.ts'
import { transaction } from '../../../platform/database/database.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import type { NewRecoveryCode, TwoFactor as TwoFactorRow } from '../schema.ts'
import { requirePresent } from '../users/users.ts'
import { hasPassword, requirePassword } from './passwords.ts'
import { open, seal } from './sealed-secrets.ts'
import * as rows from './two-factor.rows.ts'

/** The state of an account's second factor. Times are Unix seconds. */
export interface TwoFactor {
  readonly state: 'DISABLED' | 'PENDING' | 'ENABLED'
  /** When the secret was issued; null while DISABLED. */
  readonly createTime: number | null
  /** Null unless ENABLED. */
  readonly confirmTime: number | null
  /** When a passcode or recovery code was last accepted; null before the first. */
  readonly lastUsedTime: number | null
  readonly recoveryCodesRemaining: number
}

/**
 * A second factor in a request. Missing values are empty. A passcode takes precedence over a
 * recovery code.
 */
export interface SecondFactor {
  readonly passcode: string
  readonly recoveryCode: string
}

/** Where a second factor is presented. Use in one place counts in all of them. */
export type Surface = 'sign-in' | 'basic' | 'password-reset' | 'disable' | 'regenerate' | 'confirm'

const SECRET_PURPOSE = 'totp-secret'

/** How long a secret waits for its first passcode. */
const PENDING_LIFETIME_S = 60 * 60

const DISABLED: TwoFactor = {
  state: 'DISABLED',
  createTime: null,
  confirmTime: null,
  lastUsedTime: null,
  recoveryCodesRemaining: 0,
}

/**
 * Requires a second factor if the account has one. Call this only after the first factor has been
 * verified, so that others cannot find out whether there is a second factor, or use up a code.
 *
 * A valid code is consumed immediately, whatever the result of the request (RFC 6238 section 5.2).
 */
export async function requireSecondFactor(
  app: AccountsApp,
  user: Pick<User, 'id'>,
  factor: SecondFactor,
  surface: Surface,
): Promise<void> {
  const enabled = await findEnabled(app, user)
  if (!enabled) return
  if (factor.passcode === '' && factor.recoveryCode === '')
    throw new DomainError('TWO_FACTOR_REQUIRED')
  await consume(app, enabled, factor, surface)
}

/** Consumes a second factor of an account that must have one. */
export async function consumeSecondFactor(
  app: AccountsApp,
  user: User,
  factor: SecondFactor,
  surface: Surface,
): Promise<void> {
  await consume(app, await requireEnabled(app, user), factor, surface)
}

/** Returns the second factor of an account. */
export async function getTwoFactor(app: AccountsApp, user: User): Promise<TwoFactor> {
  const found = await rows.findTwoFactor(app.db, user.id)
  return found ? view(app, found) : DISABLED
}

/**
 * Issues a new secret and replaces an unconfirmed one. Signing in does not change until the secret
 * is confirmed.
 *
 * @param password required if the account has one, so that someone who finds an open session cannot
 *   lock out its owner.
 * @returns the secret as text and as URI. Neither can be read again.
 */
export async function enrollTwoFactor(
  app: AccountsApp,
  caller: SignedIn,
  password: string,
): Promise<{ twoFactor: TwoFactor; secret: string; otpauthUri: string }> {
  const { user } = caller
  if (hasPassword(user)) await requirePassword(app, caller, password)
  const secret = newTotpSecret()
  const pending = await transaction(app.db, async (tx) => {
    await requirePresent(tx, user)
    return rows.putPendingTwoFactor(tx, user.id, {
      secret: seal(app, SECRET_PURPOSE, secret),
      create_time: nowSeconds(app.clock),
    })
  })
  if (!pending) throw new DomainError('TWO_FACTOR_ALREADY_ENABLED')
  return {
    twoFactor: await view(app, pending),
    secret: totpSecretText(secret),
    otpauthUri: otpauthUri(secret, user.username),
  }
}

/**
 * Enables the second factor. The passcode proves that the user has the secret.
 *
 * @returns also the recovery codes, which cannot be read again.
 */
export async function confirmTwoFactor(
  app: AccountsApp,
  user: User,
  passcode: string,
): Promise<{ twoFactor: TwoFactor; recoveryCodes: string[] }> {
  const pending = await rows.findTwoFactor(app.db, user.id)
  if (!pending || stateOf(app, pending) !== 'PENDING')
    throw new DomainError('TWO_FACTOR_NOT_PENDING')
  const step = await app.guesses.attemptSecondFactor(user.id, async () =>
    stepOf(app, pending, passcode),
  )
  if (step === undefined) throw new DomainError('TWO_FACTOR_INVALID')
  const codes = newRecoveryCodes()
  const hashed = await hashAll(app, codes, accountHolder(user.id))
  const confirmed = await transaction(app.db, async (tx) => {
    const row = await rows.confirmTwoFactor(tx, pending, step, nowSeconds(app.clock))
    if (row) await rows.replaceRecoveryCodes(tx, user.id, hashed)
    return row
  })
  // While the codes were hashed, another request has confirmed or replaced the secret.
  if (!confirmed) throw new DomainError('TWO_FACTOR_NOT_PENDING')
  return { twoFactor: await view(app, confirmed), recoveryCodes: textsOf(codes) }
}

/**
 * Disables the second factor. The owner must present both factors. An administrator may do so for a
 * user who has lost theirs.
 */
export async function disableTwoFactor(
  app: AccountsApp,
  caller: SignedIn,
  user: User,
  proof: SecondFactor & { readonly password: string },
): Promise<void> {
  const enabled = await requireEnabled(app, user)
  const own = caller.user.id === user.id
  if (own) {
    if (hasPassword(user)) await requirePassword(app, caller, proof.password)
    await consume(app, enabled, proof, 'disable')
  }
  if (!(await rows.deleteTwoFactor(app.db, enabled)))
    throw new DomainError('TWO_FACTOR_NOT_ENABLED')
  if (!own) {
    app.log.warn(
      { userId: user.id, administratorId: caller.user.id },
      'an administrator disabled a second factor',
    )
  }
}

/**
 * Creates new recovery codes and revokes the old ones.
 *
 * @returns their texts, which cannot be read again.
 */
export async function regenerateRecoveryCodes(
  app: AccountsApp,
  user: User,
  passcode: string,
): Promise<string[]> {
  const enabled = await requireEnabled(app, user)
  await consume(app, enabled, { passcode, recoveryCode: '' }, 'regenerate')
  const codes = newRecoveryCodes()
  const hashed = await hashAll(app, codes, accountHolder(user.id))
  await transaction(app.db, async (tx) => {
    const present = await rows.findTwoFactor(tx, user.id)
    if (!present?.secret.equals(enabled.secret)) throw new DomainError('TWO_FACTOR_NOT_ENABLED')
    await rows.replaceRecoveryCodes(tx, user.id, hashed)
  })
  return textsOf(codes)
}

async function findEnabled(
  app: AccountsApp,
  user: Pick<User, 'id'>,
): Promise<TwoFactorRow | undefined> {
  const found = await rows.findTwoFactor(app.db, user.id)
  return found && stateOf(app, found) === 'ENABLED' ? found : undefined
}

async function requireEnabled(app: AccountsApp, user: User): Promise<TwoFactorRow> {
  const enabled = await findEnabled(app, user)
  if (!enabled) throw new DomainError('TWO_FACTOR_NOT_ENABLED')
  return enabled
}

/** Consumes a passcode or recovery code, or throws. */
async function consume(
  app: AccountsApp,
  enabled: TwoFactorRow,
  factor: SecondFactor,
  surface: Surface,
): Promise<void> {
  const { passcode, recoveryCode } = factor
  const userId = enabled.user_id
  const good = await app.guesses.attemptSecondFactor(userId, async () => {
    const isConsumed =
      passcode === ''
        ? await consumeRecoveryCode(app, userId, recoveryCode)
        : await consumePasscode(app, enabled, passcode)
    return isConsumed || undefined
  })
  if (!good) {
    app.log.info({ userId, surface }, 'a second factor was refused')
    throw new DomainError('TWO_FACTOR_INVALID')
  }
  if (passcode === '') app.log.warn({ userId, surface }, 'a recovery code was used')
}

async function consumePasscode(
  app: AccountsApp,
  enabled: TwoFactorRow,
  passcode: string,
): Promise<boolean> {
  const step = stepOf(app, enabled, passcode)
  return step !== undefined && rows.consumePasscode(app.db, enabled, step, nowSeconds(app.clock))
}

async function consumeRecoveryCode(
  app: AccountsApp,
  userId: number,
  text: string,
): Promise<boolean> {
  const code = parseRecoveryCode(text)
  const found = code && (await rows.findRecoveryCode(app.db, userId, code.lookup))
  const holder = accountHolder(userId)
  if (!found) {
    // A used code takes as long to refuse as a wrong one.
    await app.passwords.verifyNothing(holder)
    return false
  }
  if (!(await app.passwords.verify(found.code_hash, code.text, holder))) return false
  return transaction(app.db, (tx) => rows.consumeRecoveryCode(tx, found, nowSeconds(app.clock)))
}

function stepOf(app: AccountsApp, { secret }: TwoFactorRow, passcode: string): number | undefined {
  return passcodeStep(open(app, SECRET_PURPOSE, secret), passcode, app.clock.now())
}

function stateOf(app: AccountsApp, row: TwoFactorRow): TwoFactor['state'] {
  if (row.confirm_time !== null) return 'ENABLED'
  return nowSeconds(app.clock) - row.create_time < PENDING_LIFETIME_S ? 'PENDING' : 'DISABLED'
}

async function view(app: AccountsApp, row: TwoFactorRow): Promise<TwoFactor> {
  const state = stateOf(app, row)
  if (state === 'DISABLED') return DISABLED
  return {
    state,
    createTime: row.create_time,
    confirmTime: row.confirm_time,
    lastUsedTime: row.last_used_time,
    recoveryCodesRemaining: await rows.countRecoveryCodes(app.db, row.user_id),
  }
}

function hashAll(
  app: AccountsApp,
  codes: readonly RecoveryCode[],
  holder: Holder,
): Promise<NewRecoveryCode[]> {
  return Promise.all(
    codes.map(async ({ lookup, text }) => ({
      lookup,
      code_hash: await app.passwords.hash(text, holder),
    })),
  )
}

function textsOf(codes: readonly RecoveryCode[]): string[] {
  return codes.map(({ text }) => text)
}

/** Base32 (RFC 4648 section 6), which avoids 0, 1 and 8 because they look like O, I and B. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** People copy one group at a time. */
const GROUP_CHARACTERS = 4

/** One group for the lookup and four secret groups: 80 bits. */
const GROUPS = 5

const CODE = new RegExp(`^[${ALPHABET}]{${GROUPS * GROUP_CHARACTERS}}$`)

/** Number of codes in a set. */
const RECOVERY_CODE_COUNT = 10

/** A recovery code in its canonical form. */
export interface RecoveryCode {
  /** The form that is shown and hashed: groups separated by hyphens. */
  readonly text: string
  /**
   * The group by which the code is found, different for each code of a set. It is not secret. It
   * reduces a check to one slow hash, instead of one for each code of the account.
   */
  readonly lookup: string
}

/** Generates a new set of codes. */
export function newRecoveryCodes(): RecoveryCode[] {
  const codes = new Map<string, RecoveryCode>()
  while (codes.size < RECOVERY_CODE_COUNT) {
    const code = inGroups(
      Array.from({ length: GROUPS * GROUP_CHARACTERS }, randomCharacter).join(''),
    )
    codes.set(code.lookup, code)
  }
  return [...codes.values()]
}

/**
 * Parses a recovery code in any case, with hyphens and spaces anywhere.
 *
 * @returns undefined if the text cannot be a recovery code.
 */
export function parseRecoveryCode(text: string): RecoveryCode | undefined {
  const characters = text.replace(/[\s-]/g, '').toUpperCase()
  return CODE.test(characters) ? inGroups(characters) : undefined
}

function inGroups(characters: string): RecoveryCode {
  const groups = Array.from({ length: GROUPS }, (_, i) =>
    characters.slice(i * GROUP_CHARACTERS, (i + 1) * GROUP_CHARACTERS),
  )
  return { text: groups.join('-'), lookup: groups[0] ?? '' }
}

function randomCharacter(): string {
  return ALPHABET.charAt(randomInt(ALPHABET.length))
}

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
