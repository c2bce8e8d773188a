import type { Tx } from '../../platform/database/schema.ts'
import type { Owner } from '../accounts/schema.ts'
import { findOwnersByIds } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import type { Caller } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import type { ConversationName, Page } from '../core/names.ts'
import type { TeamView } from '../organizations/teams.ts'
import { repositoryReader } from '../repositories/access/permissions.ts'
import { viewTeams } from '../repositories/access/team-repositories.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { type CommentPeriod, findIssueComments } from './issue-comments.rows.ts'
import { findLabelsFor } from './labels.rows.ts'
import { milestonesFor } from './milestone-counts.ts'
import type { ConversationsApp, OpenConversation } from './ports.ts'
import type { Label, Milestone, TimelineTable } from './schema.ts'
import * as rows from './timeline.rows.ts'

/** An event of the timeline. Values that it has not are empty. */
export interface TimelineEvent {
  readonly type: TimelineTable['type']
  readonly oldValue?: string
  readonly newValue?: string
  /** The other conversation of an event about two. Who may not read that one sees no event. */
  readonly sourceId?: number
}

/** The user who makes a change, and the conversation. */
export interface ChangePlace {
  readonly conversationId: number
  /** Undefined for the server. */
  readonly actorId: number | undefined
}

/**
 * Adds an event to the timeline of a conversation, in the transaction of the change.
 *
 * @param actorId undefined for the server.
 */
export async function recordTimeline(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  conversationId: number,
  event: TimelineEvent,
): Promise<void> {
  await recordTimelineEvents(app, tx, { actorId, conversationId }, [event])
}

/** Adds events to the timeline of a conversation, in the transaction of the change. */
export async function recordTimelineEvents(
  app: ReposApp,
  tx: Tx,
  { actorId, conversationId }: ChangePlace,
  events: readonly TimelineEvent[],
): Promise<void> {
  const entries = events.map(({ type, oldValue = '', newValue = '', sourceId = null }) => ({
    issue_id: conversationId,
    type,
    actor_id: actorId ?? null,
    create_time: nowSeconds(app.clock),
    old_value: oldValue,
    new_value: newValue,
    source_id: sourceId,
  }))
  await rows.insertTimelineEntries(tx, entries)
}

/** Returns an event for each id that a list loses, then one for each that it gains. */
export function differenceEvents(
  type: 'label' | 'assignees',
  before: readonly number[],
  after: readonly number[],
): TimelineEvent[] {
  const removed = before.filter((id) => !after.includes(id))
  const added = after.filter((id) => !before.includes(id))
  return [
    ...removed.map((id) => ({ type, oldValue: String(id) })),
    ...added.map((id) => ({ type, newValue: String(id) })),
  ]
}

/** Stands before the former head of a push that the branch lost. */
const FORCED = 'forced:'

/** Returns the event of a push that moved the head of a pull request. */
export function pushEvent(before: string, after: string, isForced: boolean): TimelineEvent {
  const oldValue = isForced ? `${FORCED}${before}` : before
  return { type: 'pull_push', oldValue, newValue: after }
}

/** Returns the former head of a push, and whether the branch lost that commit. */
export function formerHeadOf({ type, old_value }: Pick<rows.TimelineRow, 'type' | 'old_value'>): {
  commit: string
  isForced: boolean
} {
  if (type !== 'pull_push') return { commit: '', isForced: false }
  const isForced = old_value.startsWith(FORCED)
  return { commit: isForced ? old_value.slice(FORCED.length) : old_value, isForced }
}

/** Stands before the id of a team. */
const TEAM = 'team:'

/** Returns the event of a change of the milestone. Null for none. */
export function milestoneEvent(before: number | null, after: number | null): TimelineEvent {
  const textOf = (id: number | null) => (id === null ? '' : String(id))
  return { type: 'milestone', oldValue: textOf(before), newValue: textOf(after) }
}

/** Returns the event of a change of the due date. Null for none. One of the two is a date. */
export function deadlineEvent(before: number | null, after: number | null): TimelineEvent {
  const values = { oldValue: String(before ?? ''), newValue: String(after ?? '') }
  if (before === null) return { type: 'added_deadline', ...values }
  return { type: after === null ? 'removed_deadline' : 'modified_deadline', ...values }
}

/** Returns the event of the dismissal of a review. */
export function dismissalEvent(reviewId: number, message: string): TimelineEvent {
  return { type: 'dismiss_review', oldValue: String(reviewId), newValue: message }
}

/** Returns the value of an event about a user or a team who is asked for a review. */
export function reviewerValue(
  reviewer: { readonly userId: number } | { readonly teamId: number },
): string {
  return 'userId' in reviewer ? String(reviewer.userId) : `${TEAM}${reviewer.teamId}`
}

/** The ids in the values of an event, by what they are ids of. */
interface EventSubjects {
  readonly labelId?: number
  readonly userId?: number
  readonly teamId?: number
  readonly oldMilestoneId?: number
  readonly milestoneId?: number
  /** Whether the label, user or team was removed. */
  readonly isRemoved?: boolean
}

/** Returns what an event of a timeline is about. */
function subjectsOf({ type, old_value, new_value }: rows.TimelineRow): EventSubjects {
  const value = new_value || old_value
  const isRemoved = new_value === ''
  switch (type) {
    case 'label':
      return { labelId: Number(value), isRemoved }
    case 'assignees':
      return { userId: Number(value), isRemoved }
    case 'review_request':
      return value.startsWith(TEAM)
        ? { teamId: Number(value.slice(TEAM.length)), isRemoved }
        : { userId: Number(value), isRemoved }
    case 'milestone':
      return { oldMilestoneId: Number(old_value), milestoneId: Number(new_value) }
    default:
      return {}
  }
}

/** An entry of a timeline, as its readers see it. */
export interface TimelineView {
  readonly open: OpenConversation
  readonly entry: rows.TimelineRow
  readonly actor: Owner
  /** Subjects of the event. One that was deleted or is hidden from the caller is undefined. */
  readonly label: Label | undefined
  /** Whom an event assigns or asks for a review. */
  readonly assignee: Owner | undefined
  readonly team: TeamView | undefined
  readonly oldMilestone: Milestone | undefined
  readonly milestone: Milestone | undefined
  /** Whether the label, user or team was removed. */
  readonly isRemoved: boolean
}

/**
 * Lists what happened to a conversation and what was said about it, oldest first.
 *
 * @throws as `Conversations.open`
 */
export async function listTimeline(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
  period: CommentPeriod,
  { offset, limit }: Page,
): Promise<{ readonly entries: readonly TimelineView[]; readonly total: number }> {
  const open = await app.conversations.open(app, caller, name, 'read')
  const selection = {
    ...period,
    conversationId: open.conversation.id,
    reader: repositoryReader(app, caller),
  }
  const found = await rows.listTimeline(app.db, selection, offset, limit)
  return {
    entries: await viewEntries(app, caller, open, found),
    total: await rows.countTimeline(app.db, selection),
  }
}

/** Returns the events of a conversation with ids above `after` that the caller may see. */
export async function entriesAfter(
  app: ConversationsApp,
  caller: Caller,
  open: OpenConversation,
  after: number,
): Promise<TimelineView[]> {
  const selection = {
    conversationId: open.conversation.id,
    reader: repositoryReader(app, caller),
  }
  return viewEntries(app, caller, open, await rows.listTimelineAfter(app.db, selection, after))
}

/** Returns those of some comments that exist as entries of the timeline, by id. */
export async function viewCommentEntries(
  app: ConversationsApp,
  caller: Caller,
  open: OpenConversation,
  ids: readonly number[],
): Promise<ReadonlyMap<number, TimelineView>> {
  const comments = await findIssueComments(app.db, ids)
  const views = await viewEntries(
    app,
    caller,
    open,
    comments.map(({ id, poster_id, create_time, update_time, body }) => ({
      type: 'comment',
      id,
      actor_id: poster_id,
      create_time,
      update_time,
      body,
      old_value: '',
      new_value: '',
      source_id: 0,
      comment_id: 0,
    })),
  )
  return new Map(views.map((view) => [view.entry.id, view]))
}

async function viewEntries(
  app: ReposApp,
  caller: Caller,
  open: OpenConversation,
  entries: readonly rows.TimelineRow[],
): Promise<TimelineView[]> {
  const { db } = app
  const subjects = entries.map(subjectsOf)
  const idsOf = (...fields: readonly (keyof EventSubjects)[]) => {
    const ids = subjects.flatMap((subject) => fields.map((field) => Number(subject[field] ?? 0)))
    return [...new Set(ids.filter((id) => id > 0))]
  }
  const labels = await findLabelsFor(
    db,
    {
      repository_id: open.repository.id,
      organization_id: open.owner.kind === 'ORGANIZATION' ? open.owner.id : null,
    },
    idsOf('labelId'),
  )
  const actorIds = entries.flatMap(({ actor_id }) => actor_id ?? [])
  const users = await findOwnersByIds(db, [...new Set([...actorIds, ...idsOf('userId')])])
  const teams = await viewTeams(app, caller, open, idsOf('teamId'))
  const found = await milestonesFor(db, [open], idsOf('oldMilestoneId', 'milestoneId'))
  // A transferred issue has entries about milestones of its former repository.
  const milestoneOf = (id: number | undefined) => {
    const milestone = found.get(id ?? 0)
    return milestone?.repository_id === open.repository.id ? milestone : undefined
  }
  return entries.map((entry, i) => {
    const subject = subjects[i] ?? {}
    const { userId } = subject
    return {
      open,
      entry,
      actor: users.get(entry.actor_id ?? 0) ?? GHOST,
      label: labels.get(subject.labelId ?? 0),
      assignee: userId === undefined ? undefined : (users.get(userId) ?? GHOST),
      team: teams.get(subject.teamId ?? 0),
      oldMilestone: milestoneOf(subject.oldMilestoneId),
      milestone: milestoneOf(subject.milestoneId),
      isRemoved: subject.isRemoved ?? false,
    }
  })
}
