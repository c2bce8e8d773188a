import { isIPv4 } from 'node:net'
import type { Mail } from '../../../platform/mail/mail.ts'
import type { User } from '../../core/schema.ts'
import type { AccountsApp } from '../ports.ts'

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
