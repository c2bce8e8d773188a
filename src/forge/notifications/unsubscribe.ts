import { transaction } from '../../platform/database/database.ts'
import { open, seal } from '../accounts/credentials/sealed-secrets.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { updateUserSettings } from '../accounts/users/user-settings.ts'
import { findUserById } from '../accounts/users/users.rows.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import { putConversationSubscription } from '../conversations/subscriptions.rows.ts'
import { nowSeconds } from '../core/core.ts'
import { dropThreadMails } from './threads.rows.ts'

/**
 * Links in mails that end notifications without a sign-in. A link has a sealed token, from which
 * nobody can read whose it is or what it is about. Links do not expire, since mails are kept for
 * years, and only end notifications.
 */

/** The purpose of the key that seals tokens. */
const PURPOSE = 'unsubscribe'

/** The path of the page that a link opens. No user can have the name `-`. */
export const UNSUBSCRIBE_PATH = '/-/unsubscribe'

/** The maximum length of a token that is read. Those of this server are shorter. */
const MAX_TOKEN_CHARACTERS = 200

/** Subject of a link. */
interface Subject {
  readonly userId: number
  readonly conversationId: number
}

/** Returns the link in a mail. */
export function unsubscribeUrl(app: AccountsApp, { userId, conversationId }: Subject): string {
  const token = seal(app, PURPOSE, Buffer.from(JSON.stringify([userId, conversationId])))
  return `${app.publicUrl()}${UNSUBSCRIBE_PATH}?token=${token.toString('base64url')}`
}

/** Returns whether this server has sent a link with a token. Changes nothing. */
export function isUnsubscribeToken(app: AccountsApp, token: string): boolean {
  return readToken(app, token) !== undefined
}

/**
 * Ends notifications: those of the conversation of the link, or all mails about conversations.
 *
 * @returns false for a token that this server has not sent. A link about an account or conversation
 *   that was deleted meanwhile has nothing to end.
 */
export async function unsubscribe(
  app: AccountsApp,
  token: string,
  what: 'conversation' | 'all mails',
): Promise<boolean> {
  const subject = readToken(app, token)
  if (!subject) return false
  const { userId, conversationId } = subject
  const user = await findUserById(app.db, userId)
  if (!user) return true
  if (what === 'all mails') {
    const texts = { locale: '', memo_visibility: '', theme: '', keep_email_private: false }
    const wish = { ...texts, email_notifications: 'disabled' }
    await updateUserSettings(app, user, wish, new Set(['email_notifications']))
    await transaction(app.db, (tx) => dropThreadMails(tx, userId, undefined))
    return true
  }
  await transaction(app.db, async (tx) => {
    const isPresent =
      (await findUserById(tx, userId)) && (await findConversation(tx, conversationId))
    if (!isPresent) return
    await putConversationSubscription(tx, {
      issue_id: conversationId,
      user_id: userId,
      subscribed: 0,
      create_time: nowSeconds(app.clock),
    })
    await dropThreadMails(tx, userId, conversationId)
  })
  return true
}

function readToken(app: AccountsApp, token: string): Subject | undefined {
  if (token.length > MAX_TOKEN_CHARACTERS) return undefined
  try {
    const text = open(app, PURPOSE, Buffer.from(token, 'base64url')).toString()
    const [userId, conversationId] = JSON.parse(text) as [number, number]
    return { userId, conversationId }
  } catch {
    // Not sealed by this server.
    return undefined
  }
}
