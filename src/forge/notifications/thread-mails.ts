import { transaction } from '../../platform/database/database.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { Mail, MailTransport } from '../../platform/mail/mail.ts'
import {
  attemptMail,
  type MailWork,
  mailRetryDelayMs,
  senderOf,
  startMailWork,
} from '../accounts/credentials/mail-queue.ts'
import type { AccountsApp } from '../accounts/ports.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { findEmailNotifications } from '../accounts/users/user-settings.rows.ts'
import { findUserById, findUsersByIds } from '../accounts/users/users.rows.ts'
import { conversationReaders } from '../conversations/conversation-readers.ts'
import { findConversation } from '../conversations/conversations.rows.ts'
import { findIssueCommentById } from '../conversations/issue-comments.rows.ts'
import { findDecisions } from '../conversations/notices.rows.ts'
import type { Conversation, Notice } from '../conversations/schema.ts'
import type { DueWorker } from '../core/scheduled-work.ts'
import type { User } from '../core/schema.ts'
import { findReviewById, textsOfReview } from '../pulls/review/reviews.rows.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { NotificationThread } from './schema.ts'
import * as rows from './threads.rows.ts'
import { unsubscribeUrl } from './unsubscribe.ts'

/**
 * Mails about notification threads. A thread stores the changes that its next mail tells, and not
 * their texts. Each attempt reads the texts and the rights of the user at that moment, so that a
 * mail that waits reveals nothing that was deleted or revoked meanwhile. A mail is sent at least
 * once: twice, if the server is killed between its acceptance and the record.
 */

/** Failures after which a mail is given up, after about a day. */
const MAX_FAILURES = 100

/** Starts the worker that sends mails about threads. */
export function startThreadMails(app: ReposApp): DueWorker {
  return startMailWork(app, threadMails(app))
}

function threadMails(app: ReposApp): MailWork {
  return {
    failure: 'a mail about a notification could not be sent or recorded',
    ...rows.threadMailQueue(app.db),
    send: (transport, id, until) => sendThreadMail(app, transport, id, until),
  }
}

async function sendThreadMail(
  app: ReposApp,
  transport: MailTransport,
  id: number,
  until: AbortSignal,
): Promise<void> {
  const thread = await rows.findThreadById(app.db, id)
  if (!thread || thread.mail_time === null) return
  const items = mailItemsOf(thread)
  const mail = await writeMail(app, thread, items)
  if (!mail) return finish(app, thread, items.length, thread.last_mail_time)
  const result = await attemptMail(transport, mail, until)
  if (!result) return
  const facts = { thread: id, user: thread.user_id }
  const failures = thread.mail_failures + 1
  if (result.kind === 'deferred' && failures < MAX_FAILURES) {
    app.log.warn({ ...facts, reason: result.reason }, 'a mail was deferred')
    const mail_time = app.clock.now() + mailRetryDelayMs(thread.mail_failures)
    return transaction(app.db, (tx) =>
      rows.updateThreadMail(tx, id, { mail_time, mail_failures: failures }),
    )
  }
  if (result.kind !== 'accepted')
    app.log.error({ ...facts, reason: result.reason }, 'a mail was refused')
  return finish(app, thread, items.length, app.clock.now())
}

/** Removes the changes that a mail has told. Others may have been added meanwhile. */
async function finish(
  app: ReposApp,
  { id }: NotificationThread,
  told: number,
  lastMailTime: number,
): Promise<void> {
  await transaction(app.db, async (tx) => {
    const present = await rows.findThreadById(tx, id)
    if (!present) return
    const left = mailItemsOf(present).slice(told)
    const next = Math.max(app.clock.now(), lastMailTime + MAIL_INTERVAL_MS)
    await rows.updateThreadMail(tx, id, {
      mail_items: JSON.stringify(left),
      mail_time: left.length === 0 ? null : next,
      last_mail_time: lastMailTime,
      mail_failures: 0,
    })
  })
}

/** Returns the mail about a thread. Undefined if the user is not to get one. */
async function writeMail(
  app: ReposApp,
  thread: NotificationThread,
  items: readonly MailItem[],
): Promise<Mail | undefined> {
  const { db } = app
  const user = await findUserById(db, thread.user_id)
  const conversation = await findConversation(db, thread.issue_id)
  if (!user || !conversation || !(await wantsMail(db, user, conversation))) return undefined
  const repository = await findRepositoryById(db, conversation.repository_id)
  const owner = repository && (await findOwnerById(db, repository.owner_id))
  if (!owner) return undefined
  const news = (await Promise.all(items.map((item) => newsOf(db, conversation, item)))).filter(
    (text) => text !== undefined,
  )
  if (news.length === 0) return undefined
  const name = `${owner.name}/${repository.name}`
  const base = app.publicUrl()
  const from = senderOf(app)
  const host = from.slice(from.lastIndexOf('@') + 1)
  const { kind, page, threadName } = formOf(conversation, name)
  const threadId = `${threadName}@${host}`
  const isFirst = thread.last_mail_time === 0 && isOpening(items[0]?.type)
  const unsubscribe = unsubscribeUrl(app, { userId: user.id, conversationId: conversation.id })
  return {
    from,
    to: user.email,
    subject: `${isFirst ? '' : 'Re: '}[${name}] ${conversation.title} (#${conversation.number})`,
    text: [
      news.join('\n\n'),
      '',
      // The mark that separates a signature, which clients do not quote (RFC 3676 section 4.3).
      '-- ',
      `You get this mail since ${REASON_TEXTS[thread.reason]}.`,
      `${kind}: ${base}/${page}`,
      `To get no more mails about it: ${unsubscribe}`,
      '',
    ].join('\n'),
    list: {
      name,
      id: `${repository.name}.${owner.name}.${host.replaceAll(/[[\]:]/g, '')}`,
      unsubscribeUrl: unsubscribe,
      messageId: isFirst ? threadId : `${threadName}.${thread.id}.${thread.last_mail_time}@${host}`,
      threadId: isFirst ? undefined : threadId,
      // The names of compatible systems, for the filters of readers.
      headers: {
        'X-Gitea-Reason': thread.reason.toLowerCase(),
        'X-Gitea-Issue-ID': String(conversation.number),
      },
    },
  }
}

/**
 * Returns how mails name a conversation. The name of the thread of a pull request never changes,
 * since readers have mails with it.
 */
function formOf(
  { id, is_pull, number }: Conversation,
  repository: string,
): { kind: string; page: string; threadName: string } {
  if (is_pull === 1)
    return { kind: 'Pull request', page: `${repository}/pulls/${number}`, threadName: `pull-${id}` }
  const page = `${repository}/issues/${number}`
  return { kind: 'Issue', page, threadName: page }
}

function isOpening(type: MailItem['type'] | undefined): boolean {
  return type === 'PULL_REQUEST_OPENED' || type === 'ISSUE_OPENED'
}

/** Returns whether a user gets mails about a conversation at this moment. */
async function wantsMail(db: Db, user: User, conversation: Conversation): Promise<boolean> {
  if (!isReachable(user)) return false
  if ((await findEmailNotifications(db, [user.id])).get(user.id) === 'disabled') return false
  const subject = { conversationId: conversation.id, repositoryId: conversation.repository_id }
  const { ignoring, left } = await findDecisions(db, subject, null, [user.id])
  if (ignoring.has(user.id) || left.has(user.id)) return false
  return (await conversationReaders(db, conversation, [user])).length > 0
}

const CHANGES: Readonly<Partial<Record<MailItem['type'], string>>> = {
  PULL_REQUEST_OPENED: 'opened the pull request',
  PULL_REQUEST_CLOSED: 'closed the pull request',
  PULL_REQUEST_REOPENED: 'opened the pull request again',
  PULL_REQUEST_MERGED: 'merged the pull request',
  PULL_REQUEST_HEAD_MOVED: 'pushed to the pull request',
  PULL_REQUEST_REVIEW_REQUESTED: 'requested a review',
  PULL_REQUEST_COMMENTED: 'commented',
  PULL_REQUEST_RESTACK_FAILED: 'could not rebase the pull request after the merge below it',
  ISSUE_OPENED: 'opened the issue',
  ISSUE_CLOSED: 'closed the issue',
  ISSUE_REOPENED: 'opened the issue again',
  ISSUE_COMMENTED: 'commented',
}

const VERDICTS: Readonly<Record<string, string>> = {
  APPROVED: 'approved the changes',
  REQUEST_CHANGES: 'requested changes',
}

/** Returns what happened. Undefined if what was said is deleted. */
async function newsOf(
  db: Db,
  conversation: Conversation,
  item: MailItem,
): Promise<string | undefined> {
  const said = await textOf(db, conversation, item)
  if (said === undefined) return undefined
  const actor = (await findUsersByIds(db, item.actor === null ? [] : [item.actor])).get(
    item.actor ?? 0,
  )
  const kind = conversation.is_pull === 1 ? 'pull request' : 'issue'
  const change = said.verdict ?? CHANGES[item.type] ?? `changed the ${kind}`
  const line = `${actor?.username ?? 'Somebody'} ${change}${said.text === '' ? '.' : ':'}`
  return said.text === '' ? line : `${line}\n\n${quote(said.text)}`
}

/** Returns what was said with a change; undefined if it is deleted. */
async function textOf(
  db: Db,
  conversation: Conversation,
  { type, comment, review }: MailItem,
): Promise<{ text: string; verdict?: string | undefined } | undefined> {
  if (comment !== null) {
    const found = await findIssueCommentById(db, comment)
    return found && { text: found.body }
  }
  if (review !== null) {
    const found = await findReviewById(db, review)
    if (!found) return undefined
    const texts = [found.body, ...(await textsOfReview(db, review))]
    const text = texts.filter((part) => part.trim() !== '').join('\n\n')
    return type === 'PULL_REQUEST_REVIEWED'
      ? { text, verdict: VERDICTS[found.state] ?? 'reviewed the changes' }
      : { text: texts.at(-1) ?? '' }
  }
  return { text: isOpening(type) ? conversation.body : '' }
}

/** A change that a mail tells. Its texts are read when the mail is sent. */
interface MailItem {
  readonly type: Notice['type']
  /** Null for the server. */
  readonly actor: number | null
  readonly comment: number | null
  readonly review: number | null
}

/** The maximum number of changes that one mail tells. The page of the conversation has the rest. */
const MAX_MAIL_ITEMS = 20

/** The minimum time between two mails about one conversation. */
const MAIL_INTERVAL_MS = 60_000

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
function isReachable({ email, email_by_token, state }: User): boolean {
  return state === 'NORMAL' && email !== '' && email_by_token === 0
}

/** Returns the columns of a thread about its next mail, after a change. */
export function mailPart(
  app: AccountsApp,
  { type, actor_id, comment_id, review_id }: Notice,
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
function mailItemsOf(thread: Pick<NotificationThread, 'mail_items'> | undefined): MailItem[] {
  return thread ? (JSON.parse(thread.mail_items) as MailItem[]) : []
}

/** The maximum number of characters of a comment that a mail repeats. */
const MAX_QUOTED_CHARACTERS = 2_000

/**
 * The maximum number of characters of a line. With four bytes each and the mark of a quotation, they
 * stay below the 998 octets of RFC 5322 section 2.1.1.
 */
const MAX_LINE_CHARACTERS = 240

/** Control characters other than line feeds and tabs. */
const CONTROLS = /[^\P{Cc}\n\t]/gu

/** Why a user gets a mail. */
const REASON_TEXTS: Readonly<Record<NotificationThread['reason'], string>> = {
  MENTION: 'you were mentioned',
  REVIEW_REQUESTED: 'your review was requested',
  ASSIGN: 'you were assigned',
  PARTICIPATING: 'you take part in the conversation',
  SUBSCRIBED: 'you watch the repository',
}

/**
 * Returns a text as a quotation, whose lines cannot be taken for those of the server. A long text is
 * cut.
 */
function quote(text: string): string {
  const characters = [...text.replaceAll('\r\n', '\n').replaceAll(CONTROLS, '').trim()]
  const isCut = characters.length > MAX_QUOTED_CHARACTERS
  const shown = characters.slice(0, MAX_QUOTED_CHARACTERS).join('') + (isCut ? ' […]' : '')
  return shown
    .split('\n')
    .flatMap(inShortLines)
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')
}

function inShortLines(line: string): string[] {
  const characters = [...line]
  if (characters.length <= MAX_LINE_CHARACTERS) return [line]
  const parts: string[] = []
  for (let start = 0; start < characters.length; start += MAX_LINE_CHARACTERS)
    parts.push(characters.slice(start, start + MAX_LINE_CHARACTERS).join(''))
  return parts
}
