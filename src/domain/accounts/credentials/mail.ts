import { isIPv4 } from 'node:net'
import type { User } from '../../../storage/schema/accounts.ts'
import type { AccountsApp, Mail } from '../ports.ts'

/**
 * The message that brings a reset token to its owner. Nothing in it was chosen by whoever asked for
 * it, and the link is on a line of its own.
 *
 * @param lifetimeMinutes how long the token is good.
 */
export function passwordResetMail(
  app: AccountsApp,
  { username, email }: Pick<User, 'username' | 'email'>,
  token: string,
  lifetimeMinutes: number,
): Mail {
  const base = app.publicUrl()
  return {
    from: senderAt(base),
    to: email,
    subject: 'Set a new password',
    text: [
      `Somebody, hopefully you, asked to set a new password for the account ${username} at`,
      base,
      '',
      `To do so, follow this link within ${lifetimeMinutes} minutes:`,
      '',
      `${base}/reset-password?token=${token}`,
      '',
      'If it was not you, do nothing: the password stays as it is.',
      '',
    ].join('\n'),
  }
}

/**
 * An address that is never read, at the host of a URL; a literal where that is an IP address (RFC
 * 5321 section 4.1.3).
 */
function senderAt(url: string): string {
  const host = new URL(url).hostname
  if (isIPv4(host)) return `noreply@[${host}]`
  return `noreply@${host.replace(/^\[/, '[IPv6:')}`
}
