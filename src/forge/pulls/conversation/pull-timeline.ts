import type { Tx } from '../../../platform/database/schema.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import { findMilestonesByIds } from '../../conversations/milestones.rows.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import type { Page, PullName } from '../../core/names.ts'
import type { TeamView } from '../../organizations/teams.ts'
import type { PullEventType } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Label, Milestone } from '../../repositories/schema.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { viewTeams } from '../review/review-views.ts'
import type { PullRequest, PullTimelineTable } from '../schema.ts'
import type { CommentPeriod } from './pull-comments.rows.ts'
import { findLabelsFor } from './pull-labels.rows.ts'
import * as rows from './pull-timeline.rows.ts'

/** An event of the timeline. Values that it has not are empty. */
export interface TimelineEvent {
  readonly type: PullTimelineTable['type']
  readonly oldValue?: string
  readonly newValue?: string
}

/** The user who makes a change, and the pull request. */
export interface PullChangePlace {
  readonly pullId: number
  /** Undefined for the server. */
  readonly actorId: number | undefined
}

/**
 * Adds an event to the timeline of a pull request, in the transaction of the change.
 *
 * @param actorId undefined for the server.
 */
export async function recordTimeline(
  app: ReposApp,
  tx: Tx,
  actorId: number | undefined,
  pullId: number,
  event: TimelineEvent,
): Promise<void> {
  await recordTimelineEvents(app, tx, { actorId, pullId }, [event])
}

/** Adds events to the timeline of a pull request, in the transaction of the change. */
export async function recordTimelineEvents(
  app: ReposApp,
  tx: Tx,
  { actorId, pullId }: PullChangePlace,
  events: readonly TimelineEvent[],
): Promise<void> {
  const entries = events.map(({ type, oldValue = '', newValue = '' }) => ({
    pull_request_id: pullId,
    type,
    actor_id: actorId ?? null,
    create_time: nowSeconds(app.clock),
    old_value: oldValue,
    new_value: newValue,
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

/** Returns the event of a change of the milestone. Null for none. */
export function milestoneEvent(before: number | null, after: number | null): TimelineEvent {
  const textOf = (id: number | null) => (id === null ? '' : String(id))
  return { type: 'milestone', oldValue: textOf(before), newValue: textOf(after) }
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

/** Stands before the id of a team. */
const TEAM = 'team:'

/**
 * Returns the event of a change that needs nothing but the pull request after it. Undefined for
 * changes that have no event, or whose event their writers record with the values before.
 */
export function timelineEventOf(
  type: PullEventType,
  { head_commit, merge_commit }: Pick<PullRequest, 'head_commit' | 'merge_commit'>,
): TimelineEvent | undefined {
  switch (type) {
    case 'PULL_REQUEST_CLOSED':
      return { type: 'close' }
    case 'PULL_REQUEST_REOPENED':
      return { type: 'reopen' }
    case 'PULL_REQUEST_MERGED':
      return { type: 'merge_pull', newValue: merge_commit ?? '' }
    case 'PULL_REQUEST_HEAD_MOVED':
      return { type: 'pull_push', newValue: head_commit }
    case 'PULL_REQUEST_AUTO_MERGE_SCHEDULED':
      return { type: 'pull_scheduled_merge' }
    case 'PULL_REQUEST_AUTO_MERGE_CANCELLED':
      return { type: 'pull_cancel_scheduled_merge' }
    default:
      return undefined
  }
}

/** An entry of a timeline, as its readers see it. */
export interface TimelineView {
  readonly open: OpenPull
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
 * Lists what happened to a pull request and what was said about it, oldest first.
 *
 * @throws as `openPull`
 */
export async function listTimeline(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  period: CommentPeriod,
  { offset, limit }: Page,
): Promise<{ readonly entries: readonly TimelineView[]; readonly total: number }> {
  const open = await openPull(app, caller, name, 'read')
  const found = await rows.listTimeline(app.db, open.pull.id, period, offset, limit)
  return {
    entries: await viewEntries(app, caller, open, found),
    total: await rows.countTimeline(app.db, open.pull.id, period),
  }
}

async function viewEntries(
  app: ReposApp,
  caller: Caller,
  open: OpenPull,
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
  const milestones = await findMilestonesByIds(db, idsOf('oldMilestoneId', 'milestoneId'))
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
      oldMilestone: milestones.get(subject.oldMilestoneId ?? 0),
      milestone: milestones.get(subject.milestoneId ?? 0),
      isRemoved: subject.isRemoved ?? false,
    }
  })
}
