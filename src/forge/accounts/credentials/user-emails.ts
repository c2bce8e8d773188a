import { createHash, randomBytes } from 'node:crypto'
import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { actsAsAdministrator, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import { emailKey, isEmail } from '../users/user-fields.ts'
import { emailTaken } from '../users/users.rows.ts'
import { requirePresent } from '../users/users.ts'
import { requireConfirmed } from './confirmation.ts'
import { emailVerificationMail, queueMail } from './mail-queue.ts'
import * as rows from './user-emails.rows.ts'

/**
 * Additional addresses of a user. One that is not verified gives no right and reserves nothing: any
 * number of accounts may have it, and who has the mailbox decides which of them verifies it.
 */

const MAX_EMAILS = 20

/** The mails that a user can make the server send to addresses that may be those of others. */
const MAX_MAILS = 20
const MAIL_PERIOD_S = 24 * 60 * 60

const TOKEN_BYTES = 32
const TOKEN_LIFETIME_MINUTES = 180

/** An address of a user. */
interface UserEmailView {
  readonly email: string
  /** Whether commits with the address are attributed to the user. */
  readonly verified: boolean
  readonly primary: boolean
}

/** Addresses to add. */
interface NewEmails {
  readonly emails: readonly string[]
  /**
   * Mails an address again that waits for its verification, and leaves others alone that the caller
   * has already.
   */
  readonly resend: boolean
  /** The present password of the caller; empty for none. */
  readonly currentPassword: string
  /** Whether an administrator vouches for the addresses. */
  readonly verified: boolean
}

/** Lists the addresses of the caller, the primary one first. */
export async function listEmails(
  app: AccountsApp,
  { user }: SignedIn,
): Promise<readonly UserEmailView[]> {
  const others = await rows.listUserEmails(app.db, user.id)
  const primary =
    user.email === ''
      ? []
      : [{ email: user.email, verified: user.email_by_token === 0, primary: true }]
  return [
    ...primary,
    ...others
      .filter(({ email_key }) => email_key !== user.email_key)
      .map(({ email, verify_time }) => ({ email, verified: verify_time !== null, primary: false })),
  ]
}

/**
 * Adds addresses to the account of the caller and sends a mail to each, with the token that
 * verifies it. Without mail the address stays unverified. Nothing tells whether another account has
 * an address.
 */
export async function addEmails(
  app: AccountsApp,
  caller: SignedIn,
  { emails, resend, currentPassword, verified: isVerified }: NewEmails,
): Promise<void> {
  const wanted = new Map(emails.map((email) => [emailKey(email), email]))
  if (wanted.size === 0 || wanted.size > MAX_EMAILS)
    throw new DomainError('INVALID_FIELD', { field: 'emails' })
  if (!emails.every(isEmail)) throw new DomainError('INVALID_EMAIL')
  if (isVerified && !administers(caller)) throw new DomainError('PERMISSION_DENIED')
  if (!app.mail && resend && !isVerified) throw new DomainError('EMAIL_NOT_VERIFIABLE')
  await requireConfirmed(app, caller, { currentPassword })
  await transaction(app.db, async (tx) => {
    const user = await requirePresent(tx, caller.user)
    const present = await rows.listUserEmails(tx, user.id)
    const known = new Set([user.email_key, ...present.map(({ email_key }) => email_key)])
    const isRepeated = [...wanted.keys()].some((key) => known.has(key))
    if (isRepeated && !resend) throw new DomainError('EMAIL_ALREADY_ADDED')
    const verified = new Set(
      present.flatMap(({ email_key, verify_time }) => (verify_time === null ? [] : email_key)),
    )
    const mailed = [...wanted].filter(([key]) => key !== user.email_key && !verified.has(key))
    const added = mailed.filter(([key]) => !known.has(key))
    if (present.length + added.length > MAX_EMAILS)
      throw new DomainError('TOO_MANY_EMAILS', { limit: String(MAX_EMAILS) })
    if (isVerified) {
      for (const [key, email] of mailed) await putVerified(app, tx, user, key, email)
      return
    }
    await checkMailCount(app, tx, user, mailed.length)
    for (const [key, email] of mailed) await mailToken(app, tx, user, key, email)
  })
  app.signals.mails.notify()
}

/** Returns whether an administrator calls, perhaps on behalf of another user. */
function administers(caller: SignedIn): boolean {
  const { administrator = caller.user } = caller
  return actsAsAdministrator({ ...caller, user: administrator }, 'write')
}

/** @throws EMAIL_TAKEN if another account has the address. */
async function putVerified(
  app: AccountsApp,
  tx: Tx,
  user: User,
  key: string,
  email: string,
): Promise<void> {
  if (await emailTaken(tx, key, user.id)) throw new DomainError('EMAIL_TAKEN')
  const now = nowSeconds(app.clock)
  const address = { user_id: user.id, email, email_key: key }
  await rows.putUserEmail(tx, {
    ...address,
    verify_time: now,
    token_hash: null,
    token_expire_time: now,
  })
}

async function checkMailCount(app: AccountsApp, tx: Tx, user: User, mails: number): Promise<void> {
  const now = nowSeconds(app.clock)
  const count = await rows.countUserEmailMails(tx, user.id, mails, now - MAIL_PERIOD_S, now)
  if (count > MAX_MAILS)
    throw new DomainError('RATE_LIMITED', { retry_after_seconds: String(MAIL_PERIOD_S) })
}

async function mailToken(
  app: AccountsApp,
  tx: Tx,
  user: User,
  key: string,
  email: string,
): Promise<void> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  await rows.putUserEmail(tx, {
    user_id: user.id,
    email,
    email_key: key,
    verify_time: null,
    token_hash: hashOf(token),
    token_expire_time: nowSeconds(app.clock) + TOKEN_LIFETIME_MINUTES * 60,
  })
  if (!app.mail) return
  const mail = emailVerificationMail(app, { ...user, email }, token, TOKEN_LIFETIME_MINUTES)
  await queueMail(app, tx, user, mail, TOKEN_LIFETIME_MINUTES * 60 * 1000)
}

/**
 * Verifies the address of the caller to which a token was sent. A personal access token is not
 * enough: a thief could tie an address of his own to the account.
 */
export async function verifyEmail(
  app: AccountsApp,
  caller: SignedIn,
  token: string,
): Promise<void> {
  if (caller.credential.kind === 'token') throw new DomainError('SESSION_REQUIRED')
  const { id } = caller.user
  await transaction(app.db, async (tx) => {
    const now = nowSeconds(app.clock)
    const found = await rows.findUserEmailByToken(tx, id, hashOf(token), now)
    if (!found) throw new DomainError('INVALID_EMAIL_TOKEN')
    if (await emailTaken(tx, found.email_key, id)) throw new DomainError('EMAIL_TAKEN')
    await rows.verifyUserEmail(tx, found.id, now)
  })
}

/** Removes additional addresses of the caller, all of them or none. */
export async function deleteEmails(
  app: AccountsApp,
  caller: SignedIn,
  emails: readonly string[],
): Promise<void> {
  const wanted = new Set(emails.map(emailKey))
  if (wanted.size > MAX_EMAILS) throw new DomainError('INVALID_FIELD', { field: 'emails' })
  await transaction(app.db, async (tx) => {
    const user = await requirePresent(tx, caller.user)
    const present = await rows.listUserEmails(tx, user.id)
    const chosen = present.filter(({ email_key }) => wanted.has(email_key))
    if (user.email !== '' && wanted.has(user.email_key)) throw new DomainError('PRIMARY_EMAIL_KEPT')
    if (chosen.length < wanted.size) throw new DomainError('EMAIL_NOT_FOUND')
    await rows.deleteUserEmails(
      tx,
      chosen.map(({ id }) => id),
    )
  })
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
