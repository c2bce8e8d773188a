import type { Tx } from '../../platform/database/schema.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { findEmailNotifications } from '../accounts/users/user-settings.rows.ts'
import type { User } from '../core/schema.ts'
import type { PullNotice } from '../pulls/schema.ts'
import type { NotificationThread } from './schema.ts'

/** A change that a mail tells. Its texts are read when the mail is sent. */
export interface MailItem {
  readonly type: PullNotice['type']
  /** Null for the server. */
  readonly actor: number | null
  readonly comment: number | null
  readonly review: number | null
}

/** The maximum number of changes that one mail tells. The page of the pull request has the rest. */
export const MAX_MAIL_ITEMS = 20

/** The minimum time between two mails about one pull request. */
export const MAIL_INTERVAL_MS = 60_000

/**
 * Returns those of some users who want a mail about a change and have an address for it.
 *
 * @param reasons why each user is told of the change.
 */
export async function mailableUsers(
  app: AccountsApp,
  tx: Tx,
  users: readonly User[],
  reasons: ReadonlyMap<number, NotificationThread['reason']>,
): Promise<ReadonlySet<number>> {
  const reachable = users.filter(isReachable)
  if (!app.mail || reachable.length === 0) return new Set()
  const wishes = await findEmailNotifications(
    tx,
    reachable.map(({ id }) => id),
  )
  const wanting = reachable.filter(({ id }) => {
    const wish = wishes.get(id) ?? 'enabled'
    return wish === 'enabled' || (wish === 'onmention' && reasons.get(id) === 'MENTION')
  })
  return new Set(wanting.map(({ id }) => id))
}

/** An address that was set by a token may be a thief's, who must not get private content. */
export function isReachable({ email, email_by_token, state }: User): boolean {
  return state === 'NORMAL' && email !== '' && email_by_token === 0
}

/** Returns the columns of a thread about its next mail, after a change. */
export function mailPart(
  app: AccountsApp,
  { type, actor_id, comment_id, review_id }: PullNotice,
  before: NotificationThread | undefined,
  isMailed: boolean,
): Pick<NotificationThread, 'mail_items' | 'mail_time'> {
  const items = mailItemsOf(before)
  const mail_time = before?.mail_time ?? null
  if (!isMailed) return { mail_items: before?.mail_items ?? '[]', mail_time }
  if (items.length < MAX_MAIL_ITEMS)
    items.push({ type, actor: actor_id, comment: comment_id, review: review_id })
  const earliest = (before?.last_mail_time ?? 0) + MAIL_INTERVAL_MS
  return {
    mail_items: JSON.stringify(items),
    mail_time: mail_time ?? Math.max(app.clock.now(), before?.last_mail_time ? earliest : 0),
  }
}

/** Returns the changes that the next mail about a thread tells. */
export function mailItemsOf(
  thread: Pick<NotificationThread, 'mail_items'> | undefined,
): MailItem[] {
  return thread ? (JSON.parse(thread.mail_items) as MailItem[]) : []
}
