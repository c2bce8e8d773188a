import type { PullEventType } from '../../repositories/activity/repository-events.ts'
import type { HookEventType } from '../../webhooks/outbox/webhook-events.ts'
import type { HookEvent, HookFacts } from '../../webhooks/outbox/webhook-queue.ts'
import type { PullRequestChanges } from '../schema.ts'
import type { ToldPull } from './pull-deliveries.ts'
import type { Concerns } from './pull-notices.ts'

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
  PULL_REQUEST_REVIEW_REQUESTED: [],
  PULL_REQUEST_REVIEWED: [],
  PULL_REQUEST_COMMENTED: [],
}

/** Returns the usual events of a change. */
export function usualEvents(type: PullEventType): readonly PullHookEvent[] {
  return USUAL[type]
}

/** Returns the events of a change of a pull request for the webhooks of its repository. */
export function pullHookEvents(
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
