import type { Tx } from '../../platform/database/schema.ts'
import { findUsersByIds } from '../accounts/users/users.rows.ts'
import { queueMessage, webhooksWithinQuota } from '../webhooks/outbox/waiting-deliveries.ts'
import { insertMessage } from '../webhooks/outbox/webhook-deliveries.rows.ts'
import type { Concerns, StoredConcerns } from './concerns.ts'
import { insertConversationMessage, listWebhooksAbout } from './conversation-messages.rows.ts'
import { conversationReaders } from './conversation-readers.ts'
import { insertNotice } from './notices.rows.ts'
import { insertMentions } from './participants.rows.ts'
import { mentionsToTell } from './rates.ts'
import type { Conversation, Notice } from './schema.ts'

/** A change of a conversation, as its readers are told of it. */
export interface ConversationNews {
  /** The conversation after the change. */
  readonly conversation: Pick<Conversation, 'id' | 'repository_id' | 'is_pull' | 'number'>
  /** Null for the server. */
  readonly actorId: number | null
  /** Unix milliseconds. */
  readonly timeMs: number
  /** Whether no user is told. */
  readonly isQuiet?: boolean | undefined
}

/**
 * Queues a change of a conversation for the webhooks of the participants who may read it, in the
 * transaction of the change. It stores only facts that never change. `messageBody` reads the
 * conversation itself when the message is sent, so that a receiver never gets what was hidden
 * meanwhile, and the transaction stays short.
 *
 * The caller notifies `app.signals.deliveries` after the commit.
 *
 * @param type the type of the message, such as `issue.opened`.
 * @param facts what the message tells besides its type, its time and the number.
 */
export async function queueConversationMessage(
  tx: Tx,
  { conversation, actorId, timeMs }: ConversationNews,
  type: string,
  facts: object,
): Promise<void> {
  const webhooks = await listWebhooksAbout(tx, conversation)
  if (webhooks.length === 0) return
  const users = await findUsersByIds(tx, [...new Set(webhooks.map(({ user_id }) => user_id))])
  // A participant may be archived or may have lost access.
  const readers = await conversationReaders(tx, conversation, [...users.values()])
  const readerIds = new Set(readers.map(({ id }) => id))
  const webhookIds = await webhooksWithinQuota(
    tx,
    webhooks.flatMap(({ id, user_id }) => (readerIds.has(user_id) ? id : [])),
  )
  if (webhookIds.length === 0) return
  const timestamp = new Date(timeMs).toISOString()
  const message = await insertMessage(tx, {
    event_type: type,
    body: JSON.stringify({ type, timestamp, number: conversation.number, ...facts }),
    create_time: timeMs,
  })
  await insertConversationMessage(tx, {
    message_id: message.id,
    issue_id: conversation.id,
    actor_id: actorId,
  })
  await queueMessage(tx, webhookIds, message, timeMs)
}

/**
 * Stores a change of which users are to be told, in the transaction of the change. The cost does
 * not depend on the number of users: a worker finds them, see `fan-out.ts`. Lists by mentions find the
 * conversation at once.
 *
 * The caller notifies `app.signals.issueNotices` after the commit.
 */
export async function queueNotice(
  tx: Tx,
  { conversation, actorId, timeMs, isQuiet = false }: ConversationNews,
  type: Notice['type'],
  concerns: Concerns,
): Promise<void> {
  const { comment, review, mentioned = [], ...others } = concerns
  const told = await mentionsToTell(tx, { actorId, timeMs }, mentioned)
  const stored = told.length === 0 ? others : { ...others, mentioned: told }
  if (!namesAnybody(stored)) return
  await insertMentions(tx, conversation.id, told)
  if (isQuiet) return
  await insertNotice(tx, {
    issue_id: conversation.id,
    type,
    actor_id: actorId,
    comment_id: comment ?? null,
    review_id: review ?? null,
    told: JSON.stringify(stored),
    time: timeMs,
    due_time: timeMs,
  })
}

function namesAnybody(concerns: StoredConcerns): boolean {
  const { everybody, namesPresent, ...named } = concerns
  return everybody || namesPresent === true || Object.values(named).some((list) => list.length > 0)
}
