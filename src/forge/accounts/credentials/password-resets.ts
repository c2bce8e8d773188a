import { createHash, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { accountHolder } from '../../../platform/concurrency/holders.ts'
import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp, ResetRequests, ResetSubject } from '../ports.ts'
import { findUserByUsername } from '../users/owners.ts'
import { emailKey } from '../users/user-fields.ts'
import { findUserByEmailKey, findUserById, updateUser } from '../users/users.rows.ts'
import { requirePresent } from '../users/users.ts'
import { passwordResetMail, queueMail } from './mail-queue.ts'
import {
  findResetMailTime,
  findUserByResetToken,
  putPasswordReset,
  usePasswordReset,
} from './password-resets.rows.ts'
import { checkNewPassword, NO_PASSWORD } from './passwords.ts'
import { endOtherSessions } from './sessions.ts'
import { requireSecondFactor, type SecondFactor } from './two-factor.ts'

const TOKEN_BYTES = 32
const TOKEN_LIFETIME_MINUTES = 180

/** Minimum time between two mails, so that a stranger cannot fill a mailbox. */
const MAIL_INTERVAL_S = 3 * 60

/** Maximum length of a name or address to look up. Those of accounts are shorter. */
const MAX_NAME_CHARACTERS = 256

/** Maximum number of waiting requests. At maximum length, their names take some 500 kB. */
const MAX_WAITING = 1000
const RETRY_AFTER_SECONDS = 5

/** Delay before processing requests, so that their responses are sent first. */
const WAIT_MS = 100

/** Creates an empty queue. */
export function createResetRequests(): ResetRequests {
  return { waiting: new Map(), isProcessing: false }
}

/**
 * Requests a mail with a reset token for the owner of an account. No mail is sent if the account is
 * archived, has no address or password, or received a mail within the last three minutes. The
 * caller is not told.
 *
 * Neither the response nor its timing depends on the account, which is looked up only after the
 * response has been sent. One worker processes the requests in sequence, so a flood costs one index
 * lookup per name and a bounded queue. A crash loses the waiting requests, and their users ask
 * again.
 */
export function requestPasswordReset(app: AccountsApp, subject: ResetSubject): void {
  const { mail, resetRequests } = app
  if (!mail) throw new DomainError('MAIL_NOT_CONFIGURED')
  const [by, name] =
    'email' in subject
      ? ['email', emailKey(subject.email)]
      : ['username', nameKey(subject.username)]
  if (name.length > MAX_NAME_CHARACTERS) return
  if (resetRequests.waiting.size >= MAX_WAITING) {
    throw new DomainError('RATE_LIMITED', { retry_after_seconds: String(RETRY_AFTER_SECONDS) })
  }
  resetRequests.waiting.set(`${by}:${name}`, subject)
  if (resetRequests.isProcessing) return
  resetRequests.isProcessing = true
  app.background.run('password reset mails', () => processRequests(app, resetRequests))
}

async function processRequests(app: AccountsApp, requests: ResetRequests): Promise<void> {
  while (requests.waiting.size > 0) {
    await setTimeout(WAIT_MS)
    const taken = [...requests.waiting.values()]
    requests.waiting.clear()
    for (const subject of taken) {
      await mailToken(app, subject).catch((err: unknown) =>
        app.log.error({ err }, 'a reset mail failed'),
      )
    }
  }
  requests.isProcessing = false
}

async function mailToken(app: AccountsApp, subject: ResetSubject): Promise<void> {
  const found = await findSubject(app, subject)
  if (!found || !isMailable(found)) return
  const now = nowSeconds(app.clock)
  const lastMailTime = await findResetMailTime(app.db, found.id)
  if (lastMailTime !== undefined && now - lastMailTime < MAIL_INTERVAL_S) return
  await transaction(app.db, async (tx) => {
    // Since the first check, the account may have changed in a way that voids tokens.
    const user = await findUserById(tx, found.id)
    if (!user || !isMailable(user)) return
    const { token } = await issueToken(app, tx, user, { mail_time: now })
    const mail = passwordResetMail(app, user, token, TOKEN_LIFETIME_MINUTES)
    await queueMail(app, tx, user, mail, TOKEN_LIFETIME_MINUTES * 60 * 1000)
  })
  app.signals.mails.notify()
}

function findSubject(app: AccountsApp, subject: ResetSubject): Promise<User | undefined> {
  return 'email' in subject
    ? findUserByEmailKey(app.db, emailKey(subject.email))
    : findUserByUsername(app.db, subject.username)
}

/**
 * Returns whether a reset mail may be sent. An address that was set by a token may be a thief's.
 */
function isMailable(user: User): boolean {
  return (
    user.state === 'NORMAL' &&
    user.email !== '' &&
    user.email_by_token === 0 &&
    user.password_hash !== NO_PASSWORD
  )
}

/**
 * Creates a reset token for an administrator to hand over. This is how an account without a
 * password gets one.
 *
 * @returns the token, which is stored as a hash only, and its expiry in Unix seconds.
 */
export async function createPasswordResetToken(
  app: AccountsApp,
  caller: SignedIn,
  user: User,
): Promise<{ token: string; expireTime: number }> {
  // As for changing the password: a stolen token must not be able to take over the account.
  if (caller.user.id === user.id && caller.credential.kind === 'token')
    throw new DomainError('SESSION_REQUIRED')
  return transaction(app.db, async (tx) => {
    const present = await requirePresent(tx, user)
    if (present.state !== 'NORMAL') throw new DomainError('ACCOUNT_ARCHIVED')
    return issueToken(app, tx, present)
  })
}

async function issueToken(
  app: AccountsApp,
  tx: Tx,
  user: User,
  mailed: { mail_time?: number } = {},
) {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const expireTime = nowSeconds(app.clock) + TOKEN_LIFETIME_MINUTES * 60
  await putPasswordReset(tx, {
    user_id: user.id,
    token_hash: hashOf(token),
    expire_time: expireTime,
    ...mailed,
  })
  return { token, expireTime }
}

/**
 * Sets a new password with a reset token, consumes the token and ends all sessions of the account.
 * Personal access tokens remain valid.
 *
 * The second factor is checked after the password, so that a weak password costs no passcode, and
 * before the token is used, so that a wrong passcode costs no token.
 */
export async function resetPassword(
  app: AccountsApp,
  token: string,
  newPassword: string,
  secondFactor: SecondFactor,
): Promise<void> {
  const tokenHash = hashOf(token)
  const user = await findUserByResetToken(app.db, tokenHash, nowSeconds(app.clock))
  if (user?.state !== 'NORMAL') throw new DomainError('INVALID_RESET_TOKEN')
  checkNewPassword(app.settings, user.username, newPassword)
  await requireSecondFactor(app, user, secondFactor, 'password-reset')
  const password_hash = await app.passwords.hash(newPassword, accountHolder(user.id))
  await transaction(app.db, async (tx) => {
    const now = nowSeconds(app.clock)
    // A token that is still valid also proves that name and state have not changed.
    const present = (await usePasswordReset(tx, tokenHash, now))
      ? await findUserById(tx, user.id)
      : undefined
    if (!present) throw new DomainError('INVALID_RESET_TOKEN')
    await endOtherSessions(tx, user.id)
    await updateUser(tx, user.id, {
      password_hash,
      token_version: present.token_version + 1,
      update_time: now,
    })
  })
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
