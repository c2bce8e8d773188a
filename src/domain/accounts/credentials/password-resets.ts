import { createHash, randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import {
  findResetMailTime,
  findUserByResetToken,
  putPasswordReset,
  usePasswordReset,
} from '../../../storage/accounts/password-resets.ts'
import {
  findUserByEmailKey,
  findUserById,
  findUserByNameKey,
  updateUser,
} from '../../../storage/accounts/users.ts'
import { transaction } from '../../../storage/database/database.ts'
import type { User } from '../../../storage/schema/accounts.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import type { AccountsApp, MailTransport, ResetRequests, ResetSubject } from '../ports.ts'
import { emailKey } from '../users/user-fields.ts'
import { passwordResetMail } from './mail.ts'
import { checkNewPassword, NO_PASSWORD } from './passwords.ts'
import { endOtherSessions } from './sessions.ts'
import { requireSecondFactor, type SecondFactor } from './two-factor.ts'

const TOKEN_BYTES = 32
const TOKEN_LIFETIME_MINUTES = 180

/** A mailbox must not fill up because a stranger keeps asking. */
const MAIL_INTERVAL_S = 3 * 60

/** Longest name or address looked up; longer than any that an account may have. */
const MAX_NAME_CHARACTERS = 256

/** Requests that wait, some 500 kB of names when all are as long as they may be. */
const MAX_WAITING = 1000
const RETRY_AFTER_SECONDS = 5

/**
 * How long requests are left alone, so that the answers to them are on their way before any of them
 * is looked at.
 */
const WAIT_MS = 100

/** @returns a list with nobody on it. */
export function createResetRequests(): ResetRequests {
  return { waiting: new Map(), isProcessing: false }
}

/**
 * Asks for a mail with a reset token to the owner of an account. The account gets none when it is
 * archived, has no address or no password, or got one in the last three minutes; nobody is told.
 *
 * Neither the answer nor its time depends on the account: it is not looked up before the answer has
 * left. One worker sees to the requests one after the other, so a flood costs an index lookup for
 * each name and a bounded list. A crash loses those that wait; whoever gets no mail asks again.
 *
 * @throws MAIL_NOT_CONFIGURED; RATE_LIMITED when too many requests wait, whomever they are for.
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
  app.background.run('password reset mails', () => attend(app, mail, resetRequests))
}

async function attend(
  app: AccountsApp,
  mail: MailTransport,
  requests: ResetRequests,
): Promise<void> {
  while (requests.waiting.size > 0) {
    await setTimeout(WAIT_MS)
    const taken = [...requests.waiting.values()]
    requests.waiting.clear()
    for (const subject of taken) {
      await mailToken(app, mail, subject).catch((err: unknown) =>
        app.log.error({ err }, 'a reset mail failed'),
      )
    }
  }
  requests.isProcessing = false
}

async function mailToken(
  app: AccountsApp,
  mail: MailTransport,
  subject: ResetSubject,
): Promise<void> {
  const found = await findSubject(app, subject)
  if (!found || !isMailable(found)) return
  const now = nowSeconds(app.clock)
  const lastMailTime = await findResetMailTime(app.db, found.id)
  if (lastMailTime !== undefined && now - lastMailTime < MAIL_INTERVAL_S) return
  const issued = await transaction(app.db, async (tx) => {
    // What voids a token may have happened since, when there was no token to void.
    const user = await findUserById(tx, found.id)
    return user && isMailable(user)
      ? { user, ...(await issueToken(app, tx, user, { mail_time: now })) }
      : undefined
  })
  if (!issued) return
  const { user, token } = issued
  await mail.send(passwordResetMail(app, user, token, TOKEN_LIFETIME_MINUTES))
}

async function findSubject(app: AccountsApp, subject: ResetSubject): Promise<User | undefined> {
  if ('email' in subject) return findUserByEmailKey(app.db, emailKey(subject.email))
  const key = nameKey(subject.username)
  const user = await findUserByNameKey(app.db, key)
  // The name may be the chosen id of somebody's account, which is not what they sign in with.
  return user && nameKey(user.username) === key ? user : undefined
}

/** An address that a token wrote may be that of its thief. */
function isMailable(user: User): boolean {
  return (
    user.state === 'NORMAL' &&
    user.email !== '' &&
    user.email_by_token === 0 &&
    user.password_hash !== NO_PASSWORD
  )
}

/**
 * Makes a reset token for an administrator to hand over. An account without a password gets one
 * this way.
 *
 * @returns the token, which is stored as a hash only, and its expiry in Unix seconds.
 * @throws SESSION_REQUIRED, USER_NOT_FOUND, ACCOUNT_ARCHIVED
 */
export async function createPasswordResetToken(
  app: AccountsApp,
  caller: SignedIn,
  user: User,
): Promise<{ token: string; expireTime: number }> {
  // As for changing the password itself: a stolen token must not become the account.
  if (caller.user.id === user.id && caller.credential.kind === 'token')
    throw new DomainError('SESSION_REQUIRED')
  return transaction(app.db, async (tx) => {
    const present = await findUserById(tx, user.id)
    if (!present)
      throw new DomainError('USER_NOT_FOUND', { name: `users/${user.user_id ?? user.username}` })
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
 * Sets a new password by a reset token, which is used up, and ends every session of the account.
 * Personal access tokens stay.
 *
 * The second factor is asked for last, so that a password that is too short costs no passcode, and
 * before the token is used, so that a wrong passcode costs no token.
 *
 * @throws INVALID_RESET_TOKEN, WEAK_PASSWORD, TWO_FACTOR_REQUIRED, TWO_FACTOR_INVALID, RATE_LIMITED
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
  const password_hash = await app.passwords.hash(newPassword)
  await transaction(app.db, async (tx) => {
    const now = nowSeconds(app.clock)
    // A token that is still live says too that name and state are those checked above.
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
