import * as rows from '../../../storage/accounts/two-factor.ts'
import { transaction } from '../../../storage/database/database.ts'
import type {
  NewRecoveryCode,
  TwoFactor as TwoFactorRow,
  User,
} from '../../../storage/schema/accounts.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { AccountsApp } from '../ports.ts'
import { requirePresent } from '../users/users.ts'
import { NO_PASSWORD } from './passwords.ts'
import { newRecoveryCodes, parseRecoveryCode, type RecoveryCode } from './recovery-codes.ts'
import { open, seal } from './sealed-secrets.ts'
import { newTotpSecret, otpauthUri, passcodeStep, totpSecretText } from './totp.ts'

/** How far the second factor of an account is set up. Times are Unix seconds. */
export interface TwoFactor {
  readonly state: 'DISABLED' | 'PENDING' | 'ENABLED'
  /** When the secret was handed out; null while DISABLED. */
  readonly createTime: number | null
  /** Null unless ENABLED. */
  readonly confirmTime: number | null
  /** When a passcode or recovery code was last accepted; null before the first. */
  readonly lastUsedTime: number | null
  readonly recoveryCodesRemaining: number
}

/**
 * What somebody presents beside a password, empty where nothing is given. A passcode wins over a
 * recovery code.
 */
export interface SecondFactor {
  readonly passcode: string
  readonly recoveryCode: string
}

/** Where a second factor is presented. One that was used on any of them is used up for all. */
export type Surface = 'sign-in' | 'basic' | 'password-reset' | 'disable' | 'regenerate'

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
 * Asks for a second factor where the account has one. To be called once the first factor has been
 * proved, so that nobody else learns whether there is a second, or uses one up.
 *
 * What is good is used up at once, whatever becomes of the request after that (RFC 6238 section
 * 5.2).
 *
 * @throws TWO_FACTOR_REQUIRED when there is one and nothing is given; TWO_FACTOR_INVALID when it is
 *   wrong or was used before, without telling which; RATE_LIMITED after too many wrong ones.
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
  await spend(app, enabled, factor, surface)
}

/** The second factor of an account. */
export async function getTwoFactor(app: AccountsApp, user: User): Promise<TwoFactor> {
  const found = await rows.findTwoFactor(app.db, user.id)
  return found ? view(app, found) : DISABLED
}

/**
 * Hands out a new secret, in place of one that was not confirmed. Signing in stays as it is until
 * it is.
 *
 * @param password needed where the account has one: whoever finds a session open must not lock its
 *   owner out.
 * @returns the secret as text and as URI, neither of which can be read again.
 * @throws BAD_CREDENTIALS, RATE_LIMITED, TWO_FACTOR_ALREADY_ENABLED, USER_NOT_FOUND
 */
export async function enrollTwoFactor(
  app: AccountsApp,
  caller: SignedIn,
  password: string,
): Promise<{ twoFactor: TwoFactor; secret: string; otpauthUri: string }> {
  const { user } = caller
  await requirePassword(app, caller, password)
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
 * Turns the second factor on, by a passcode that proves that the secret has arrived.
 *
 * @returns also the texts of the recovery codes, which cannot be read again.
 * @throws TWO_FACTOR_NOT_PENDING, TWO_FACTOR_INVALID, RATE_LIMITED
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
  const hashed = await hashAll(app, codes)
  const confirmed = await transaction(app.db, async (tx) => {
    const row = await rows.confirmTwoFactor(tx, pending, step, nowSeconds(app.clock))
    if (row) await rows.replaceRecoveryCodes(tx, user.id, hashed)
    return row
  })
  // Confirmed by another request, or replaced by another secret, while the codes were made.
  if (!confirmed) throw new DomainError('TWO_FACTOR_NOT_PENDING')
  return { twoFactor: await view(app, confirmed), recoveryCodes: textsOf(codes) }
}

/**
 * Turns the second factor off. The owner proves both factors; an administrator does it for somebody
 * who has lost theirs.
 *
 * @throws TWO_FACTOR_NOT_ENABLED, BAD_CREDENTIALS, TWO_FACTOR_INVALID, RATE_LIMITED
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
    await requirePassword(app, caller, proof.password)
    await spend(app, enabled, proof, 'disable')
  }
  if (!(await rows.deleteTwoFactor(app.db, enabled)))
    throw new DomainError('TWO_FACTOR_NOT_ENABLED')
  if (!own) {
    app.log.warn(
      { userId: user.id, administratorId: caller.user.id },
      'an administrator turned a second factor off',
    )
  }
}

/**
 * Makes new recovery codes, and the old ones useless.
 *
 * @returns their texts, which cannot be read again.
 * @throws TWO_FACTOR_NOT_ENABLED, TWO_FACTOR_INVALID, RATE_LIMITED
 */
export async function regenerateRecoveryCodes(
  app: AccountsApp,
  user: User,
  passcode: string,
): Promise<string[]> {
  const enabled = await requireEnabled(app, user)
  await spend(app, enabled, { passcode, recoveryCode: '' }, 'regenerate')
  const codes = newRecoveryCodes()
  const hashed = await hashAll(app, codes)
  await transaction(app.db, async (tx) => {
    const present = await rows.findTwoFactor(tx, user.id)
    if (!present?.secret.equals(enabled.secret)) throw new DomainError('TWO_FACTOR_NOT_ENABLED')
    await rows.replaceRecoveryCodes(tx, user.id, hashed)
  })
  return textsOf(codes)
}

/**
 * Whoever holds a session open must know the password too; accounts made by single sign-on may have
 * none.
 */
async function requirePassword(
  app: AccountsApp,
  { user, peer }: SignedIn,
  password: string,
): Promise<void> {
  if (user.password_hash === NO_PASSWORD) return
  const right = await app.guesses.attempt(
    nameKey(user.username),
    peer.address,
    async () => (await app.passwords.verify(user.password_hash, password)) || undefined,
  )
  if (!right) throw new DomainError('BAD_CREDENTIALS')
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

/** Uses up what is presented, or refuses it. */
async function spend(
  app: AccountsApp,
  enabled: TwoFactorRow,
  factor: SecondFactor,
  surface: Surface,
): Promise<void> {
  const { passcode, recoveryCode } = factor
  const userId = enabled.user_id
  const good = await app.guesses.attemptSecondFactor(userId, async () => {
    const spent =
      passcode === ''
        ? await spendRecoveryCode(app, userId, recoveryCode)
        : await spendPasscode(app, enabled, passcode)
    return spent || undefined
  })
  if (!good) {
    app.log.info({ userId, surface }, 'a second factor was refused')
    throw new DomainError('TWO_FACTOR_INVALID')
  }
  if (passcode === '') app.log.warn({ userId, surface }, 'a recovery code was used')
}

async function spendPasscode(
  app: AccountsApp,
  enabled: TwoFactorRow,
  passcode: string,
): Promise<boolean> {
  const step = stepOf(app, enabled, passcode)
  return step !== undefined && rows.spendPasscode(app.db, enabled, step, nowSeconds(app.clock))
}

async function spendRecoveryCode(app: AccountsApp, userId: number, text: string): Promise<boolean> {
  const code = parseRecoveryCode(text)
  const found = code && (await rows.findRecoveryCode(app.db, userId, code.lookup))
  if (!found) {
    // A code that was used takes as long as one that is wrong.
    await app.passwords.verifyNothing()
    return false
  }
  if (!(await app.passwords.verify(found.code_hash, code.text))) return false
  return transaction(app.db, (tx) => rows.spendRecoveryCode(tx, found, nowSeconds(app.clock)))
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

function hashAll(app: AccountsApp, codes: readonly RecoveryCode[]): Promise<NewRecoveryCode[]> {
  return Promise.all(
    codes.map(async ({ lookup, text }) => ({ lookup, code_hash: await app.passwords.hash(text) })),
  )
}

function textsOf(codes: readonly RecoveryCode[]): string[] {
  return codes.map(({ text }) => text)
}
