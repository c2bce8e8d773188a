import type { Tx } from '../../../platform/database/schema.ts'
import type { Concerns } from '../../conversations/concerns.ts'
import { queueConversationMessage, queueNotice } from '../../conversations/conversation-news.ts'
import { pushEvent, recordTimeline, type TimelineEvent } from '../../conversations/timeline.ts'
import {
  type NotedComment,
  type PullEventType,
  pullSubject,
  recordEvent,
} from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { HookEventType } from '../../webhooks/outbox/webhook-events.ts'
import {
  type HookEvent,
  type HookFacts,
  queueHookEvents,
} from '../../webhooks/outbox/webhook-queue.ts'
import { followPull } from '../queue/queue-exits.ts'
import type { PullRequest, PullRequestChanges } from '../schema.ts'

/** The type of webhook message for each event. */
const MESSAGE_TYPES: Readonly<Record<PullEventType, PullMessageType>> = {
  PULL_REQUEST_OPENED: 'pull_request.opened',
  PULL_REQUEST_EDITED: 'pull_request.edited',
  PULL_REQUEST_CLOSED: 'pull_request.closed',
  PULL_REQUEST_REOPENED: 'pull_request.reopened',
  PULL_REQUEST_MERGED: 'pull_request.merged',
  PULL_REQUEST_RETARGETED: 'pull_request.retargeted',
  PULL_REQUEST_HEAD_MOVED: 'pull_request.synchronized',
  PULL_REQUEST_AUTO_MERGE_SCHEDULED: 'pull_request.auto_merge_scheduled',
  PULL_REQUEST_AUTO_MERGE_CANCELLED: 'pull_request.auto_merge_cancelled',
  PULL_REQUEST_RESTACK_FAILED: 'pull_request.restack_failed',
  PULL_REQUEST_REVIEW_REQUESTED: 'pull_request.review_requested',
  PULL_REQUEST_REVIEWED: 'pull_request.reviewed',
  PULL_REQUEST_COMMENTED: 'pull_request.commented',
}

/**
 * Records a change of a pull request for its timeline, for the watchers and the webhooks of its
 * repository, for the webhooks of its participants, and for the notifications of users.
 *
 * @param actorId undefined for the server.
 * @param pull the pull request after the change.
 */
export async function recordPullChange(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pull: ToldPull,
  change: PullEventType | DetailedPullChange,
): Promise<void> {
  const { type, told, concerns, comment, formerHead }: DetailedPullChange =
    typeof change === 'string' ? { type: change, told: usualEvents(change) } : change
  await recordEvent(app, tx, {
    repository_id: pull.repository_id,
    type,
    audience: 'pulls',
    actor_id: actorId ?? null,
    subject_id: pull.id,
    subject: pullSubject(pull, comment),
  })
  await followPull(app, tx, actorId, pull, type)
  const event = timelineEventOf(type, pull, formerHead)
  if (event) await recordTimeline(app, tx, actorId, pull.id, event)
  const timeMs = app.clock.now()
  const news = { conversation: pull, actorId: actorId ?? null, timeMs, isQuiet: app.isQuiet }
  const { base_branch: base, head_commit: head_sha } = pull
  await queueConversationMessage(tx, news, MESSAGE_TYPES[type], { base, head_sha })
  await queueNotice(tx, news, type, concerns ?? { everybody: TOLD_TO_EVERYBODY.has(type) })
  if (told.length === 0) return
  const eventsOf = () => pullHookEvents(actorId ?? null, pull, told)
  await queueHookEvents(tx, pull.repository_id, eventsOf, timeMs)
}

/** An event of a pull request for webhooks of the forge. Ids are those of rows. */
export interface PullHookEvent {
  readonly type: Extract<HookEventType, `pull_request${string}`>
  readonly action: string
  readonly comment?: number
  readonly review?: number
  readonly reviewer?: number
}

/** A change of a pull request with the events that take the place of the usual one. */
export interface DetailedPullChange {
  readonly type: PullEventType
  readonly told: readonly PullHookEvent[]
  /** Whom the change concerns, in place of the usual ones. */
  readonly concerns?: Concerns | undefined
  /** What happened to a comment on the conversation. */
  readonly comment?: NotedComment
  /** The commit that the head had before the change, and whether the branch lost commits. */
  readonly formerHead?: FormerHead | undefined
}

interface FormerHead {
  readonly commit: string
  readonly isForced: boolean
}

/** Returns the change of a pull request whose head has moved from a commit. */
export function movedHead(commit: string | undefined, isForced: boolean): DetailedPullChange {
  const type = 'PULL_REQUEST_HEAD_MOVED'
  const formerHead = commit === undefined ? undefined : { commit, isForced }
  return { type, told: usualEvents(type), formerHead }
}

/** The facts of an event of a pull request. */
export interface PullFacts extends HookFacts, Omit<PullHookEvent, 'type'> {
  /** The id of the row. */
  readonly pull: number
}

/** The usual event of each change, as in compatible systems. */
const USUAL: Readonly<Record<PullEventType, readonly PullHookEvent[]>> = {
  PULL_REQUEST_OPENED: [{ type: 'pull_request', action: 'opened' }],
  PULL_REQUEST_EDITED: [{ type: 'pull_request', action: 'edited' }],
  PULL_REQUEST_CLOSED: [{ type: 'pull_request', action: 'closed' }],
  PULL_REQUEST_REOPENED: [{ type: 'pull_request', action: 'reopened' }],
  PULL_REQUEST_MERGED: [{ type: 'pull_request', action: 'closed' }],
  PULL_REQUEST_RETARGETED: [{ type: 'pull_request', action: 'edited' }],
  PULL_REQUEST_HEAD_MOVED: [{ type: 'pull_request_sync', action: 'synchronized' }],
  // Compatible systems have no events for these, or need more than the type of the change.
  PULL_REQUEST_AUTO_MERGE_SCHEDULED: [],
  PULL_REQUEST_AUTO_MERGE_CANCELLED: [],
  PULL_REQUEST_RESTACK_FAILED: [],
  PULL_REQUEST_REVIEW_REQUESTED: [],
  PULL_REQUEST_REVIEWED: [],
  PULL_REQUEST_COMMENTED: [],
}

/** Returns the usual events of a change. */
export function usualEvents(type: PullEventType): readonly PullHookEvent[] {
  return USUAL[type]
}

/** Returns the events of a change of a pull request for the webhooks of its repository. */
function pullHookEvents(
  actor: number | null,
  pull: ToldPull,
  told: readonly PullHookEvent[],
): HookEvent[] {
  return told.map(({ type, ...details }) => {
    const facts: PullFacts = { repository: pull.repository_id, actor, pull: pull.id, ...details }
    return { type, facts }
  })
}

/** Returns the event of a change of labels. */
export function labelEvent(count: number): PullHookEvent {
  const action = count > 0 ? 'label_updated' : 'label_cleared'
  return { type: 'pull_request_label', action }
}

/** The columns whose changes are edits without an event of their own. */
const EDITED: readonly (keyof PullRequestChanges)[] = [
  'title',
  'body',
  'due_time',
  'allow_maintainer_edit',
]

/**
 * Returns the events of an edit, besides those of the state and the base.
 *
 * @param changes the columns that change.
 * @param assigneeIds the new assignees, if they are set.
 * @param labelIds the new labels, if they are set.
 */
export function editEvents(
  changes: PullRequestChanges,
  assigneeIds: readonly number[] | undefined,
  labelIds: readonly number[] | undefined,
): readonly PullHookEvent[] {
  const isEdited = EDITED.some((column) => changes[column] !== undefined)
  const action = assigneeIds && assigneeIds.length > 0 ? 'assigned' : 'unassigned'
  return [
    ...(isEdited ? usualEvents('PULL_REQUEST_EDITED') : []),
    ...(changes.milestone_id === undefined
      ? []
      : [{ type: 'pull_request_milestone', action: 'milestoned' } as const]),
    ...(assigneeIds ? [{ type: 'pull_request_assign', action } as const] : []),
    ...(labelIds ? [labelEvent(labelIds.length)] : []),
  ]
}

/** The types of webhook messages about pull requests. */
type PullMessageType =
  | 'pull_request.opened'
  | 'pull_request.edited'
  | 'pull_request.closed'
  | 'pull_request.reopened'
  | 'pull_request.merged'
  | 'pull_request.retargeted'
  | 'pull_request.synchronized'
  | 'pull_request.auto_merge_scheduled'
  | 'pull_request.auto_merge_cancelled'
  | 'pull_request.restack_failed'
  | 'pull_request.review_requested'
  | 'pull_request.reviewed'
  | 'pull_request.commented'

/** The properties of a pull request that a message stores. */
type ToldPull = Pick<
  PullRequest,
  'id' | 'repository_id' | 'is_pull' | 'number' | 'base_branch' | 'head_commit' | 'merge_commit'
>

/** The changes of which everybody is told, as in compatible systems. */
const TOLD_TO_EVERYBODY: ReadonlySet<PullEventType> = new Set([
  'PULL_REQUEST_OPENED',
  'PULL_REQUEST_CLOSED',
  'PULL_REQUEST_REOPENED',
  'PULL_REQUEST_MERGED',
  'PULL_REQUEST_HEAD_MOVED',
  'PULL_REQUEST_RESTACK_FAILED',
])

/**
 * Returns the event of a change that needs nothing but the pull request after it. Undefined for
 * changes that have no event, or whose event their writers record with the values before.
 */
function timelineEventOf(
  type: PullEventType,
  { head_commit, merge_commit }: Pick<PullRequest, 'head_commit' | 'merge_commit'>,
  formerHead: FormerHead = { commit: '', isForced: false },
): TimelineEvent | undefined {
  switch (type) {
    case 'PULL_REQUEST_CLOSED':
      return { type: 'close' }
    case 'PULL_REQUEST_REOPENED':
      return { type: 'reopen' }
    case 'PULL_REQUEST_MERGED':
      return { type: 'merge_pull', newValue: merge_commit ?? '' }
    case 'PULL_REQUEST_HEAD_MOVED':
      return pushEvent(formerHead.commit, head_commit, formerHead.isForced)
    case 'PULL_REQUEST_AUTO_MERGE_SCHEDULED':
      return { type: 'pull_scheduled_merge' }
    case 'PULL_REQUEST_AUTO_MERGE_CANCELLED':
      return { type: 'pull_cancel_scheduled_merge' }
    default:
      return undefined
  }
}
