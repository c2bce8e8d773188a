import { isIPv4 } from 'node:net'
import { checkLeases } from '../../../platform/concurrency/leases.ts'
import { transaction } from '../../../platform/database/database.ts'
import type { DueQueue } from '../../../platform/database/due-queue.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { Mail, MailResult, MailTransport } from '../../../platform/mail/mail.ts'
import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../../core/scheduled-work.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'
import * as rows from './mail-queue.rows.ts'
import { open, seal } from './sealed-secrets.ts'

/**
 * Mails wait in rows until a mail server accepts them or they expire. A mail is sent at least once:
 * twice, if the server is killed between the acceptance and its record. The content is sealed, since
 * links in mails give access to accounts.
 */

/** The purpose of the key that seals mails. */
const PURPOSE = 'mail'

/** The maximum number of waiting mails. At three kilobytes each, they take some 30 MB. */
const MAX_WAITING = 10_000

/** The delays before each retry. The last one repeats until the mail expires. */
const RETRY_SCHEDULE_MS: readonly number[] = [10, 60, 300, 900].map((seconds) => seconds * 1000)

/** Mail servers limit the number of connections of one client. */
const MAX_CONCURRENT = 2

/**
 * Queues a mail to the owner of an account, in the transaction of what the mail tells. The caller
 * notifies `app.signals.mails` after the commit. With too many waiting mails, the mail is dropped,
 * which the log reports.
 *
 * @param lifetimeMs the time after which the mail is useless.
 */
export async function queueMail(
  app: AccountsApp,
  tx: Tx,
  user: Pick<User, 'id'>,
  mail: Mail,
  lifetimeMs: number,
): Promise<void> {
  if (await rows.hasWaitingMails(tx, MAX_WAITING)) {
    app.log.error({ user: user.id }, 'a mail was dropped, since too many wait')
    return
  }
  const now = app.clock.now()
  await rows.insertMail(tx, {
    user_id: user.id,
    content: seal(app, PURPOSE, Buffer.from(JSON.stringify(mail))),
    next_attempt_time: now,
    expire_time: now + lifetimeMs,
  })
}

/** Mails of one kind, which wait in rows. */
export interface MailWork extends DueQueue {
  /** Log message for a mail that failed because of a server fault. */
  readonly failure: string
  /** @param until gives the attempt up, without a record of it. A mail server can take a minute. */
  send(transport: MailTransport, id: number, until: AbortSignal): Promise<void>
}

/** Sends mails when they are due, until the worker is stopped. Without a transport, none are sent. */
export function startMailWork(app: AccountsApp, work: MailWork): DueWorker {
  return app.mail ? startDueWork(app, dueMails(app, app.mail, work)) : { stop: async () => {} }
}

/** Sends mails until none is due. For tests, whose clock stands still. */
async function finishMailWork(app: AccountsApp, work: MailWork): Promise<void> {
  if (app.mail) await finishDueWork(app, dueMails(app, app.mail, work))
}

function dueMails(app: AccountsApp, transport: MailTransport, work: MailWork): DueWork {
  return {
    ...work,
    maxRunning: MAX_CONCURRENT,
    maxRunningPerOwner: 1,
    signal: app.signals.mails,
    run: (id, until) => work.send(transport, id, until),
  }
}

/** Tries to send a mail. Returns undefined once `until` aborts. */
export function attemptMail(
  transport: MailTransport,
  mail: Mail,
  until: AbortSignal,
): Promise<MailResult | undefined> {
  // Another server sends the mails when this one was stopped for long.
  checkLeases()
  return unlessAborted(transport.send(mail), until)
}

/** Starts the worker that sends queued mails. */
export function startMails(app: AccountsApp): DueWorker {
  return startMailWork(app, mails(app))
}

/** Sends queued mails until none is due. For tests. */
export function sendDueMails(app: AccountsApp): Promise<void> {
  return finishMailWork(app, mails(app))
}

function mails(app: AccountsApp): MailWork {
  return {
    failure: 'a mail could not be sent or recorded',
    ...rows.mailQueue(app.db),
    send: (transport, id, until) => sendMail(app, transport, id, until),
  }
}

async function sendMail(
  app: AccountsApp,
  transport: MailTransport,
  id: number,
  until: AbortSignal,
): Promise<void> {
  const waiting = await rows.findMail(app.db, id)
  if (!waiting) return
  const facts = { mail: id, user: waiting.user_id }
  const remove = () => transaction(app.db, (tx) => rows.deleteMail(tx, id))
  if (waiting.expire_time <= app.clock.now()) {
    app.log.error({ ...facts, failures: waiting.failures }, 'a mail has expired unsent')
    return remove()
  }
  const mail = JSON.parse(open(app, PURPOSE, waiting.content).toString()) as Mail
  const result = await attemptMail(transport, mail, until)
  if (!result) return
  if (result.kind === 'deferred') {
    app.log.warn({ ...facts, reason: result.reason }, 'a mail was deferred')
    const { failures } = waiting
    const next = app.clock.now() + mailRetryDelayMs(failures)
    return transaction(app.db, (tx) => rows.postponeMail(tx, id, failures + 1, next))
  }
  if (result.kind === 'refused')
    app.log.error({ ...facts, reason: result.reason }, 'a mail was refused')
  return remove()
}

/** Returns the delay before a mail is sent again. */
export function mailRetryDelayMs(failures: number): number {
  return RETRY_SCHEDULE_MS[failures] ?? RETRY_SCHEDULE_MS.at(-1) ?? 0
}

/** Returns the result of work that goes on without its caller, or undefined once a signal aborts. */
async function unlessAborted<T>(work: Promise<T>, until: AbortSignal): Promise<T | undefined> {
  const over = new AbortController()
  const aborted = new Promise<undefined>((resolve) =>
    until.addEventListener('abort', () => resolve(undefined), { signal: over.signal }),
  )
  try {
    return await Promise.race([work, aborted])
  } finally {
    over.abort()
  }
}

/**
 * Creates the mail that carries a reset token. It contains no text chosen by the sender of the
 * request, and the link is on a separate line.
 *
 * @param lifetimeMinutes lifetime of the token.
 */
export function passwordResetMail(
  app: AccountsApp,
  { username, email }: Pick<User, 'username' | 'email'>,
  token: string,
  lifetimeMinutes: number,
): Mail {
  const base = app.publicUrl()
  return {
    from: senderOf(app),
    to: email,
    subject: 'Set a new password',
    text: [
      `Someone, hopefully you, requested a new password for the account ${username} at`,
      base,
      '',
      `To set it, open this link within ${lifetimeMinutes} minutes:`,
      '',
      `${base}/reset-password?token=${token}`,
      '',
      'If this was not you, ignore this mail. The password does not change.',
      '',
    ].join('\n'),
  }
}

/** Returns the address that mails come from. */
export function senderOf(app: AccountsApp): string {
  return app.settings.mailFrom ?? senderAt(app.publicUrl())
}

/**
 * Creates the mail that carries the token of a new address. It contains no text that its sender has
 * chosen, besides the username.
 *
 * @param lifetimeMinutes lifetime of the token.
 */
export function emailVerificationMail(
  app: AccountsApp,
  { username, email }: Pick<User, 'username' | 'email'>,
  token: string,
  lifetimeMinutes: number,
): Mail {
  const base = app.publicUrl()
  return {
    from: app.settings.mailFrom ?? senderAt(base),
    to: email,
    subject: 'Confirm your e-mail address',
    text: [
      `Someone, hopefully you, added this address to the account ${username} at`,
      base,
      '',
      `To confirm it, sign in as ${username} and open this link within ${lifetimeMinutes} minutes:`,
      '',
      `${base}/verify-email?token=${token}`,
      '',
      'If this was not you, ignore this mail. The address gives no right to anybody.',
      '',
    ].join('\n'),
  }
}

/**
 * Returns a sender address at the host of a URL that accepts no mail. An IP address becomes an
 * address literal (RFC 5321 section 4.1.3).
 */
function senderAt(url: string): string {
  const host = new URL(url).hostname
  if (isIPv4(host)) return `noreply@[${host}]`
  return `noreply@${host.replace(/^\[/, '[IPv6:')}`
}
