import type { Tx } from '../../platform/database/schema.ts'
import type { Concerns } from '../conversations/concerns.ts'
import { queueConversationMessage, queueNotice } from '../conversations/conversation-news.ts'
import { labelsOfConversations } from '../conversations/labels.rows.ts'
import type { Conversation } from '../conversations/schema.ts'
import { recordTimeline } from '../conversations/timeline.ts'
import {
  deletionSubject,
  type IssueEventType,
  issueSubject,
  type NotedComment,
  recordEvent,
} from '../repositories/activity/repository-events.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { HookEventType } from '../webhooks/outbox/webhook-events.ts'
import { type HookFacts, queueHookEvents } from '../webhooks/outbox/webhook-queue.ts'
import { usersConcernedBy } from './concern-watches.rows.ts'

/** An event of an issue for webhooks of the forge. Ids are those of rows. */
export interface IssueHookEvent {
  readonly type: Extract<HookEventType, 'issues' | `issue_${string}`>
  readonly action: string
  readonly comment?: number
  /** The former values of what an edit of the issue or of the comment changed. */
  readonly before?: Partial<Readonly<Record<'title' | 'body' | 'ref', string>>>
  /** The labels that `label_updated` added and removed. */
  readonly addedLabels?: readonly number[]
  readonly removedLabels?: readonly number[]
  /** The commit that closed or reopened the issue. */
  readonly commit?: string
}

/** A change of an issue. */
export interface IssueChange {
  readonly type: IssueChangeType
  /** The events for webhooks of the forge, in order. */
  readonly told: readonly IssueHookEvent[]
  /** Whom the change concerns, in place of the usual ones. */
  readonly concerns?: Concerns | undefined
}

/** What remains of a deleted or transferred issue for the receivers of the event. Ids are those of rows. */
export interface DeletedIssue {
  readonly number: number
  readonly title: string
  readonly state: Conversation['state']
  /** Null if the account was deleted. */
  readonly poster: number | null
  readonly labels: readonly number[]
}

/** The facts of an event of an issue. */
export interface IssueFacts extends HookFacts, Omit<IssueHookEvent, 'type'> {
  /** The id of the row. */
  readonly issue: number
  /** Only of an issue that was deleted, or transferred to another repository. */
  readonly deleted_issue?: DeletedIssue
  /** The former place of an issue that was transferred from another repository. */
  readonly old_issue?: { readonly repository: number; readonly number: number }
}

/** The events that changes within a repository make. */
type IssueChangeType = Exclude<IssueEventType, 'ISSUE_TRANSFERRED'>

/** The type of webhook message for each event. */
const MESSAGE_TYPES: Readonly<Record<IssueChangeType, string>> = {
  ISSUE_OPENED: 'issue.opened',
  ISSUE_EDITED: 'issue.edited',
  ISSUE_CLOSED: 'issue.closed',
  ISSUE_REOPENED: 'issue.reopened',
  ISSUE_COMMENTED: 'issue.commented',
  ISSUE_DELETED: 'issue.deleted',
}

/** The changes of which everybody is told, as in compatible systems. */
const TOLD_TO_EVERYBODY: ReadonlySet<IssueEventType> = new Set([
  'ISSUE_OPENED',
  'ISSUE_CLOSED',
  'ISSUE_REOPENED',
])

/** The events of the timeline that need nothing but the type of the change. */
const TIMELINE: Readonly<Partial<Record<IssueEventType, 'close' | 'reopen'>>> = {
  ISSUE_CLOSED: 'close',
  ISSUE_REOPENED: 'reopen',
}

/**
 * Records a change of an issue for its timeline, for the watchers and the webhooks of its
 * repository, for the webhooks of its participants, and for the notifications of users. Record a
 * deletion before the row is deleted.
 *
 * @param actorId undefined for the server.
 * @param issue the issue after the change.
 */
export async function recordIssueChange(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  issue: Conversation,
  { type, told, concerns }: IssueChange,
): Promise<void> {
  const actor = actorId ?? null
  await recordEvent(app, tx, {
    repository_id: issue.repository_id,
    type,
    audience: 'issues',
    actor_id: actor,
    subject_id: issue.id,
    subject:
      type === 'ISSUE_DELETED'
        ? deletionSubject(issue.number, await usersConcernedBy(tx, issue))
        : issueSubject(issue.number, notedComment(told)),
  })
  const entry = TIMELINE[type]
  const newValue = told.find(({ commit }) => commit)?.commit ?? ''
  const oldValue = issue.state_reason
  if (entry) await recordTimeline(app, tx, actorId, issue.id, { type: entry, oldValue, newValue })
  const timeMs = app.clock.now()
  const news = { conversation: issue, actorId: actor, timeMs, isQuiet: app.isQuiet }
  const repository = issue.repository_id
  const isDeletion = type === 'ISSUE_DELETED'
  // The receiver of a deletion is checked by the repository.
  const message = isDeletion ? { repository_id: repository } : {}
  await queueConversationMessage(tx, news, MESSAGE_TYPES[type], message)
  await queueNotice(tx, news, type, concerns ?? { everybody: TOLD_TO_EVERYBODY.has(type) })
  if (told.length === 0) return
  const deletion = isDeletion ? { deleted_issue: await remainsOf(tx, issue) } : {}
  const eventsOf = () =>
    told.map(({ type, ...details }) => {
      const facts: IssueFacts = { repository, actor, issue: issue.id, ...details, ...deletion }
      return { type, facts }
    })
  await queueHookEvents(tx, repository, eventsOf, timeMs)
}

/** Returns what happened to a comment. */
function notedComment(told: readonly IssueHookEvent[]): NotedComment | undefined {
  const event = told.find(({ comment }) => comment)
  const change = COMMENT_CHANGES.find((action) => action === event?.action)
  return event?.comment && change ? { commentId: event.comment, change } : undefined
}

const COMMENT_CHANGES = ['created', 'edited', 'deleted'] as const

/** Returns what remains of an issue that is about to be deleted or transferred. */
export async function remainsOf(
  tx: Tx,
  { id, number, title, state, poster_id: poster }: Conversation,
): Promise<DeletedIssue> {
  const labels = (await labelsOfConversations(tx, [id])).get(id) ?? []
  return { number, title, state, poster, labels: labels.map((label) => label.id) }
}
